"""How large pocket's networks are, as it is kept beside their weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

_LARGEST = 4096


@dataclass(frozen=True, slots=True)
class Shape:
    """As it ships: 3.7 M parameters draw mel bands, 2.8 M make them heard."""

    text: int = 192
    text_blocks: int = 5
    frames: int = 224
    frame_blocks: int = 6
    voice: int = 64
    sound: int = 256
    sound_blocks: int = 6
    dropout: float = 0.1
    """Share left out at random while learning; not part of what is kept."""

    @staticmethod
    def read(said: Any, dropout: float) -> Shape:
        """Take one as a file has it; raise ValueError for what is none."""
        names = {each.name for each in fields(Shape)} - {"dropout"}
        if not isinstance(said, dict) or said.keys() != names:
            raise ValueError("it does not say how large its networks are")
        for name, size in said.items():
            if type(size) is not int or not 1 <= size <= _LARGEST:
                raise ValueError(f"{name} is {size!r}")
        return Shape(**said, dropout=dropout)

    def to_json(self) -> dict[str, int]:
        return {name: size for name, size in asdict(self).items() if name != "dropout"}


SHIPPED = Shape()
