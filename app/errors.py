"""How a problem reaches a person: a sentence and what to do, never a traceback."""

from __future__ import annotations

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


# Something that fails each second fills this in an hour; one file more is kept.
_LONGEST_BYTES = 1_000_000


def _keep(error: BaseException, folder: Path | None) -> str:
    """Write the traceback where it can be found again, and say where."""
    details = "".join(traceback.format_exception(error))
    for place in filter(None, (folder, Path(tempfile.gettempdir()))):
        path = place / "faults.txt"
        try:
            if path.exists() and path.stat().st_size > _LONGEST_BYTES:
                path.replace(path.with_name("faults.old.txt"))
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{details}\n")
        except OSError:  # a full or read-only disk, which may be the very fault: the next place
            continue
        return str(path)
    return "no file, for no disk could be written"
