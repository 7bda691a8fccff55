"""A Whisper found, run the best way this machine can, and put to work on a recording."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engines.errors import NotDownloadedError
from finetune.hearing import compute, models
from finetune.hearing.ear import Ear
from finetune.hearing.speech import Stretch, spread, windows
from finetune.jobs.events import Event, Progress, Said
from finetune.jobs.telling import Telling
from finetune.settings import HearSettings
from finetune.words import Word

# How much of a recording is heard before it is kept. A GPU is only busy with many windows at once.
ABOUT_SECONDS = {"cpu": 120.0, "cuda": 600.0}
# A language is told by a few places; the first may be a title in another one.
_PLACES = 5
# The end of a model's weights: what training changes lies there too.
_LAST_BYTES = 1 << 20
_DOWNLOADED = "MB downloaded"


@dataclass(frozen=True, slots=True)
class Listener:
    """A loaded Whisper and how it is run."""

    name: str
    ear: Ear
    how: compute.Compute
    settings: HearSettings

    @property
    def about_seconds(self) -> float:
        """How much of a recording to hear before it is kept."""
        return ABOUT_SECONDS[self.how.device]

    def language(self, stretch: Stretch) -> tuple[str, float]:
        """Find out the language from where somebody speaks in a stretch, and how likely it is."""
        places = spread(windows(stretch.spans, self.settings.window_seconds), _PLACES)
        return self.ear.language(stretch.part(place) for place in places)

    def words(
        self,
        stretch: Stretch,
        language: str,
        told: Callable[[float], None],
        stop: Callable[[], bool],
    ) -> list[Word]:
        return self.ear.listen(stretch, language, told, stop)


def source(name_or_folder: str, settings: HearSettings) -> str:
    """Which Whisper hears and how it is told to, in words: another way is another hearing."""
    name = _told_apart(name_or_folder)
    told = (
        settings.language and f"in {settings.language}",
        settings.hot_words and f"with the words {settings.hot_words!r}",
        settings.prompt and f"after {settings.prompt!r}",
        f"beam {settings.beam_size}",
        f"{settings.window_seconds:g} s at once",
    )
    return f"Whisper {name}, " + ", ".join(filter(None, told))


def _told_apart(name_or_folder: str) -> str:
    """A Whisper's name; folders of the same name may hold different ones, and be moved."""
    weights = Path(name_or_folder).expanduser() / "model.bin"
    if not weights.is_file():
        return name_or_folder
    with weights.open("rb") as file:
        file.seek(max(0, weights.stat().st_size - _LAST_BYTES))
        return f"{weights.parent.name} ({zlib.crc32(file.read()):08x})"


def load(
    name_or_folder: str,
    models_folder: Path,
    settings: HearSettings,
    download: bool,
    say: Callable[[Event], None],
    stop: Callable[[], bool],
) -> Listener:
    """Find a Whisper, or fetch it when that was agreed to, and load it."""
    found = _found(name_or_folder, models_folder, download, say, stop)
    how = compute.here(found.size_mb)
    say(Said(f"Whisper {found.name}: {how.reason}"))
    ear = Ear(
        found.folder,
        settings,
        how.device,
        how.type,
        how.threads,
        how.batch // how.side_by_side,
        how.index,
        how.side_by_side,
    )
    return Listener(found.name, ear, how, settings)


def _found(
    name_or_folder: str,
    models_folder: Path,
    download: bool,
    say: Callable[[Event], None],
    stop: Callable[[], bool],
) -> models.Found:
    try:
        return models.find(name_or_folder, models_folder)
    except NotDownloadedError:
        if not download:
            raise
    model = models.model_of(name_or_folder)
    say(Said(f"Downloading Whisper {model.name}, about {model.size_mb:,} MB ({model.licence})."))
    # Before the first byte, which a slow line lets wait for.
    say(Progress(0, model.size_mb, _DOWNLOADED))
    telling: list[Telling] = []

    def at(done: float, total: float) -> None:
        if not telling:
            telling.append(Telling(say, _DOWNLOADED, round(total / 1e6, 1)))
        telling[0].at(done / 1e6)

    return models.fetch(model.name, models_folder, at, stop)
