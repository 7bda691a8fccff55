"""How much is learned for a base. Steps, not minutes: a slow machine makes the same base."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """The base that ships was made with these."""

    sentences: int = 9000
    aligner_steps: int = 750
    acoustic_steps: int = 4000
    close_steps: int = 3000
    keen_steps: int = 3000
    seed: int = 1
    save_every: int = 250
    """Steps that a kill costs at most; changes nothing in what comes out."""
