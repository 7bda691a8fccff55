"""What an open voice has heard of its references: each is listened to once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from engines.base import Sound

Heard = TypeVar("Heard")

# A voice has one reference; some people compare a few.
KEPT = 4


class References(Generic[Heard]):
    """Listens to references, and remembers the last few by what is in them."""

    def __init__(self, listen: Callable[[Sound], Heard]) -> None:
        self._listen = listen
        self._heard: dict[tuple[int, bytes], Heard] = {}

    def heard(self, reference: Sound) -> Heard:
        """What was heard of a reference, now or before."""
        key = reference.rate, hashlib.sha256(reference.samples.tobytes()).digest()
        found = self._heard.pop(key) if key in self._heard else self._listen(reference)
        self._heard[key] = found  # the last one used is the last to be forgotten
        if len(self._heard) > KEPT:
            del self._heard[next(iter(self._heard))]
        return found
