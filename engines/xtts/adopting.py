"""Takes in an XTTS as coqui-tts, AllTalk and xtts-finetune-webui leave one: to speak, not to train."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engines.errors import EngineError
from engines.foreign import Foreign
from engines.xtts import facts
from engines.xtts.convert import convert_to_speak, read_json


def recognise(folder: Path) -> Foreign | None:
    """An XTTS by its config.json; whether the rest is whole is seen when it is taken in."""
    config = folder / "config.json"
    given = read_json(config) if config.is_file() else None
    if not isinstance(given, dict) or given.get("model") != "xtts":
        return None
    return Foreign("xtts", folder, "an XTTS of another program", _language(given))


def adopt(folder: Path, into: Path) -> None:
    """Write what `open_voice` opens; its pickles are only opened where they can do no harm."""
    try:
        convert_to_speak(folder, into)
    except EngineError as error:
        raise EngineError(f"The voice cannot be taken in. {error.what}", error.fix) from error


def _language(config: dict[str, Any]) -> str:
    """The only language it names, or that its trainer was given clips in; "" where there are more."""
    sets = config.get("datasets")
    learned = _known(each.get("language") for each in _list(sets) if isinstance(each, dict))
    named = _known(_list(config.get("languages")))
    return next((each.pop() for each in (learned, named) if len(each) == 1), "")


def _known(languages: Iterable[Any]) -> set[str]:
    return {each for each in languages if isinstance(each, str) and each in facts.LANGUAGES}


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []
