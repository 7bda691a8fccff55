"""How much of a card a training may take: what is free now, less what others may yet want."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30
_MIB, _KIB = 2**20, 2**10
# A desktop that opens one more window takes some; an out-of-memory costs more than this.
_HEADROOM_BYTES, _HEADROOM_SHARE = 0.5 * GIB, 0.04
# Windows moves memory of a full card into the computer's instead of refusing it, and everything
# becomes many times slower: keep further away.
_HEADROOM_ON_WINDOWS = 0.9 * GIB
# What CUDA and its libraries hold before any tensor is there; measured where a card is at hand.
CONTEXT_BYTES = int(0.45 * GIB)
# Pieces of freed memory that fit nothing else; measured where a card is at hand.
FRAGMENTED = 1.05


@dataclass(frozen=True, slots=True)
class Room:
    """What tensors may take of a device."""

    total: int
    free: int
    """Before this training is there, of everybody's."""
    headroom: int
    context: int = 0
    fragmented: float = 1.0
    """What the allocator reserves for each byte that tensors hold."""

    @property
    def budget(self) -> int:
        """What the whole process may take."""
        return self.free - self.headroom

    @property
    def for_tensors(self) -> int:
        return max(0, int((self.budget - self.context) / self.fragmented))

    def taken(self, tensors: int) -> int:
        """What the process takes when tensors hold so much."""
        return int(tensors * self.fragmented) + self.context

    @property
    def for_allocator(self) -> int:
        """What the allocator may reserve, so that it refuses before memory spills."""
        return max(0, self.budget - self.context)


def of_card(
    total: int,
    free: int,
    *,
    windows: bool = False,
    context: int = CONTEXT_BYTES,
    fragmented: float = FRAGMENTED,
) -> Room:
    """The room on a GPU of which so much is free."""
    headroom = _HEADROOM_BYTES + _HEADROOM_SHARE * total
    if windows:
        headroom = max(headroom, _HEADROOM_ON_WINDOWS)
    return Room(total, free, int(headroom), context, fragmented)


def of_computer(total: int, available: int, beside: int = 0) -> Room:
    """
    The room in main memory: half a gibibyte and a tenth are left to everything else.

    `beside` is what this process takes that is no tensor.
    """
    return Room(total, available, int(_HEADROOM_BYTES + available / 10), beside)


def memory(count: float) -> str:
    """
    Bytes of memory as people read them: with 1,024 in each unit, as cards are named.

    A card sold with 12 GB has 12.0 GB here too. Disks and files count by 1,000, as they are sold.
    """
    if count >= 999.5 * _MIB:
        return f"{count / GIB:.1f} GB"
    return f"{count / _MIB:.0f} MB" if count >= 999.5 * _KIB else f"{count / _KIB:.0f} kB"
