"""How a sample sounds: how like the real voice, and how much of it a transcriber understands."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engines.base import Sound
from engines.errors import AudioError, StudioError
from engines.texts.normalize import preview
from engines.texts.spacing import unspaced
from finetune.hearing.ear import Ear
from finetune.hearing.speech import RATE, Stretch
from finetune.jobs.events import Event, Said
from finetune.listening.voiceprint import VoicePrints
from finetune.settings import HearSettings

Floats = NDArray[np.float32]

# Each takes its reading and 10 ms.
MOST_REAL_CLIPS = 40
# The training waits meanwhile, but other jobs of the computer do not.
_THREADS = 2
_LIKENESS = "How like the voice samples are is not told"
_ERRORS = "Which characters of samples are heard otherwise is not told"

_log = logging.getLogger(__name__)


class Judge:
    """
    Listens to samples on the CPU, as long as it can.

    Nothing is loaded before the first sample. What fails is said once in words and not tried again:
    it gives None from then on, and never ends a run.
    """

    def __init__(
        self,
        real: Iterable[Sound],
        say: Callable[[Event], None],
        transcriber: Path | None = None,
        hearing: HearSettings | None = None,
        threads: int = _THREADS,
    ) -> None:
        """Take held-out clips of the real voice, which are read when they are needed first."""
        self._real, self._say = real, say
        self._transcriber, self._hearing = transcriber, hearing or HearSettings()
        self._threads = threads
        self._given_up: set[str] = set()

    def similarity(self, sound: Sound) -> float | None:
        """Tell how like the real voice it sounds, -1 to 1: about 0.9 is the same person."""
        return self._unless_it_fails(_LIKENESS, lambda: float(self.print_of(sound) @ self._mean))

    def character_errors(self, sound: Sound, text: str, language: str) -> float | None:
        """Tell which share of the text a transcriber hears otherwise; None without one."""
        if self._transcriber is None:
            return None
        return self._unless_it_fails(
            _ERRORS, lambda: errors(text, self._heard(sound, language), language)
        )

    def _unless_it_fails(self, what: str, work: Callable[[], float]) -> float | None:
        if what in self._given_up:
            return None
        try:
            with _same_threads():
                return work()
        # Whatever goes wrong in listening, the voice that is learned is worth more.
        except Exception as error:
            self._given_up.add(what)
            _log.warning("%s", what, exc_info=True)
            self._say(Said(f"{what} from here on: {_cause(error)}"))
            return None

    @cached_property
    def _prints(self) -> VoicePrints:
        return VoicePrints()

    def print_of(self, sound: Sound) -> Floats:
        """The voice print of a sound."""
        with _same_threads():
            return self._prints.of(np.clip(np.nan_to_num(sound.samples), -1, 1), sound.rate)

    @cached_property
    def _mean(self) -> Floats:
        """The voice print that held-out clips have in common."""
        prints = [self.print_of(sound) for sound in _first(self._real, MOST_REAL_CLIPS)]
        total = np.sum([each for each in prints if each.any()], axis=0)
        if not np.any(total):
            raise AudioError(
                "No voice can be heard in the clips that are kept for checking.",
                "Listen to them: they may be silent.",
            )
        return np.asarray(total / np.linalg.norm(total), np.float32)

    @cached_property
    def _ear(self) -> Ear:
        assert self._transcriber is not None
        return Ear(self._transcriber, self._hearing, "cpu", "int8", self._threads, most_at_once=1)

    def _heard(self, sound: Sound, language: str) -> str:
        samples = _at_16_khz(sound)
        end = len(samples) / RATE
        if not end:
            return ""
        # All of it: what a voice makes up in a pause is an error too.
        stretch = Stretch(0.0, end, ((0.0, end),), samples)
        words = self._ear.listen(stretch, language.split("-")[0], lambda _: None, lambda: False)
        return "".join(word.text for word in words)


def errors(expected: str, heard: str, language: str) -> float:
    """Count what has to change in what was heard, as a share of what was to be said; 1 at most."""
    wanted, got = comparable(expected, language), comparable(heard, language)
    if not wanted:
        return float(bool(got))
    return min(1.0, distance(wanted, got) / len(wanted))


def comparable(text: str, language: str) -> str:
    """The text as it is compared: numbers as words, no capitals, no signs, single spaces."""
    said = unicodedata.normalize("NFKC", preview(text, language).after).casefold()
    words = "".join(_kept(sign) for sign in said).split()
    # Chinese and Japanese are written without spaces, and every transcriber puts others.
    return ("" if any(map(unspaced, said)) else " ").join(words)


def distance(left: str, right: str) -> int:
    """How many characters have to be put in, taken out or changed to get from one to the other."""
    row = list(range(len(right) + 1))
    for count, sign in enumerate(left, 1):
        diagonal, row[0] = row[0], count
        for at, other in enumerate(right, 1):
            diagonal, row[at] = (
                row[at],
                min(row[at] + 1, row[at - 1] + 1, diagonal + (sign != other)),
            )
    return row[-1]


def _kept(sign: str) -> str:
    """Letters, digits and the vowel marks of Hindi or Arabic; "it's" is its, "well-known" is two."""
    if sign in "'’ʼ":
        return ""
    return sign if unicodedata.category(sign)[0] in "LNM" else " "


def _first(sounds: Iterable[Sound], most: int) -> Iterator[Sound]:
    for _, sound in zip(range(most), sounds, strict=False):
        yield sound


def _at_16_khz(sound: Sound) -> Floats:
    samples = np.clip(np.nan_to_num(sound.samples), -1, 1).astype(np.float32)
    if sound.rate == RATE:
        return samples
    import soxr

    return np.asarray(soxr.resample(samples, sound.rate, RATE), np.float32)


@contextmanager
def _same_threads() -> Iterator[None]:
    """Leave torch as many threads as it had: voice prints take one, and a training wants its own."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _cause(error: Exception) -> str:
    if isinstance(error, StudioError):
        return f"{error.what} {error.fix}".strip()
    said = " ".join(str(error).split()).rstrip(".")
    return f"{said or type(error).__name__}."
