"""Judges that know nothing of the engine: a recogniser of English, and prints of voices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engines.base import Sound
from engines.pocket.facts import RATE
from engines.pocket.sound import at_rate, levelled, spoken_part
from finetune.listening.voiceprint import VoicePrints
from tests.bench.pocket_scores import Floats, Understood, understood
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure

# As much quiet around every sentence, whoever speaks it: synthesisers differ in how much they
# leave, and with a tenth of a second the recogniser gets the first word wrong.
_QUIET_S, _QUIET_LOUDNESS = 0.4, 3e-4
_SEED = 20261121
_FULL = 32767


class Recogniser:
    """PocketSphinx with its own English model, taking dictation."""

    def __init__(self) -> None:
        try:
            from pocketsphinx import Decoder
        except ImportError as cause:
            raise CannotMeasure(
                "pocketsphinx, which listens to what is spoken, is not installed."
                " `python launch.py test` installs what tests need."
            ) from cause
        # "batch": each sentence by itself, so that their order makes no difference.
        self._decoder = Decoder(samprate=float(RATE), cmn="batch", loglevel="FATAL")

    def heard(self, sound: Sound) -> str:
        """What somebody says, as far as it can tell."""
        samples = np.clip(_with_quiet(sound), -1, 1) * _FULL
        self._decoder.start_utt()
        self._decoder.process_raw(samples.astype("<i2").tobytes(), full_utt=True)
        self._decoder.end_utt()
        found = self._decoder.hyp()
        return str(found.hypstr) if found else ""


def _with_quiet(sound: Sound) -> Floats:
    samples = levelled(at_rate(sound))
    start, end = spoken_part(samples)
    padded = np.pad(samples[start:end], round(_QUIET_S * RATE))
    chance = np.random.default_rng(_SEED)
    return padded + _QUIET_LOUDNESS * chance.standard_normal(len(padded))


class Judges:
    """Both, loaded once."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._recogniser = Recogniser()
        self._prints = VoicePrints()

    def understand(
        self, texts: Sequence[str], sounds: Sequence[Sound], who: str
    ) -> list[Understood]:
        """How each sentence is understood."""
        pairs = list(zip(texts, sounds, strict=True))
        told = self._progress.through(pairs, f"sentences heard, {who}")
        return [understood(text, self._recogniser.heard(sound)) for text, sound in told]

    def prints(self, sounds: Sequence[Sound]) -> Floats:
        """The voice print of each sentence."""
        return np.stack(list(self._prints_of(sounds)))

    def _prints_of(self, sounds: Sequence[Sound]) -> Iterator[Floats]:
        for sound in sounds:
            yield self._prints.of(levelled(at_rate(sound)), RATE)
