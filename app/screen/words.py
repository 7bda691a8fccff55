"""
The words of the page, in every language it speaks: one catalogue, a file for each place.

A word stands in all languages at one place, so that none can be forgotten:

    "train.start": {"en": "Start training", "zh": "开始训练"}
    "train.batch.is": {"en": "{n} {n|clip|clips}", "zh": "{n} 个片段"}

A language that says one of a thing otherwise than several writes both: {n|one|several}.

What the layers below say comes in English, in sentences with places that are filled in; the page
says it by templates in `sentences/`, in the same form with the English as its name:

    "{name} is not there.": {"zh": "{name} 不存在。"}
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
    return _read(FOLDER)


@cache
def sentences() -> dict[str, dict[str, str]]:
    """Every template of a sentence of the layers below, in the languages other than English."""
    return _read(FOLDER / "sentences")


def _read(folder: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.json")):
        found.update(json.loads(path.read_text(encoding="utf-8")))
    return found


def of(language: str) -> dict[str, dict[str, str]]:
    """The words and the sentences of one language."""
    if language not in LANGUAGES:
        raise NotFoundError(f"The page does not speak {language!r:.20}.", "Choose another.")
    return {
        "words": {name: said[language] for name, said in catalogue().items()},
        "sentences": {
            english: said[language] for english, said in sentences().items() if language in said
        },
    }
