"""Which line belongs to which recording, however the two write its name."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from finetune.texts.records import AUDIO_ENDINGS, Line, Problem, excerpt, without_ending


@dataclass(frozen=True, slots=True)
class Matched:
    """Lines with their recordings, in the order of the lines, and what found no partner."""

    pairs: tuple[tuple[Line, str], ...]
    problems: tuple[Problem, ...]
    unused: tuple[str, ...]
    """Recordings that no line names."""


def match(lines: Sequence[Line], recordings: Path | Iterable[str]) -> Matched:
    """Pair lines with recordings: a folder, or names with or without folders."""
    names = _names(recordings) if isinstance(recordings, Path) else list(recordings)
    by_stem = _by_stem(names)
    folders = _folders(lines)
    pairs: list[tuple[Line, str]] = []
    problems: list[Problem] = []
    taken: dict[str, Line] = {}
    for line in lines:
        found = _partner(line, names, by_stem, folders)
        if not isinstance(found, Problem):
            found = _not_twice(line, found, taken)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            pairs.append((line, found))
    used = {name for _, name in pairs}
    return Matched(tuple(pairs), tuple(problems), tuple(name for name in names if name not in used))


def _names(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.suffix.lower() in AUDIO_ENDINGS)
    return sorted(path.relative_to(folder).as_posix() for path in files if path.is_file())


def _key(name: str) -> tuple[str, ...]:
    """The folders and the stem of a name, the same for every way of writing it."""
    folded = unicodedata.normalize("NFC", name.strip().replace("\\", "/")).casefold()
    # Folding can decompose what composing made, so compose once more.
    parts = [
        part
        for part in unicodedata.normalize("NFC", folded).split("/")
        if part not in {"", ".", ".."}
    ]
    return (*parts[:-1], without_ending(parts[-1])) if parts else ("",)


def _by_stem(names: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        found[_key(name)[-1]].append(name)
    return found


def _folders(lines: Iterable[Line]) -> Mapping[str, set[tuple[str, ...]]]:
    """In which folders the lines say that recordings of one name are."""
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for line in lines:
        *folders, stem = _key(line.audio)
        found[stem].add(tuple(folders))
    return found


def _partner(
    line: Line,
    names: Sequence[str],
    by_stem: Mapping[str, Sequence[str]],
    folders: Mapping[str, set[tuple[str, ...]]],
) -> str | Problem:
    """The recording of a line, or why there is none."""
    if found := by_stem.get(_key(line.audio)[-1]) if line.audio else None:
        return _best(line, found, clash=len(folders[_key(line.audio)[-1]]) > 1)
    # A script or subtitles that name no recording can only mean the one there is.
    if len(names) == 1 and (not line.audio or line.start is not None):
        return names[0]
    if line.audio:
        return _problem(line, f"There is no recording {excerpt(line.audio)}.")
    return _problem(line, f"It names no recording: {excerpt(line.text)}.")


def _best(line: Line, names: Sequence[str], *, clash: bool) -> str | Problem:
    """Of recordings with the same stem, the one whose folder, ending and case agree most."""
    ranked = sorted(names, key=lambda name: _agreement(line.audio, name), reverse=True)
    agreement = _agreement(line.audio, ranked[0])
    if len(ranked) > 1 and agreement == _agreement(line.audio, ranked[1]):
        both = f"{excerpt(ranked[0])} and {excerpt(ranked[1])}"
        return _problem(line, f"{excerpt(line.audio)} could be {both}.")
    if clash and _disagree(line.audio, ranked[0]):
        return _problem(line, f"{excerpt(line.audio)} is only there as {excerpt(ranked[0])}.")
    return ranked[0]


def _agreement(wanted: str, name: str) -> tuple[int, bool, bool, bool]:
    left, right = _key(wanted), _key(name)
    common = 0
    for one, other in zip(reversed(left), reversed(right), strict=False):
        if one != other:
            break
        common += 1
    file = wanted.replace("\\", "/").rpartition("/")[2]
    other = name.replace("\\", "/").rpartition("/")[2]
    same_ending = _ending(file) == _ending(other)
    return common, same_ending, without_ending(file) == without_ending(other), left == right


def _ending(name: str) -> str:
    return name[len(without_ending(name)) :].casefold()


def _disagree(wanted: str, name: str) -> bool:
    """Whether both say a folder, and not the same one."""
    left, right = _key(wanted)[:-1], _key(name)[:-1]
    return bool(left and right) and left[-1] != right[-1]


def _not_twice(line: Line, name: str, taken: dict[str, Line]) -> str | Problem:
    """Refuse a second text for a whole recording; parts of one, and a script's lines, are many."""
    if line.start is not None or not line.audio:
        return name
    first = taken.setdefault(name, line)
    if first is line:
        return name
    return _problem(line, f"{excerpt(name)} has its text from line {first.number} already.")


def _problem(line: Line, sentence: str) -> Problem:
    return Problem(line.number, sentence, line.file)
