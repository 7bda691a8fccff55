"""Voices as words and as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import engines
from engines.errors import EngineError
from voices.library import REFERENCE, SAMPLE, Consent, Voice

HEADS = ("Voice", "Engine", "Language", "Whose", "Tags", "Id")
_AGREED = {True: "agrees", False: "does not agree", None: "was not asked"}


def rows(voices: Sequence[Voice]) -> list[tuple[str, ...]]:
    return [
        (
            f"{'* ' * each.favourite}{each.name}",
            _title(each.engine),
            each.language,
            each.consent.whose,
            ", ".join(each.tags),
            each.id[:6],
        )
        for each in voices
    ]


def line(voice: Voice) -> str:
    """One voice in a sentence."""
    tags = f" Tags: {', '.join(voice.tags)}." if voice.tags else ""
    trashed = " It is in the trash." if voice.item.trashed else ""
    return f"{voice.name}: {_title(voice.engine)}, {voice.language}.{tags}{trashed}"


def page(voice: Voice) -> str:
    """Everything about one voice that a person decides by."""
    return "\n".join([line(voice), consent(voice.consent), *_told(voice)])


def consent(said: Consent) -> str:
    """Whose voice it is, in a sentence."""
    if not said.whose:
        return "Nobody has said whose voice it is (`voices consent`)."
    return f"It is the voice of {said.whose}, who {_AGREED[said.agreed]}."


def facts(voice: Voice) -> dict[str, Any]:
    """A voice for programs."""
    return {
        "id": voice.id,
        "name": voice.name,
        "favourite": voice.favourite,
        "tags": list(voice.tags),
        "whose": voice.consent.whose,
        "agreed": voice.consent.agreed,
        "trashed": voice.item.trashed,
        "folder": str(voice.folder),
        **{name: each for name, each in voice.facts.items() if name not in ("v", "name")},
    }


def _told(voice: Voice) -> Iterator[str]:
    said = voice.facts
    came: Mapping[str, Any] = said.get("from") or {}
    if came.get("run"):
        yield f"From run {came['run']}, step {came.get('step')}. {said.get('why', '')}".rstrip()
    if came.get("program"):
        yield f"From {came['program']}."
    yield from (
        f"{what}: {value:.3g}" for what, value in _scores(said.get("scores") or {}) if value
    )
    licence = said.get("licence") or {}
    for base in licence.get("base", []):
        yield f"Licence of what it was learned from: {base}"
    for name, about in ((REFERENCE, "It is spoken like"), (SAMPLE, "A sample is")):
        if (voice.folder / name).exists():
            yield f"{about} {voice.folder / name}"


def _scores(scores: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    names = {
        "similarity": "Like the real voice, -1 to 1",
        "character_errors": "Share of characters misheard",
        "check_loss": "Loss on clips it never learned from",
    }
    return [(about, scores.get(name)) for name, about in names.items()]


def _title(engine: str) -> str:
    try:
        return engines.find(engine).title
    except EngineError:  # of an engine that this Timbre does not have
        return engine or "unknown"
