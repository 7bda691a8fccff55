"""What ships with Timbre: bases that a voice can be learned from at once, and a demo recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_STARTER = Path(__file__).parent / "starter"


@dataclass(frozen=True, slots=True)
class Demo:
    """Three minutes of a voice that no base was taught with, and what it says."""

    recording: Path
    script: Path
    language: str = "en"


def base(engine: str, name: str) -> Path:
    """The folder of a base that ships."""
    return _STARTER / f"{engine}-{name}"


def demo() -> Demo:
    """What a voice can be made of where there is no recording yet."""
    folder = _STARTER / "demo"
    return Demo(folder / "recording.opus", folder / "script.txt")
