"""
Voices as other programs leave them: what lies in a folder, and the engine that can take it in.

`python -m engines.foreign ENGINE FOLDER INTO` takes one in, in a process of its own: that brings
torch, and a stranger's files are read.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from engines.errors import EngineError, NotFoundError, StudioError

REFUSED = 3
"""How the process says that it refused a folder, with why and what to do as JSON."""

# Engine -> module that takes in voices of other programs: see Adopting.
ADOPTED: dict[str, str] = {"xtts": "engines.xtts.adopting"}


@dataclass(frozen=True, slots=True)
class Foreign:
    """A voice of another program, recognised by its light files alone."""

    engine: str
    folder: Path
    about: str
    """What it is, in words."""
    language: str
    """What it speaks; "" where its files do not say that of a single language."""


class Adopting(Protocol):
    """What the module of an engine does; importing it loads nothing heavy."""

    def recognise(self, folder: Path) -> Foreign | None:
        """Say what it is; None for what is not of this engine. Nothing but text is opened."""

    def adopt(self, folder: Path, into: Path) -> None:
        """
        Write what `open_voice` opens into an empty folder. Heavy.

        Raise EngineError for what is no voice of this engine; then the folder is empty again.
        """


def recognise(path: Path) -> Foreign:
    """Find the engine that takes in a folder, or one of its files; raise EngineError for none."""
    if not path.exists():
        raise NotFoundError(f"There is nothing at {path}.", "Choose another folder.")
    folder = path if path.is_dir() else path.parent
    _refuse_pipers(path)
    for name in ADOPTED:
        if (found := adopting(name).recognise(folder)) is not None:
            return found
    raise EngineError(
        f"In {folder.name} is no voice that can be taken in.",
        "Choose a .timbre file, or the folder of an XTTS v2 with its config.json, vocab.json and"
        " model.pth.",
    )


def adopting(engine: str) -> Adopting:
    """The module that takes in voices of other programs for an engine."""
    return cast(Adopting, import_module(ADOPTED[engine]))


def _refuse_pipers(path: Path) -> None:
    """Piper's voices are recognised to say why they are not taken."""
    graphs = path.glob("*.onnx") if path.is_dir() else [path]
    for graph in graphs:
        is_config = graph.name.endswith(".onnx.json")
        if is_config or (graph.suffix == ".onnx" and Path(f"{graph}.json").is_file()):
            raise EngineError(
                f"{graph.name.removesuffix('.json')} is a voice of Piper: a finished graph that"
                " only its own runtime speaks with, and that nothing can be learned from.",
                "Go on using it in Piper, or make a voice here from the recordings it was made of.",
            )


def main(engine: str, folder: Path, into: Path) -> int:
    """Take one in; what is refused is said in a line of JSON."""
    try:
        adopting(engine).adopt(folder, into)
    except StudioError as error:
        print(json.dumps([error.what, error.fix]))
        return REFUSED
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
