"""XTTS v2 by coqui-tts: speaks 17 languages like a few seconds of somebody's speech."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from engines.base import Base
from engines.settings import Checked
from engines.xtts import facts
from engines.xtts.settings import XttsSettings

if TYPE_CHECKING:
    from engines.base import Manners, Speaking, Trainable

_NEEDED = ("torch", "torchaudio", "TTS", "tokenizers", "safetensors", "peft")


class Xtts:
    """The light half."""

    name = "xtts"
    title = "XTTS v2"
    about = "Speaks 17 languages in a voice it has learned from minutes to hours of recordings."
    licence = "MPL-2.0"
    languages = facts.LANGUAGES
    sample_rate = facts.CLIP_RATE
    min_clip_seconds = facts.MIN_CLIP_SECONDS
    max_clip_seconds = facts.MAX_CLIP_SAMPLES / facts.CLIP_RATE
    half_on_processors = False  # never tried with real weights
    bases = (
        Base(
            "v2",
            "Coqui Public Model License: not for commercial use, neither the model nor what it"
            f" speaks. Read it at {facts.HUB_PAGE}/blob/main/LICENSE.txt",
            download_mb=2090,
            repository="coqui/XTTS-v2",
            revision="6c2b0d75eae4b7047358e3b6bd9325f857d43f77",
        ),
    )
    base_files = (
        *("model.pth", "config.json", "vocab.json", "dvae.pth", "mel_stats.pth"),
        "speakers_xtts.pth",
    )
    exports: Mapping[str, str] = MappingProxyType({"coqui": "engines.xtts.coqui"})
    own_form = "coqui"
    settings: type[Checked] = XttsSettings
    # The published recipe takes 5e-6 at an effective batch of 252, made for hours of speech and
    # days of training. With the minutes people have, that is a handful of steps; those who
    # fine-tune voices (AllTalk, the community's web interfaces) take 2 to 16 at the same rate.
    advised = MappingProxyType({"learning_rate": 5e-6, "batch": 8, "epochs": 10})

    def speaks(self, language: str) -> bool:
        return language in self.languages or language == "zh"

    def missing(self) -> str:
        absent = [name for name in _NEEDED if find_spec(name) is None]
        if not absent:
            return ""
        return f"{', '.join(absent)} cannot be found. Start launch.py once more: it installs them."

    def base_in(self, folder: Path) -> list[Path]:
        from engines.xtts.convert import files_in

        return files_in(folder)

    def convert(self, base: Path, folder: Path) -> None:
        from engines.xtts.convert import convert

        convert(base, folder)

    def load(self, base: Path, settings: Checked) -> Trainable:
        from engines.xtts.model import XttsModel

        assert isinstance(settings, XttsSettings)
        return XttsModel(base, settings)

    def manners_in(self, folder: Path) -> Manners:
        said = json.loads((folder / "config.json").read_text("utf-8"))
        return facts.manners(said)

    def open_voice(self, folder: Path, device: str = "cpu") -> Speaking:
        from engines.xtts.voice import Voice

        return Voice(folder, device)


ENGINE = Xtts()
