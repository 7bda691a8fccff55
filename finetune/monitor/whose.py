"""Whose the memory of a GPU is, as far as it is told. Decisions only."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace

from finetune.monitor.cards import Card

# What a driver uses that no process holds: seen up to 0.9 GiB, where it does not tell it apart.
UNHELD_MIB = 1024


@dataclass(frozen=True, slots=True)
class Shares:
    """The used memory of one GPU, in MiB. None is "unknown"."""

    ours: int | None
    """What our jobs hold."""
    helpers: int | None
    """What the studio and the speaker hold."""
    others: int | None
    unknown: int | None
    """What is used and cannot be put down to anybody."""


def shares(card: Card, ours: Set[int], helpers: Set[int] = frozenset()) -> Shares:
    """
    Divide what is used, by the ids of our processes and all they started.

    In a container the ids are those of the computer around it, where ours mean somebody else: then
    nothing is put down to anybody.
    """
    held = card.held_mib
    if held is None or card.strangers:
        return Shares(None, None, None, card.used_mib)
    told = Shares(
        _sum(mib for pid, mib in held.items() if pid in ours),
        _sum(mib for pid, mib in held.items() if pid in helpers - ours),
        _sum(mib for pid, mib in held.items() if pid not in ours | helpers),
        None,
    )
    if card.used_mib is None:
        return told
    unknown = max(0, card.used_mib - sum(mib or 0 for mib in held.values()))
    if unknown > UNHELD_MIB:
        # Somebody holds that and is not listed: that anybody holds nothing is not believed.
        told = Shares(told.ours or None, told.helpers or None, told.others or None, None)
    return replace(told, unknown=unknown)


def _sum(amounts: Iterable[int | None]) -> int | None:
    """How much together; unknown when one of them is."""
    total = 0
    for mib in amounts:
        if mib is None:
            return None
        total += mib
    return total
