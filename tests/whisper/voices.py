"""Voices that speak for the tests, and that know when each word was said: flite and eSpeak NG."""

from __future__ import annotations

import ctypes
import functools
import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

from tests.whisper.grammar import spoken

RATE = 16_000
FLITE = ("awb", "rms", "slt", "kal")
VOICES = (*FLITE, "espeak")
LOUDNESS = 0.08  # root mean square of every sentence, about -22 dBFS

# Sound kept around the words, so that a trimmed sentence still breathes in and dies away.
BEFORE_S, AFTER_S = 0.05, 0.08


class SynthesiserMissing(RuntimeError):
    """The programs that speak are not installed."""

    def __init__(self) -> None:
        super().__init__(
            "flite and espeak-ng speak the sentences of the tests, and they are not installed."
            " Debian and Ubuntu: `sudo apt install flite espeak-ng`."
        )


class Word(NamedTuple):
    """A written word and when it is said, in seconds."""

    text: str
    start: float
    end: float


class Phone(NamedTuple):
    """One speech sound and when it is made, in seconds."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Utterance:
    """A spoken sentence: its sound, and the exact times of its words and phones."""

    text: str
    voice: str
    samples: np.ndarray
    words: list[Word]
    phones: list[Phone]


def installed() -> bool:
    return shutil.which("flite") is not None and _espeak() is not None


def utter(text: str, voice: str, pace: float = 1.0, pitch: float = 0.5) -> Utterance:
    """Speak a sentence; `pace` 1.2 is a fifth faster, `pitch` goes from 0 to 1."""
    if not installed():
        raise SynthesiserMissing
    if voice == "espeak":
        samples, spans, phones = _speak_espeak(text, pace, pitch)
    else:
        samples, spans, phones = _speak_flite(text, voice, pace, pitch)
    words = _written(text, spans)
    return _trimmed(Utterance(text, voice, samples, words, phones))


def _trimmed(whole: Utterance) -> Utterance:
    start = max(0.0, whole.words[0].start - BEFORE_S)
    end = min(len(whole.samples) / RATE, whole.words[-1].end + AFTER_S)
    samples = whole.samples[round(start * RATE) : round(end * RATE)]
    samples = samples * (LOUDNESS / np.sqrt(np.mean(samples**2)))
    words = [Word(w.text, w.start - start, w.end - start) for w in whole.words]
    phones = [Phone(p.name, p.start - start, p.end - start) for p in whole.phones]
    return Utterance(whole.text, whole.voice, samples.astype(np.float32), words, phones)


def _said(text: str) -> tuple[list[str], str]:
    """The words to say, one by one, and the same as text with its signs."""
    parts = [spoken(word) for word in text.split()]
    words = [word for words, _ in parts for word in words]
    return words, " ".join(" ".join(words) + sign for words, sign in parts)


def _written(text: str, spans: list[tuple[float, float]]) -> list[Word]:
    """Give the written words the times of what was said for them: "3.5" is three words long."""
    words, at = [], 0
    for word in text.split():
        count = len(spoken(word)[0])
        words.append(Word(word, spans[at][0], spans[at + count - 1][1]))
        at += count
    return words


# --- flite ---------------------------------------------------------------------------------

# Mean pitch in Hz from low to high; kal is a diphone voice with a pitch of its own.
FLITE_PITCH_HZ = {"slt": (150, 200), "rms": (85, 120), "awb": (110, 150), "kal": (85, 120)}


def _speak_flite(text: str, voice: str, pace: float, pitch: float):
    words, said = _said(text)
    low, high = FLITE_PITCH_HZ[voice]
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder) / "said.wav"
        settings = [f"duration_stretch={1 / pace:.3f}"]
        settings += [f"int_f0_target_mean={low + pitch * (high - low):.0f}"] if pitch != 0.5 else []
        options = [part for setting in settings for part in ("--setf", setting)]
        printed = _flite("-voice", voice, *options, "-psdur", "-t", said, "-o", str(sound))
        samples, rate = soundfile.read(sound, dtype="float32")
    names, ends = zip(*(part.rsplit(":", 1) for part in printed.split()), strict=True)
    times = [0.0, *map(float, ends)]
    phones = [Phone(name, *span) for name, span in zip(names, pairwise(times), strict=True)]
    return soxr.resample(samples, rate, RATE), _word_spans(words, phones), phones


def _word_spans(words: list[str], phones: list[Phone]) -> list[tuple[float, float]]:
    """Hand the phones out to the words, each taking as many as flite says it has."""
    body = [phone for phone in phones if phone.name != "pau"]
    counts = [len(word_phones(word)) for word in words]
    if sum(counts) != len(body):
        raise ValueError(f"flite said {len(body)} phones for {sum(counts)} in {words}.")
    spans, at = [], 0
    for count in counts:
        spans.append((body[at].start, body[at + count - 1].end))
        at += count
    return spans


@functools.cache
def word_phones(word: str) -> tuple[str, ...]:
    printed = _flite("-voice", "kal16", "-ps", "-t", word, "-o", "none")
    return tuple(phone for phone in printed.split() if phone != "pau")


def _flite(*options: str) -> str:
    done = subprocess.run(["flite", *options], capture_output=True, text=True, check=True)
    return done.stdout


# --- eSpeak NG -----------------------------------------------------------------------------

# From espeak-ng/speak_lib.h.
RETRIEVAL, PHONEME_EVENTS = 1, 1
CHARACTER_POSITION, PLAIN_UTF8 = 1, 1
SET_RATE, SET_PITCH = 1, 3
END_OF_LIST, WORD_EVENT, PHONEME_EVENT = 0, 1, 7

_one_at_a_time = threading.Lock()  # the library keeps one voice and one callback per process


class _Name(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8))


class _Event(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _Name),
    )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


@functools.cache
def _espeak() -> tuple[ctypes.CDLL, int] | None:
    """The library and its sample rate, or None where it is not installed."""
    try:
        library = ctypes.CDLL("libespeak-ng.so.1")
    except OSError:
        return None
    rate = library.espeak_Initialize(RETRIEVAL, 0, None, PHONEME_EVENTS)
    if rate <= 0 or library.espeak_SetVoiceByName(b"en-us") != 0:
        return None
    return library, rate


def _speak_espeak(text: str, pace: float, pitch: float):
    words, said = _said(text)
    samples, rate, events = _espeak_events(said, pace, pitch)
    spans = _spans_of_events(words, said, events, len(samples) / rate)
    return soxr.resample(samples, rate, RATE), spans, _shared_phones(words, spans)


def _espeak_events(said: str, pace: float, pitch: float):
    """The sound, its rate, and (kind, place in the text, seconds, phone) of all that happened."""
    found = _espeak()
    assert found is not None
    library, rate = found
    sound: list[bytes] = []
    events: list[tuple[int, int, float, str]] = []

    def heard(wave, count, happened):
        if wave and count:
            sound.append(ctypes.string_at(wave, 2 * count))
        at = 0
        while happened[at].type != END_OF_LIST:
            event = happened[at]
            phone = event.id.string.decode() if event.type == PHONEME_EVENT else ""
            events.append((event.type, event.text_position, event.sample / rate, phone))
            at += 1
        return 0

    callback = _Callback(heard)
    encoded = said.encode()
    with _one_at_a_time:
        library.espeak_SetSynthCallback(callback)
        library.espeak_SetParameter(SET_RATE, round(165 * pace), 0)
        library.espeak_SetParameter(SET_PITCH, round(30 + 40 * pitch), 0)
        flags = (0, CHARACTER_POSITION, 0, PLAIN_UTF8, None, None)
        library.espeak_Synth(encoded, len(encoded) + 1, *flags)
        library.espeak_Synchronize()
    samples = np.frombuffer(b"".join(sound), np.int16).astype(np.float32) / 32768
    return samples, rate, events


def _spans_of_events(words, said, events, total) -> list[tuple[float, float]]:
    """A word lasts from its event to the next word or pause, whichever is first."""
    offsets = {match.start() + 1: at for at, match in enumerate(re.finditer(r"[\w']+", said))}
    starts = {offsets[at]: t for kind, at, t, _ in events if kind == WORD_EVENT and at in offsets}
    pauses = [t for kind, _, t, phone in events if kind == PHONEME_EVENT and phone[:1] == "_"]
    spans: list[tuple[float, float]] = []
    heads = [*sorted(starts), len(words)]
    for head, following in pairwise(heads):
        start, limit = starts[head], starts.get(following, total)
        end = min([pause for pause in pauses if start < pause < limit], default=limit)
        # Two words said as one have one event: they share its time by their letters.
        shares = np.cumsum([0, *(len(word) for word in words[head:following])])
        edges = start + (end - start) * shares / shares[-1]
        spans += pairwise(edges.tolist())
    return spans


def _shared_phones(words: list[str], spans: list[tuple[float, float]]) -> list[Phone]:
    """The phones flite would use, spread over the word: one set of names for all voices."""
    phones = []
    for word, (start, end) in zip(words, spans, strict=True):
        names = word_phones(word)
        edges = np.linspace(start, end, len(names) + 1).tolist()
        phones += [Phone(name, *span) for name, span in zip(names, pairwise(edges), strict=True)]
    return phones
