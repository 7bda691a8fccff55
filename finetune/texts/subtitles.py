"""Subtitles with times: .srt and .vtt, as strict as players are, and saying what they skip."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from finetune.texts.cells import lines_of
from finetune.texts.records import Line, Problem, excerpt
from finetune.texts.tables import Found

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?"
_TIMES = re.compile(rf"\s*{_TIME}\s*--?>\s*{_TIME}(?:\s.*)?")
# Only what players take for markup: a text may well say "a < b" or "<3".
_MARKUP = re.compile(
    r"</?(?:i|b|u|s|c|v|font|ruby|rt|lang)(?:[\s.][^<>]*)?>|<\d[\d:.]*>|\{\\[^{}]*\}", re.IGNORECASE
)
_VOICE = re.compile(r"<v(?:\.\S*)?\s+([^>]+)>")

Numbered = tuple[int, str]


def is_srt(text: str) -> bool:
    """Whether one of the first lines that say something is a pair of times."""
    first = [line for _, line in lines_of(text[:4000]) if line.strip()][:3]
    return any(_TIMES.fullmatch(line) for line in first)


def is_vtt(text: str) -> bool:
    """Whether it begins as every .vtt must."""
    return re.match(r"\s*WEBVTT(?:\s|\Z)", text) is not None


def read_subtitles(text: str, audio: str) -> Iterator[Found]:
    """Read cues: each is found by its pair of times, whatever numbers and blank lines do."""
    lines = list(lines_of(text))
    vtt = is_vtt(text)
    starts = [at for at, (_, line) in enumerate(lines) if _TIMES.fullmatch(line)]
    first = _name_before(lines, starts[0]) if starts else len(lines)
    yield from _skipped(lines[:first], vtt)
    for at, after in pairwise([*starts, len(lines)] if starts else []):
        end = after if after == len(lines) else _name_before(lines, after)
        yield from _cue(lines[at], lines[at + 1 : end], audio, vtt)


def _name_before(lines: Sequence[Numbered], at: int) -> int:
    """Where a cue begins: at its number or name, which follows a blank line, else at its times."""
    if at and lines[at - 1][1].strip().isdigit():
        return at - 1
    named = at > 1 and lines[at - 1][1].strip() and not lines[at - 2][1].strip()
    return at - 1 if named else at


def _cue(times: Numbered, lines: Sequence[Numbered], audio: str, vtt: bool) -> Iterator[Found]:
    spoken, rest = _parts(lines, vtt)
    text = " ".join(clean for _, line in spoken if (clean := _clean(line, vtt)))
    start, end = _seconds(times[1])
    speaker = _VOICE.search(" ".join(line for _, line in spoken))
    if end <= start:
        yield Problem(times[0], f"It ends before it begins: {excerpt(text)}.")
    elif not text:
        yield Problem(times[0], "It has times and no text.")
    else:
        yield Line(times[0], audio, text, speaker[1].strip() if speaker else "", start, end)
    yield from _skipped(rest, vtt)


def _parts(lines: Sequence[Numbered], vtt: bool) -> tuple[Sequence[Numbered], Sequence[Numbered]]:
    """Part the lines of a cue from what follows its blank line: in a .vtt that is a note."""
    if not vtt:  # in an .srt people leave blank lines inside a text
        return [line for line in lines if line[1].strip()], ()
    end = next((at for at, (_, line) in enumerate(lines) if not line.strip()), len(lines))
    return lines[:end], lines[end:]


def _skipped(lines: Sequence[Numbered], vtt: bool) -> Iterator[Problem]:
    """Report text without times; the header, notes and styles of a .vtt are none."""
    within_note = False
    for number, line in lines:
        if not line.strip():
            within_note = False
        elif vtt and re.match(r"(?:WEBVTT|NOTE|STYLE|REGION|X-TIMESTAMP)", line.strip()):
            within_note = True
        elif not within_note:
            yield Problem(number, f"It has no times: {excerpt(line)}.")


def _clean(line: str, vtt: bool) -> str:
    bare = _MARKUP.sub("", line).strip()
    # The only marks of writing direction that .vtt names; they are nothing to say.
    return html.unescape(bare).replace("\u200e", "").replace("\u200f", "") if vtt else bare


def _seconds(times: str) -> tuple[float, float]:
    found = _TIMES.fullmatch(times)
    groups = found.groups("0") if found else ("0",) * 8
    return _time(groups[:4]), _time(groups[4:])


def _time(parts: Sequence[str]) -> float:
    hours, minutes, seconds, fraction = parts
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction}")
