"""
The words of the page, in every language it speaks: one catalogue, a file for each place.

A word stands in all languages at one place, so that none can be forgotten:

    "train.start": {"en": "Start training", "zh": "开始训练"}
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from engines.errors import NotFoundError

FOLDER = Path(__file__).parents[1] / "assets" / "words"
LANGUAGES = {"en": "English", "zh": "简体中文"}


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """Every word by its name, in every language."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(FOLDER.glob("*.json")):
        found.update(json.loads(path.read_text(encoding="utf-8")))
    return found


def of(language: str) -> dict[str, str]:
    """The words of one language."""
    if language not in LANGUAGES:
        raise NotFoundError(f"The page does not speak {language!r:.20}.", "Choose another.")
    return {name: said[language] for name, said in catalogue().items()}
