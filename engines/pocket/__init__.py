"""Pocket, the engine in the box: small, learns a voice in minutes on a processor, no download."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from engines.base import Base, all_in
from engines.pocket import facts
from engines.pocket.settings import PocketSettings
from engines.settings import Checked

if TYPE_CHECKING:
    from engines.base import Manners, Speaking, Trainable

_NEEDED = ("torch", "safetensors", "scipy")


class Pocket:
    """The light half."""

    name = "pocket"
    title = "Pocket"
    about = "Learns an English voice in minutes, without a GPU and without any download."
    licence = "Apache-2.0"
    languages = frozenset({"en"})
    sample_rate = facts.RATE
    min_clip_seconds = facts.MIN_CLIP_SECONDS
    max_clip_seconds = facts.MAX_CLIP_SECONDS
    half_on_processors = True
    bases = (Base("english", "Apache-2.0", shipped=True),)
    base_files = (facts.WEIGHTS, facts.CONFIG)
    exports: Mapping[str, str] = MappingProxyType({"piper": "engines.pocket.piper"})
    own_form = ""
    settings: type[Checked] = PocketSettings
    # With three minutes of clips the check loss falls for 100 to 300 steps, and the sound gets
    # clearer until the rate has fallen. The average over 50 steps is as clear long before: of a
    # vocoder at full rate pocketsphinx misheard 14.1 % of 1,393 words, of one at rest 12.2 %.
    advised = MappingProxyType({"learning_rate": 4e-4, "batch": 8, "steps": 350, "ema": 0.98})

    def speaks(self, language: str) -> bool:
        return language in self.languages

    def missing(self) -> str:
        absent = [name for name in _NEEDED if find_spec(name) is None]
        if not absent:
            return ""
        return f"{', '.join(absent)} cannot be found. Start launch.py once more: it installs them."

    def base_in(self, folder: Path) -> list[Path]:
        return all_in(folder, self.base_files, self.title)

    def convert(self, base: Path, folder: Path) -> None:
        from engines.pocket.saving import convert

        convert(base, folder)

    def load(self, base: Path, settings: Checked) -> Trainable:
        from engines.pocket.model import PocketModel

        assert isinstance(settings, PocketSettings)
        return PocketModel(base, settings)

    def manners_in(self, folder: Path) -> Manners:
        return facts.MANNERS

    def open_voice(self, folder: Path, device: str = "cpu") -> Speaking:
        from engines.pocket.speaking import Voice

        return Voice(folder, device)


ENGINE = Pocket()
