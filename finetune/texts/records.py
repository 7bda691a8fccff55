"""What a text file says, line by line, and what could not be read of it."""

from __future__ import annotations

from dataclasses import dataclass

AUDIO_ENDINGS = frozenset({
    ".aac", ".aif", ".aiff", ".amr", ".ape", ".caf", ".flac", ".m4a", ".m4b", ".mka", ".mkv",
    ".mov", ".mp2", ".mp3", ".mp4", ".mpga", ".oga", ".ogg", ".opus", ".raw", ".sph", ".wav",
    ".wave", ".webm", ".wma",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One text and the recording, or the part of a recording, it belongs to."""

    number: int
    """Where it begins in its file, counted from 1."""
    audio: str
    """The recording as the file names it; "" when it names none."""
    text: str
    speaker: str = ""
    start: float | None = None
    """Seconds from the start of the recording, where the file tells."""
    end: float | None = None
    split: str = ""
    """"train" or "eval" where the file tells."""
    file: str = ""
    """Which file of a folder it comes from."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a person should know of: the line, or 0 for the whole file, and a sentence."""

    number: int
    sentence: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """Everything a file or folder held."""

    format: str
    """ljspeech, xtts, f5, piper, audiofolder, table, srt, vtt, script or beside."""
    encoding: str
    lines: tuple[Line, ...]
    problems: tuple[Problem, ...] = ()


def without_ending(name: str) -> str:
    """Take off the ending of an audio file; other dots belong to the name."""
    stem, dot, ending = name.rpartition(".")
    return stem if dot and stem and f".{ending.lower()}" in AUDIO_ENDINGS else name


def excerpt(text: str, most: int = 60) -> str:
    """Quote a text in a sentence, shortened."""
    flat = " ".join(text.split())
    return f"“{flat}”" if len(flat) <= most else f"“{flat[:most].rstrip()}…”"
