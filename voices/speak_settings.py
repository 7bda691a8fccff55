"""How a voice speaks unless asked otherwise: what a person chose for it, kept in its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import engines
from engines.base import Manners, chosen
from engines.errors import EngineError, SettingsError
from voices import files
from voices.library import ENGINE, Voice
from voices.speaking import manners

FILE = "speaking.json"
SLOWEST, FASTEST = 0.5, 2.0
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SpeakSettings:
    """What a person chose for one voice."""

    dial: float = 0.0
    """From more stable (-2) to more lively (2)."""
    pace: float = 1.0
    """How many times as fast as the voice usually speaks."""
    seed: int = 0
    language: str = ""
    """Empty: the voice's own."""
    own: dict[str, float] = field(default_factory=dict)
    """Manners that were set by themselves, whatever the dial says."""

    def __post_init__(self) -> None:
        if not SLOWEST <= self.pace <= FASTEST:
            raise SettingsError(
                f"The speed is {self.pace:g}.", f"Choose from {SLOWEST:g} to {FASTEST:g}."
            )
        if not 0 <= self.seed <= LARGEST_SEED:
            raise SettingsError(
                f"The seed is {self.seed}.", f"Choose a whole number from 0 to {LARGEST_SEED:,}."
            )


def read(folder: Path) -> SpeakSettings:
    """What was chosen for a voice; the usual where nothing was, or nothing that can be read."""
    try:
        said = json.loads((folder / FILE).read_bytes())
        return settled({each.name: said[each.name] for each in fields(SpeakSettings)})
    except (OSError, ValueError, KeyError, TypeError, SettingsError):
        return SpeakSettings()


def keep(voice: Voice, settings: SpeakSettings) -> None:
    """Let a voice speak so from now on; raise SettingsError for what it cannot."""
    manners_for(voice, settings)
    files.write_json(voice.folder / FILE, asdict(settings))


def settled(said: dict[str, Any]) -> SpeakSettings:
    """Settings of what was written as JSON."""
    own = {str(name): float(value) for name, value in dict(said["own"]).items()}
    return SpeakSettings(
        float(said["dial"]), float(said["pace"]), int(said["seed"]), str(said["language"]), own
    )


def manners_for(voice: Voice, settings: SpeakSettings) -> dict[str, float]:
    """The manners that the settings mean; those that are as usual are left to the voice."""
    known = known_manners(voice)
    chosen(known, settings.own)
    turned = manners.at(settings.dial, known) if settings.dial else {}
    return {**turned, **settings.own}


def known_manners(voice: Voice) -> Manners:
    """
    What can be chosen of a voice beside its speed, told without opening it.
    """
    try:
        known = engines.find(voice.engine).manners_in(voice.folder / ENGINE)
    except (
        EngineError,
        OSError,
        ValueError,
        KeyError,
    ):  # it cannot speak, and says why when it is to
        return {}
    return {name: limits for name, limits in known.items() if name != "speed"}
