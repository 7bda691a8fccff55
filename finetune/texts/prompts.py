"""Sentences to read aloud: ours for English, and anybody's own for any language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engines.errors import NotFoundError
from finetune.texts.reading import read
from finetune.texts.records import Line, Problem, excerpt
from finetune.texts.units import Unit, units_of

_FOLDER = Path(__file__).parent / "prompts"
_FILES = {"en": "english.txt"}
# What is spoken in 11 s at 15 letters a second, the longest clip that every engine takes.
_LONGEST_LETTERS = 165


@dataclass(frozen=True, slots=True)
class Prompt:
    """One sentence to read, and the line it stands on."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Prompts:
    """Sentences to read, and what was left out of them or should be looked at."""

    prompts: tuple[Prompt, ...]
    problems: tuple[Problem, ...] = ()


def languages() -> tuple[str, ...]:
    """The languages that Timbre brings prompts for."""
    return tuple(_FILES)


def own(language: str) -> Prompts:
    """Read the prompts that come with Timbre."""
    if language not in _FILES:
        raise NotFoundError(
            f"There are no prompts for {language!r} yet.",
            "Bring your own: a plain text with one sentence a line.",
        )
    return from_file(_FOLDER / _FILES[language])


def from_file(path: Path, encoding: str | None = None) -> Prompts:
    """Read prompts from a plain text, one a line; a line that begins with # is a note."""
    found = read(path, encoding, plain=True)
    prompts: list[Prompt] = []
    problems = list(found.problems)
    seen: dict[str, int] = {}
    for line in found.lines:
        if line.text.startswith("#"):
            continue
        reasons = list(_reasons(line, seen))
        problems += (Problem(line.number, reason, path.name) for reason in reasons)
        if not reasons or reasons == [_too_long(line.text)]:
            prompts.append(Prompt(line.number, line.text))
    return Prompts(tuple(prompts), tuple(sorted(problems, key=lambda each: each.number)))


def _reasons(line: Line, seen: dict[str, int]) -> Iterator[str]:
    """Why a line is no good prompt."""
    pieces = units_of(line.text)
    first = seen.setdefault(" ".join(pieces), line.number)
    if not pieces:
        yield f"It has nothing to say: {excerpt(line.text)}."
    elif first != line.number:
        yield f"It says the same as line {first}."
    elif sum(Unit(piece, 0).weight for piece in pieces) > _LONGEST_LETTERS:
        yield _too_long(line.text)


def _too_long(text: str) -> str:
    return f"It takes more than 11 s to say, so it will be cut into clips: {excerpt(text)}."
