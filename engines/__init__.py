"""Text-to-speech engines, one folder each, behind the interface in `base.py`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from engines.errors import EngineError

if TYPE_CHECKING:
    from engines.base import Engine

# Name -> module that has ENGINE, the light half. A new engine is a folder and a line here.
ENGINES: dict[str, str] = {"pocket": "engines.pocket", "xtts": "engines.xtts"}


def find(name: str) -> Engine:
    """Return the engine of this name; an unknown name is never quietly another engine."""
    module = ENGINES.get(name)
    if module is None:
        known = ", ".join(sorted(ENGINES)) or "none yet"
        raise EngineError(f"There is no engine called {name!r}.", f"There is: {known}.")
    engine: Engine = import_module(module).ENGINE
    return engine
