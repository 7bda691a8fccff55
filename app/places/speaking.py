"""Speaking with a finished voice: as it was set to, heard while it is spoken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import engines
from app.places.kept import line_facts
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.streamed import Streamed, piece
from app.speech import device
from engines.errors import NotFoundError, SettingsError, StudioError, TextError
from voices import library, speak_settings, spoken
from voices.library import Voice
from voices.reciting import Recital
from voices.speak_settings import SpeakSettings
from voices.speaking import manners, text
from voices.speaking.formats import KINDS
from voices.spoken import Line, Spoken, Wish

LOUDNESS = (-16.0, -19.0, -23.0)
"""As podcasts of two channels, of one, and broadcasts have it."""
LONGEST_TEXT = 200_000
_READ = 200
# No engine here says more at once; only where a sentence is cut hangs on it.
_LONGEST_SENTENCE = 250

# ---- How it speaks ----


def settings(desk: Desk, voice: str) -> dict[str, Any]:
    """How a voice speaks unless asked otherwise, and what can be chosen."""
    found = library.find(desk.workspace, voice)
    known = speak_settings.known_manners(found)
    chosen = speak_settings.read(found.folder)
    return {
        "chosen": asdict(chosen),
        "manners": [_manner(name, chosen, *limits) for name, limits in known.items()],
        "turned": manners.at(chosen.dial, known) if chosen.dial else {},
        "dial": bool(manners.moved(known)),
        "languages": _languages(found),
        "kinds": list(KINDS),
        "loudness": list(LOUDNESS),
    }


def _manner(
    name: str, chosen: SpeakSettings, low: float, usual: float, high: float
) -> dict[str, Any]:
    return {"name": name, "low": low, "usual": usual, "high": high, "own": chosen.own.get(name)}


def _languages(voice: Voice) -> list[str]:
    try:
        return sorted(engines.find(voice.engine).languages)
    except StudioError:
        return [voice.language]


def settle(desk: Desk, voice: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """Let a voice speak so from now on."""
    found = library.find(desk.workspace, voice)
    speak_settings.keep(found, _settled(chosen))
    return settings(desk, voice)


def _settled(chosen: dict[str, Any]) -> SpeakSettings:
    try:
        return speak_settings.settled(chosen)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, StudioError):
            raise
        raise SettingsError("These settings cannot be read.", "Reload the page.") from error


def read_out(desk: Desk, voice: str, said: str) -> dict[str, Any]:
    """How a text will be read: its sentences, with numbers and abbreviations as they are said."""
    found = library.find(desk.workspace, voice)
    language = speak_settings.read(found.folder).language or found.language
    every = text.sentences(said[:LONGEST_TEXT], language, _LONGEST_SENTENCE)
    return {
        "count": len(every),
        "sentences": [{"text": each.text, "spoken": each.spoken} for each in every[:_READ]],
    }


# ---- Said at once ----


def say(desk: Desk, voice: str, said: str) -> Streamed:
    """Say a text as the voice is set to, heard from the first sentence on, and keep it."""
    if not said.strip() or len(said) > LONGEST_TEXT:
        raise TextError(
            "There is nothing to say."
            if not said.strip()
            else f"The text has {len(said):,} signs.",
            f"Type a text of up to {LONGEST_TEXT:,} signs; a file may be longer.",
        )
    found = library.find(desk.workspace, voice)
    chosen = speak_settings.read(found.folder)
    wish = Wish(
        *(found.id, found.name, said, chosen.language, chosen.seed, chosen.pace),
        speak_settings.manners_for(found, chosen),
    )
    recital = _recital(desk, found, wish)
    return Streamed(_told(recital, lambda kept: kept), recital.stop)


def prepare(desk: Desk, voice: str) -> None:
    """Open a voice for what is being typed, so that its first sentence comes at once."""
    found = library.find(desk.workspace, voice)
    where = device.for_speaking(desk.workspace, desk.speaker.pid)
    language = speak_settings.read(found.folder).language
    desk.speaker.prepare(found.folder, found.facts, language, where)


def again(desk: Desk, id: str, line: int) -> Streamed:
    """Say one sentence of what was spoken again, with another seed, and keep all of it so."""
    old = spoken.find(desk.workspace, id)
    if not 0 <= line < len(old.lines):
        raise NotFoundError("There is no such sentence.", "Reload the page.")
    found = library.find(desk.workspace, old.wish.voice)
    said = old.lines[line]
    wish = replace(old.wish, text=said.text, seed=spoken.other_seed(said))
    recital = _recital(desk, found, wish)

    def whole(new: Spoken) -> Spoken:
        try:  # stopped, it stays as it was
            return spoken.with_line(desk.workspace, old, line, new) if new.whole else old
        finally:
            spoken.delete(desk.workspace, new.id)

    return Streamed(_told(recital, whole), recital.stop)


def _recital(desk: Desk, voice: Voice, wish: Wish) -> Recital:
    where = device.for_speaking(desk.workspace, desk.speaker.pid)
    speech = desk.speaker.say(
        *(voice.folder, voice.facts, wish.text, wish.language, wish.seed, wish.manners),
        *(where, wish.pace),
    )
    return Recital(desk.workspace, wish, speech)


def _told(recital: Recital, keep: Any) -> Iterator[bytes]:
    """A recital as it goes to the page; what is kept of it comes last."""
    for each in recital.pieces():
        if isinstance(each, Line):
            yield piece({"kind": "sentence", **line_facts(each)})
        else:
            yield piece({"kind": "sound", "rate": each.rate}, each.samples.astype("<i2").tobytes())
    if recital.kept is not None:
        yield piece({"kind": "kept", "id": keep(recital.kept).id})


CALLS: dict[str, Call] = {
    "voices.settings": settings,
    "voices.settle": settle,
    "voices.read": read_out,
    "voices.prepare": prepare,
}
STREAMS: dict[str, Call] = {"voices.say": say, "voices.again": again}
