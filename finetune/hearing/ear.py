"""Whisper as Timbre uses it: the words of a stretch, heard many windows at a time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.errors import AudioError, EngineError, SettingsError
from finetune.hearing.speech import RATE, Samples, Span, Stretch, windows
from finetune.jobs.worker import StopWork
from finetune.settings import HearSettings
from finetune.words import Word

if TYPE_CHECKING:
    from faster_whisper.transcribe import Segment

# A batch that takes this long has doubled for the last time: progress is told every 5 s.
_BATCH_SECONDS = 2.0
_LONGEST_BATCH_SECONDS = 4.0
# Two windows at once take 0.85 of the time a window, four 0.74, eight 0.73 (tiny Whisper, one core).
_MOST_AT_ONCE = {"cpu": 8, "cuda": 16}
# Windows of a batch lie this far apart, more than any window is long: what Whisper makes of one
# must not depend on which others were heard with it.
_SLOT_SECONDS = 40
# Whisper's own signs of a window gone wrong: it repeats itself, or guesses.
_LOOPS_ABOVE = 2.4
_GUESSES_BELOW = -1.0
# Heard again, so many tokens in a row are not taken twice: a loop ends, a name that recurs does not.
_MOST_REPEATED_TOKENS = 5
# Half of what the decoder can hold; the rest is for what is said.
_MOST_PROMPT_TOKENS = 224


@dataclass(frozen=True, slots=True)
class _Heard:
    """What was heard in a window, and how sure Whisper is."""

    words: tuple[Word, ...]
    logprob: float
    compression: float

    @property
    def doubtful(self) -> bool:
        return self.compression > _LOOPS_ABOVE or self.logprob < _GUESSES_BELOW


class Ear:
    """A Whisper in memory, and how it is asked to listen."""

    def __init__(
        self,
        folder: Path,
        settings: HearSettings,
        device: str = "cpu",
        compute_type: str = "default",
        threads: int = 0,
        most_at_once: int | None = None,
        device_index: int = 0,
        side_by_side: int = 1,
    ) -> None:
        self.settings = settings
        self._side_by_side = side_by_side
        self._model = _load(folder, device, device_index, compute_type, threads, side_by_side)
        self._name = folder.name
        self._at_once = 1
        self._most_at_once = most_at_once or _MOST_AT_ONCE.get(self._model.model.device, 4)
        self._check_prompt()

    @property
    def multilingual(self) -> bool:
        """Whether it knows more languages than English."""
        return bool(self._model.model.is_multilingual)

    def language(self, samples: Iterable[Samples]) -> tuple[str, float]:
        """Find out the language from a few windows of speech, and how likely it is."""
        if not self.multilingual:
            return "en", 1.0
        with self._explained():
            heard = [self._model.detect_language(each)[2] for each in samples]
        return likeliest(heard)

    def listen(
        self,
        stretch: Stretch,
        language: str,
        told: Callable[[float], None],
        stop: Callable[[], bool],
    ) -> list[Word]:
        """
        Hear every word of a stretch.

        `told` gets the second of the recording up to which it is done; when `stop` says so between
        two batches, it ends with StopWork and nothing of the stretch is kept.
        """
        self._check_language(language)
        left = windows(stretch.spans, self.settings.window_seconds, divide=stretch.quietest)
        words: list[Word] = []
        while left:
            _stop_if(stop)
            heard = self._hear_side_by_side(stretch, left, language)
            for window, first in zip(left, heard, strict=False):
                if first.doubtful:
                    _stop_if(stop)
                    first = self._surer(stretch, window, first, language)
                words += first.words
                told(window[1])
            left = left[len(heard) :]
        told(stretch.end)
        return words

    def _hear_side_by_side(
        self, stretch: Stretch, left: Sequence[Span], language: str
    ) -> list[_Heard]:
        """Hear the next windows in several batches at once; what lacked memory is left for later."""
        size = min(self._at_once, math.ceil(len(left) / self._side_by_side))
        ends = range(0, min(len(left), size * self._side_by_side), size)
        batches = [left[at : at + size] for at in ends]
        with ThreadPoolExecutor(len(batches)) as pool:
            found = pool.map(lambda batch: self._hear_as_many(stretch, batch, language), batches)
            heard: list[_Heard] = []
            for batch, each in zip(batches, found, strict=True):
                heard += each
                if len(each) < len(batch):
                    break
            return heard

    def _hear_as_many(self, stretch: Stretch, batch: Sequence[Span], language: str) -> list[_Heard]:
        """Hear a batch, or its first windows when there is no memory for all of it."""
        started, size = time.monotonic(), self._at_once
        while True:
            try:
                with self._explained():
                    heard = self._hear(stretch, batch, language)
                break
            except _NoMemoryError:
                if len(batch) == 1:
                    raise
                self._at_once = self._most_at_once = len(batch) // 2
                batch = batch[: self._at_once]
        took = time.monotonic() - started
        self._at_once = next_size(len(batch), size, took, self._most_at_once)
        return heard

    def _hear(self, stretch: Stretch, batch: Sequence[Span], language: str) -> list[_Heard]:
        from faster_whisper import BatchedInferencePipeline

        sound = np.zeros((len(batch) + 1, _SLOT_SECONDS * RATE), np.float32)
        clips = []
        for slot, window in enumerate(batch, 1):
            part = stretch.part(window)
            sound[slot, : len(part)] = part
            start = slot * _SLOT_SECONDS
            clips.append({"start": start, "end": start + len(part) / RATE})
        segments, _ = BatchedInferencePipeline(self._model).transcribe(
            sound.reshape(-1),
            batch_size=len(batch),
            vad_filter=False,
            clip_timestamps=clips,
            temperature=0,
            **self._options(language),
        )
        by_slot: list[list[Segment]] = [[] for _ in batch]
        for segment in segments:
            by_slot[segment.seek // (_SLOT_SECONDS * 100) - 1].append(segment)
        return [
            _heard(found, window, window[0] - slot * _SLOT_SECONDS)
            for slot, (found, window) in enumerate(zip(by_slot, batch, strict=True), 1)
        ]

    def _surer(self, stretch: Stretch, window: Span, first: _Heard, language: str) -> _Heard:
        """Hear the spans of a doubtful window one by one, and keep the better."""
        with self._explained():
            second = self._hear_again(stretch, window, language)
        return first if second.doubtful and second.logprob < first.logprob else second

    def _hear_again(self, stretch: Stretch, window: Span, language: str) -> _Heard:
        inside = [
            max(window[0], min(window[1], time)) - window[0]
            for span in stretch.spans
            if span[0] < window[1] and span[1] > window[0]
            for time in span
        ]
        segments, _ = self._model.transcribe(
            stretch.part(window),
            clip_timestamps=inside,
            # Never by chance: the same recording gives the same words.
            temperature=0,
            no_repeat_ngram_size=_MOST_REPEATED_TOKENS,
            **self._options(language),
        )
        return _heard(list(segments), window, window[0])

    def _options(self, language: str) -> dict[str, Any]:
        return {
            "language": language,
            "beam_size": self.settings.beam_size,
            "initial_prompt": self.settings.prompt.strip() or None,
            "hotwords": self.settings.hot_words.strip() or None,
            "condition_on_previous_text": False,
            "word_timestamps": True,
            # Without, words get times from nowhere.
            "without_timestamps": False,
        }

    def _check_language(self, language: str) -> None:
        if not self.multilingual and language != "en":
            raise SettingsError(
                f"{self._name} understands English only, and the language is {language!r}.",
                "Choose a model for many languages, or set the language to en.",
            )
        if self.multilingual and self._model.hf_tokenizer.token_to_id(f"<|{language}|>") is None:
            raise SettingsError(
                f"{self._name} does not know the language {language!r}.",
                "Use its short name, such as en or de, or leave it empty to find it out.",
            )

    def _check_prompt(self) -> None:
        """Refuse what leaves no room for what is said; faster-whisper would cut it off or fail."""
        texts = (self.settings.prompt, self.settings.hot_words)
        count = sum(len(self._model.hf_tokenizer.encode(text).ids) for text in texts)
        if count > _MOST_PROMPT_TOKENS:
            raise SettingsError(
                f"The prompt and the hot words make {count} tokens, and there is room for"
                f" {_MOST_PROMPT_TOKENS}.",
                "Make them shorter; a word is about one to three tokens.",
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with _explained(f"{self._name} could not listen", RuntimeError):
            yield


class _NoMemoryError(EngineError):
    """There was no memory for a batch; for a smaller one there may be."""


def _stop_if(stop: Callable[[], bool]) -> None:
    if stop():
        raise StopWork("Stopped while listening. What was heard before is kept.")


def next_size(heard: int, size: int, seconds: float, most: int) -> int:
    """How many windows to hear at once after a batch: twice as many while that is quick."""
    if seconds > _LONGEST_BATCH_SECONDS:
        return max(1, heard // 2)
    if heard < size or seconds > _BATCH_SECONDS:
        return min(size, most)
    return min(2 * size, most)


def likeliest(heard: Sequence[Sequence[tuple[str, float]]]) -> tuple[str, float]:
    """The language that several windows together speak for, and its mean probability."""
    if not heard:
        raise AudioError(
            "Nobody speaks in this recording, so its language cannot be found out.",
            "Choose the language in the settings.",
        )
    sums: Counter[str] = Counter()
    for window in heard:
        sums.update(dict(window))
    language, total = sums.most_common(1)[0]
    return language, total / len(heard)


def _heard(segments: Sequence[Segment], window: Span, shift: float) -> _Heard:
    """The words of a window at their place in the recording; Whisper's own can lie outside it."""
    from faster_whisper.transcribe import get_compression_ratio

    text = "".join(segment.text for segment in segments).strip()
    return _Heard(
        words=tuple(_words(segments, window, shift)),
        logprob=min((float(segment.avg_logprob) for segment in segments), default=0.0),
        compression=get_compression_ratio(text) if text else 1.0,
    )


def _words(segments: Iterable[Segment], window: Span, shift: float) -> Iterator[Word]:
    for segment in segments:
        for word in segment.words or ():
            start, end = (
                min(max(float(time) + shift, window[0]), window[1])
                for time in (word.start, word.end)
            )
            yield Word(word.word, start, max(start, end), float(word.probability))


def _load(
    folder: Path, device: str, index: int, compute_type: str, threads: int, workers: int
) -> Any:
    # Without these two, faster-whisper would look for them on the network.
    for name in ("model.bin", "tokenizer.json"):
        if not (folder / name).is_file():
            raise EngineError(
                f"The Whisper model in {folder} has no {name}.",
                "Download the model again, or choose another.",
            )
    # Of a broken tokenizer.json comes an Exception of no kind.
    with _explained(f"The Whisper model {folder.name} could not be loaded", Exception):
        from faster_whisper import WhisperModel

        model = WhisperModel(
            str(folder),
            device=device,
            device_index=index,
            compute_type=compute_type,
            cpu_threads=threads,
            num_workers=workers,
        )
    # Without the file, faster-whisper takes it for one of the older models, and fails later.
    if len(model.feature_extractor.mel_filters) != model.model.n_mels:
        raise EngineError(
            f"The preprocessor_config.json of the Whisper model {folder.name} is missing or wrong.",
            "Download the model again, or copy the file from where the model was made.",
        )
    return model


_SMALLER = "Close other programs that use the memory, or choose a smaller model."
_BROKEN = "Download the model again, or choose another."
# What CTranslate2 and the loader of shared libraries say, and what to do about it.
_CAUSES = (
    ("out of memory", _SMALLER),
    ("bad_alloc", _SMALLER),
    ("cannot be loaded", "A library of the GPU is missing: listen with the CPU instead."),
    ("cuda", "The GPU cannot be used: listen with the CPU, or update its driver."),
    ("compute type", "Choose another precision: every CPU knows int8 and float32."),
)


@contextmanager
def _explained(what: str, kind: type[Exception]) -> Iterator[None]:
    """Turn what CTranslate2 raises into what a person can act on; what is our bug stays."""
    try:
        yield
    except MemoryError as error:
        raise _NoMemoryError(f"{what}: there is not enough memory.", _SMALLER) from error
    except kind as error:
        said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        fix = next((fix for sign, fix in _CAUSES if sign in said.lower()), _BROKEN)
        raised = _NoMemoryError if fix == _SMALLER else EngineError
        raise raised(f"{what}: {said}.", fix) from error
