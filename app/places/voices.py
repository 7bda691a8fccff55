"""Voices: the library, and voices that travel. Speaking, what was spoken and comparing have files of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import engines
from app.places import comparing, kept, speaking
from app.places.frame import job_facts
from app.screen import uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from app.screen.served import Served
from engines.errors import EngineError, NotFoundError
from finetune import adopted_voices, packed_voices, projects, submitting
from voices import adopting, library, names, pictures, travel
from voices.comparing import figures
from voices.comparing.figures import Figure, Measured
from voices.library import REFERENCE, SAMPLE, Consent, Voice

_TOLD = ("Likeness", "Misheard")


# ---- The library ----


def shown(desk: Desk, search: str = "", tag: str = "") -> dict[str, Any]:
    """The voices that a search and a tag leave, every tag there is, and the trash."""
    every = library.listed(desk.workspace)
    wanted = {names.key(tag)} if tag else set()
    return {
        "voices": [
            card(each)
            for each in every
            if each.matches(search) and wanted <= {names.key(own) for own in each.tags}
        ],
        "count": len(every),
        "tags": sorted({own for each in every for own in each.tags}, key=str.casefold),
        "trashed": [card(each) for each in library.listed(desk.workspace, trashed=True)],
    }


def one(desk: Desk, voice: str) -> dict[str, Any]:
    """All that is known of a voice."""
    found = library.find(desk.workspace, voice)
    said = found.facts
    return {
        **card(found),
        "figures": _figures(said.get("scores") or {}),
        "why": said.get("why") or "",
        "licence": said.get("licence") or {},
        "from": _from(desk, found),
        "settings": said.get("settings") or {},
        "sample_text": said.get("sample_text") or "",
        "reference_text": said.get("reference_text") or "",
    }


def card(voice: Voice) -> dict[str, Any]:
    """A voice in the list."""
    there = {name: (voice.folder / name).is_file() for name in (SAMPLE, REFERENCE)}
    picture = pictures.find(voice.folder)
    return {
        "id": voice.id,
        "name": voice.name,
        "engine": voice.engine,
        "title": _title(voice),
        "language": voice.language,
        "tags": list(voice.tags),
        "favourite": voice.favourite,
        "trashed": voice.item.trashed,
        "whose": voice.consent.whose,
        "agreed": voice.consent.agreed,
        "scores": voice.facts.get("scores") or {},
        "made": voice.facts.get("made") or voice.item.created_at,
        "sample": there[SAMPLE],
        "reference": there[REFERENCE],
        "picture": picture.stat().st_mtime_ns // 1_000_000 if picture else None,
    }


def _title(voice: Voice) -> str:
    try:
        return engines.find(voice.engine).title
    except EngineError:  # of an engine that this Timbre does not have
        return voice.engine


def _figures(scores: Mapping[str, Any]) -> list[Figure]:
    """How like the real voice it is and how well understood, as they were told at its end."""
    unheard = Measured(None, None, None, 0.0, 0.0)
    found = figures.figures(unheard, None, scores.get("similarity"), scores.get("character_errors"))
    return [each for each in found if each.name in _TOLD]


def _from(desk: Desk, voice: Voice) -> dict[str, Any]:
    """Where it came from; its project by name where that is still here."""
    said = voice.facts.get("from")
    came = dict(said) if isinstance(said, Mapping) else {}
    try:
        came["project_name"] = projects.shelf(desk.workspace).find(str(came["project"])).name
    except (KeyError, NotFoundError):
        came["project_name"] = ""
    return came


def rename(desk: Desk, voice: str, name: str) -> dict[str, Any]:
    library.shelf(desk.workspace).rename(voice, name)
    return _card(desk, voice)


def tag(desk: Desk, voice: str, add: list[str], remove: list[str]) -> dict[str, Any]:
    library.tag(desk.workspace, library.find(desk.workspace, voice), add, remove)
    return _card(desk, voice)


def favour(desk: Desk, voice: str, favourite: bool) -> dict[str, Any]:
    library.favour(desk.workspace, library.find(desk.workspace, voice), favourite)
    return _card(desk, voice)


def consent(desk: Desk, voice: str, whose: str, agreed: bool | None) -> dict[str, Any]:
    """Keep whose voice it is, and what its owner says."""
    found = library.find(desk.workspace, voice)
    library.record_consent(desk.workspace, found, Consent(whose, agreed))
    return _card(desk, voice)


def trash(desk: Desk, voice: str) -> dict[str, Any]:
    library.shelf(desk.workspace).trash(voice)
    return _card(desk, voice)


def restore(desk: Desk, voice: str) -> dict[str, Any]:
    library.shelf(desk.workspace).restore(voice)
    return _card(desk, voice)


def picture(desk: Desk, voice: str, upload: str) -> dict[str, Any]:
    """Give a voice the picture that was sent, or none."""
    found = library.find(desk.workspace, voice)
    if not upload:
        pictures.remove(found.folder)
        return card(found)
    path = uploads.find(desk.uploads, upload)
    with path.open("rb") as file:  # no more than tells that it is too much
        pictures.keep(found.folder, file.read(pictures.MOST_BYTES + 1))
    uploads.discard(desk.uploads, upload)
    return card(found)


def _card(desk: Desk, voice: str) -> dict[str, Any]:
    return card(library.find(desk.workspace, voice))


# ---- In and out ----


def take_in(
    desk: Desk,
    upload: str = "",
    path: str = "",
    name: str = "",
    language: str = "",
    reference: str = "",
) -> dict[str, Any]:
    """
    Take a voice in, that was sent or that lies at a path; what is refused leaves nothing.

    One of another program is converted, which takes minutes: then there is a job, and no voice yet.
    """
    if upload:
        return {"voice": _received(desk, upload, name), "job": None}
    source = submitting.there(path)
    if adopting.is_foreign(source):
        job = adopted_voices.submit(desk.workspace, source, name, language, reference)
        return {"voice": None, "job": job.id}
    return {"voice": card(travel.unpack(desk.workspace, source, name)), "job": None}


def _received(desk: Desk, upload: str, name: str) -> dict[str, Any]:
    path = uploads.find(desk.uploads, upload)
    try:
        if adopting.is_foreign(path):
            raise EngineError(
                f"{path.name} is one file of a voice of another program.",
                "Type where the folder with all its files lies on this computer.",
            )
        return card(travel.unpack(desk.workspace, path, name))
    finally:
        uploads.discard(desk.uploads, upload)


def languages(desk: Desk) -> list[str]:
    """What voices of other programs may speak."""
    return adopting.languages()


def taken_in(desk: Desk, job: str) -> dict[str, Any]:
    """How a voice of another program comes in, and which one it became."""
    found = adopted_voices.find(desk.workspace, job)
    voice = adopted_voices.voice_of(found)
    return {"job": job_facts(found), "voice": _card(desk, voice) if voice else None}


def pack(desk: Desk, voice: str, kind: packed_voices.Kind, form: str = "") -> dict[str, Any]:
    """Have a voice packed, to be taken along; no job when it is packed already."""
    found = library.find(desk.workspace, voice)
    job = packed_voices.submit(desk.workspace, found, kind, form)
    return {"job": job.id if job else None}


def packings(desk: Desk, voice: str) -> list[dict[str, Any]]:
    """Every form that a voice can be taken along in: there, on its way, or to be asked for."""
    found = library.find(desk.workspace, voice)
    return [_packing(each) for each in packed_voices.packings(desk.workspace, found)]


def _packing(each: packed_voices.Packing) -> dict[str, Any]:
    there = each.packed
    return {
        "kind": each.kind,
        "form": each.form,
        "packed": {"id": there.id, "bytes": there.bytes} if there else None,
        "job": job_facts(each.job) if each.job else None,
    }


def packed(desk: Desk, voice: str, id: str) -> Served:
    """A voice as one file."""
    found = library.find(desk.workspace, voice)
    packed = packed_voices.find(desk.workspace, found, id)
    name = " ".join(filter(None, [found.name, packed.form]))
    path = packed.path
    return Served(path, "application/zip", f"{uploads.file_name(name)}{path.suffix}")


# ---- What is seen and heard of one ----


def portrait(desk: Desk, voice: str, at: int = 0) -> Served:
    """Its picture; `at` is when that was given, so that another one has another address."""
    found = pictures.find(library.find(desk.workspace, voice).folder)
    if found is None:
        raise NotFoundError("This voice has no picture.", "Give it one.")
    return Served(found, pictures.KINDS[found.suffix], keeps=True)


CALLS: dict[str, Call] = {
    "voices": shown,
    "voices.one": one,
    "voices.rename": rename,
    "voices.tag": tag,
    "voices.favour": favour,
    "voices.consent": consent,
    "voices.trash": trash,
    "voices.restore": restore,
    "voices.picture": picture,
    "voices.import": take_in,
    "voices.import.job": taken_in,
    "voices.import.languages": languages,
    "voices.pack": pack,
    "voices.packings": packings,
    **speaking.CALLS,
    **kept.CALLS,
    **comparing.CALLS,
}
FILES: dict[str, Call] = {
    "voices.packed": packed,
    "voices.portrait": portrait,
    **kept.FILES,
    **comparing.FILES,
}
STREAMS: dict[str, Call] = speaking.STREAMS
"""What comes piece by piece; each gives something Streamed."""
