"""Which Timbre this is."""

from __future__ import annotations

from app import ROOT


def timbre_version() -> str:
    """The version that pyproject.toml states."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    # tomllib came with Python 3.11, and this one line does not need it.
    return text.partition('\nversion = "')[2].partition('"')[0]
