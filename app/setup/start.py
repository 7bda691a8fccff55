"""From launch.py into the environment: uses it when it stands, makes it when it doesn't."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.setup.environment import Environment, stands
from engines.errors import StudioError


def ready_python(root: str, arguments: Sequence[str]) -> str:
    """Return the environment's Python, or end the program with one sentence."""
    environment = Environment(Path(root))
    try:
        if not stands(environment):
            # Only now: a start that finds everything in place should not wait for these imports.
            from app.setup import installer

            installer.set_up(environment, offline=wants_offline(arguments, os.environ))
        return str(environment.python)
    except KeyboardInterrupt:
        _say("Set-up stopped. The same command goes on where it stopped.")
        raise SystemExit(130) from None
    except (StudioError, OSError) as problem:
        _say(str(problem))
        raise SystemExit(1) from None


def wants_offline(arguments: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Whether the person asked to stay off the network."""
    return "--offline" in arguments or variables.get("TIMBRE_OFFLINE", "0") not in ("", "0")


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
