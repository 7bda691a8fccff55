"""How a problem reaches a person: a sentence and what to do, never a traceback."""

from __future__ import annotations

import os
import tempfile
import traceback
from pathlib import Path

from engines.errors import StudioError


def in_words(error: BaseException, log_folder: Path | None) -> StudioError:
    """The problem as a person can act on it. A bug of ours is kept, whole, in a file."""
    if isinstance(error, StudioError):
        return error
    kept = _keep(error, log_folder)
    return StudioError(
        f"Timbre has a fault here ({type(error).__name__}: {error}).",
        f"Nothing that was saved is lost. The details for a report are in {kept}.",
    )


def _keep(error: BaseException, folder: Path | None) -> Path:
    """Write the traceback where it can be found again, and say where."""
    details = "".join(traceback.format_exception(error))
    folder = folder if folder and os.access(folder, os.W_OK) else Path(tempfile.gettempdir())
    path = folder / "faults.txt"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{details}\n")
    return path
