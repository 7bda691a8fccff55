"""An engine whose own tools want another form than its folder's: `python -m tests.tape` writes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

from engines.errors import EngineError
from tests.silent import Silent

NAME = "tape"
BROKEN = b"nothing that can be played"


class Tape(Silent):
    """The light half."""

    name = NAME
    title = "Tape"
    exports: ClassVar[dict[str, str]] = {"recorder": "tests.tape", "radio": "tests.nowhere"}
    own_form = "recorder"


ENGINE = Tape()


def main(engine: Path, reference: Path, name: str, folder: Path) -> None:
    said = (engine / "weights.bin").read_bytes()
    if said == BROKEN:
        raise EngineError("The voice cannot be played.", "Take another one.")
    (folder / "tape.txt").write_text(f"{name}, {len(said)}, {reference.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
