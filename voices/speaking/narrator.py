"""A finished voice that is open, and says whole texts: one sentence after the other, each well."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engines
from engines.base import Sound
from engines.errors import EngineError
from voices.library import ENGINE, REFERENCE
from voices.speaking import judging
from voices.speaking.again import Spoken, spoken_well
from voices.speaking.pace import Pace
from voices.speaking.text import Sentence, read
from voices.speaking.voiced import span

# What is learned from: a voice's pace is known from so many sentences.
_PACE_FROM = 50
# Torch on a CPU prepares each layer anew for each length of sentence, and keeps 1,024 of these:
# 75 MB more after 150 sentences, and no faster (Pocket, oneDNN 3; with eight it is 20 MB).
_PREPARED = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8")


@dataclass(frozen=True, slots=True)
class Told:
    """One sentence, and how it came out."""

    sentence: Sentence
    spoken: Spoken

    def facts(self) -> dict[str, Any]:
        """How it was said, for programs and for the page."""
        return {
            "text": self.sentence.text,
            "spoken": self.sentence.spoken,
            "seconds": round(self.spoken.sound.seconds, 3),
            "seed": self.spoken.seed,
            "tries": self.spoken.tries,
            "faults": [fault.why for fault in self.spoken.faults],
        }


class Narrator:
    """Speaks with one voice, in its own language or another that it knows."""

    def __init__(
        self,
        folder: Path,
        facts: Mapping[str, Any],
        *,
        language: str = "",
        seed: int = 0,
        manners: Mapping[str, float] | None = None,
        device: str = "cpu",
    ) -> None:
        engine = engines.find(str(facts.get("engine", "")))
        self._language = language or str(facts.get("language", ""))
        if not engine.speaks(self._language):
            raise EngineError(
                f"{engine.title} does not speak {self._language or 'a language that is not said'}.",
                f"It speaks {', '.join(sorted(engine.languages))}.",
            )
        self._reference = _read(folder / REFERENCE)
        os.environ.setdefault(*_PREPARED)  # it is read when the first layer is prepared
        self._voice = engine.open_voice(folder / ENGINE, device)
        self._seed, self._manners = seed, dict(manners or {})
        self._known: list[tuple[str, float]] = []

    @property
    def sample_rate(self) -> int:
        return self._voice.sample_rate

    def sentences(self, text: str) -> Iterator[Sentence]:
        """A text as this voice takes it."""
        return read(text, self._language, self._voice.longest_text(self._language))

    def count(self, text: str) -> int:
        """How many sentences a text is."""
        return sum(1 for _ in self.sentences(text))

    def tell(self, sentences: Iterator[Sentence], stop: Callable[[], bool]) -> Iterator[Told]:
        """Say sentences one by one, until `stop` says so. The same seed says them the same way."""
        for sentence in sentences:
            if stop():
                return
            yield Told(sentence, self.say(sentence.spoken))

    def say(self, text: str) -> Spoken:
        """Say one sentence; again, with other seeds, when it came out wrong."""
        usual = Pace.of_seconds(self._known)
        spoken = spoken_well(
            self._speak, text, self._seed, lambda said, sound: judging.judge(said, sound, usual)
        )
        if spoken.well and len(self._known) < _PACE_FROM:
            first, last = span(spoken.sound)
            self._known.append((text, (last - first) / spoken.sound.rate))
        return spoken

    def _speak(self, text: str, seed: int) -> Sound:
        return self._voice.speak(text, self._language, self._reference, seed, **self._manners)


def _read(path: Path) -> Sound:
    import soundfile

    try:
        samples, rate = soundfile.read(path, dtype="float32")
    except (OSError, soundfile.LibsndfileError) as error:
        raise EngineError(
            f"What the voice is spoken like cannot be read ({path.name}: {error}).",
            "Take the voice once more from where it came from, or from its run.",
        ) from error
    return Sound(samples, rate)
