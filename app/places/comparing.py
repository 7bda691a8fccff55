"""Listening and comparing: every sample beside the real voice and the base, seen, heard, blind."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from engines.base import Sound
from engines.errors import ConflictError, NotFoundError, SettingsError
from finetune import runs, samples
from finetune.samples import Source
from voices import library
from voices.comparing import figures, peaks
from voices.comparing.blind import Choice, Kind, Pair
from voices.comparing.figures import Measured
from voices.comparing.kept import Comparisons, Session
from voices.speaking.saying import said

_TYPES = {".flac": "audio/flac", ".wav": "audio/wav"}
_MOST_BUCKETS = 4000


# ---- What there is to hear ----


def heard(desk: Desk, run: str = "", voice: str = "") -> dict[str, Any]:
    """All that can be heard of a run or a voice, and the sentences that more than one has said."""
    workspace = desk.workspace
    found = (
        samples.of_run(workspace, runs.find(workspace, run))
        if run
        else samples.of_voice(workspace, library.find(workspace, voice))
    )
    return {"sources": found, "sentences": _sentences(found)}


def others(desk: Desk) -> list[dict[str, str]]:
    """What else can be set beside: every run and every voice."""
    found = [{"kind": "voice", "id": e.id, "name": e.name} for e in library.listed(desk.workspace)]
    return found + [
        {"kind": "run", "id": e.id, "name": e.plan.name} for e in runs.all(desk.workspace)
    ]


def _sentences(sources: list[Source]) -> list[str]:
    """In the order in which they are spoken."""
    return list(
        dict.fromkeys(each.text for source in sources for each in source.heard if each.text)
    )


# ---- What is seen of it ----


def outline(desk: Desk, sound: str, buckets: int = 600) -> dict[str, Any]:
    """The shape of a sound, in steps of 1/127 of full scale, and how long it is."""
    path = samples.find(desk.workspace, sound)
    if not 1 <= buckets <= _MOST_BUCKETS:
        raise SettingsError("So many points are not drawn.", "Reload the page.")
    found = (peaks.outline(path, buckets) * 127).round().astype(int)
    return {"peaks": found.tolist(), "seconds": _seconds(path)}


def spectrogram(desk: Desk, sound: str) -> Served:
    path = samples.find(desk.workspace, sound)
    return Served(peaks.png(peaks.spectrogram(path)), "image/png", keeps=True)


def measured(
    desk: Desk,
    sound: str,
    text: str = "",
    language: str = "",
    real: str = "",
    real_text: str = "",
    similarity: float | None = None,
    character_errors: float | None = None,
) -> list[figures.Figure]:
    """Small figures of a sound, each with its meaning, beside the real voice where there is one."""
    found = _measured(samples.find(desk.workspace, sound), said(text, language))
    beside = (
        _measured(samples.find(desk.workspace, real), said(real_text, language)) if real else None
    )
    return figures.figures(found, beside, similarity, character_errors)


@lru_cache(maxsize=512)  # what was spoken never changes
def _measured(path: Path, spoken: str) -> Measured:
    import soundfile

    samples_read, rate = soundfile.read(path, dtype="float32")
    return figures.measure(Sound(samples_read, rate), spoken)


def _seconds(path: Path) -> float:
    import soundfile

    return float(soundfile.info(path).duration)


def sound(desk: Desk, sound: str) -> Served:
    """A sound, to play."""
    path = samples.find(desk.workspace, sound)
    return Served(path, _TYPES.get(path.suffix, "application/octet-stream"), keeps=True)


# ---- Blind ----


def begin(
    desk: Desk, kind: Kind, one: str, other: str, pairs: list[dict[str, str]], trials: int
) -> dict[str, Any]:
    """Begin a blind comparison of two, by the sentences that both have said."""
    both = [Pair(each["text"], each["one"], each["other"]) for each in pairs if _is_pair(each)]
    for each in both:  # what is not there would break off a comparison in the middle
        samples.find(desk.workspace, each.one)
        samples.find(desk.workspace, each.other)
    return _session(Comparisons(desk.workspace).start(kind, one, other, both, trials))


def _is_pair(each: dict[str, str]) -> bool:
    return {"text", "one", "other"} <= each.keys()


def comparisons(desk: Desk) -> list[dict[str, Any]]:
    """All that were begun, the newest first."""
    return [_session(each) for each in Comparisons(desk.workspace).all()]


def comparison(desk: Desk, id: str) -> dict[str, Any]:
    return _session(Comparisons(desk.workspace).find(id))


def answer(desk: Desk, id: str, number: int, choice: Choice) -> dict[str, Any]:
    return _session(Comparisons(desk.workspace).answer(id, number, choice))


def undo(desk: Desk, id: str) -> dict[str, Any]:
    return _session(Comparisons(desk.workspace).undo(id))


def _session(session: Session) -> dict[str, Any]:
    """A comparison for the page, which is not told which is which before all is answered."""
    what, trial = session.comparison, session.trial
    return {
        "id": what.id,
        "kind": what.kind,
        "one": what.one,
        "other": what.other,
        "trials": what.trials,
        "made": what.made,
        "answered": len(session.answers),
        "trial": {"number": trial.number, "text": trial.text} if trial else None,
        "result": session.result,
    }


def trial_sound(desk: Desk, id: str, number: int, side: Literal["left", "right", "x"]) -> Served:
    """What is heard on a side of the trial that is shown; its address does not say which it is."""
    trial = Comparisons(desk.workspace).find(id).trial
    if trial is None or trial.number != number:
        raise ConflictError("This trial was answered already.", "Go on with the one that is shown.")
    address = {"left": trial.left, "right": trial.right, "x": trial.x}[side]
    if address is None:
        raise NotFoundError("There is no X in this comparison.", "Reload the page.")
    path = samples.find(desk.workspace, address)
    return Served(path.read_bytes(), _TYPES.get(path.suffix, "application/octet-stream"))


CALLS: dict[str, Call] = {
    "compare.heard": heard,
    "compare.others": others,
    "compare.outline": outline,
    "compare.figures": measured,
    "compare.begin": begin,
    "compare.all": comparisons,
    "compare.one": comparison,
    "compare.answer": answer,
    "compare.undo": undo,
}
FILES: dict[str, Call] = {
    "compare.sound": sound,
    "compare.spectrogram": spectrogram,
    "compare.trial": trial_sound,
}
