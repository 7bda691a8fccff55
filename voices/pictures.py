"""The picture of a voice: a small one, of a kind that every browser shows and that runs nothing."""

from __future__ import annotations

from pathlib import Path

from engines.errors import NameProblem
from voices import files

MOST_BYTES = 2_000_000
KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp"}


def find(folder: Path) -> Path | None:
    """The picture in a voice's folder, if it has one."""
    there = (folder / f"picture{ending}" for ending in KINDS)
    return next((path for path in there if path.is_file()), None)


def keep(folder: Path, content: bytes) -> Path:
    """Take a picture in place of the one there was; what it is, its first bytes say."""
    ending = _ending(content)
    if not ending or len(content) > MOST_BYTES:
        what = f"has {len(content) / 1e6:.1f} MB" if ending else "is no picture that can be shown"
        raise NameProblem(
            f"This file {what}.", f"Take a png, jpeg or webp of up to {MOST_BYTES / 1e6:.0f} MB."
        )
    path = folder / f"picture{ending}"
    files.write_bytes(path, content)
    _remove(folder, but=path)
    return path


def remove(folder: Path) -> None:
    _remove(folder)


def _remove(folder: Path, but: Path | None = None) -> None:
    for ending in KINDS:
        path = folder / f"picture{ending}"
        if path != but:
            path.unlink(missing_ok=True)


def _ending(content: bytes) -> str:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return ".png"
    if content.startswith(b"\xff\xd8\xff"):
        return ".jpg"
    return ".webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""
