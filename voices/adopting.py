"""Voices of other programs into the library: whole, with what they are spoken like, or not at all."""

from __future__ import annotations

import io
import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import engines
from engines import foreign
from engines.errors import AudioError, DiskFullError, EngineError, SettingsError
from engines.foreign import Foreign
from voices import apart, files, library, names
from voices.bundle import KEPT_FREE_BYTES
from voices.library import ENGINE, FACTS, REFERENCE, Consent, Voice
from voices.workspace import Workspace, now

# What of another program is chosen by one of its files instead of by its folder.
_PARTS = frozenset({".pth", ".pt", ".safetensors", ".json", ".onnx"})
_NAMED = ("reference.wav",)
_CLIPS = "wavs"
# An engine listens to half a minute at most. Of clips, those of 3 to 12 s are best.
_SHORTEST_S, _LONGEST_S, _LONGEST_CLIP_S = 1.0, 30.0, 12.0
_MOST_CLIPS, _MOST_CHANNELS = 2000, 8
_NEEDED = "Name a recording of the voice, of 3 to 12 s, as its reference (--reference FILE)."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be taken in, once nothing speaks against it that is seen at once."""

    found: Foreign
    name: str
    language: str
    reference: Path | None
    """A recording that it is to be spoken like; None: what lies beside it."""


def is_foreign(path: Path) -> bool:
    """Whether this is for here, and no packed voice."""
    return path.is_dir() or path.suffix.lower() in _PARTS


def languages() -> list[str]:
    """What the engines speak that take voices of other programs in."""
    return sorted({each for name in foreign.ADOPTED for each in engines.find(name).languages})


def look(path: Path, name: str = "", language: str = "", reference: Path | None = None) -> Wanted:
    """Find out by its light files what it is; raise StudioError for what cannot be taken in."""
    found = foreign.recognise(path)
    called = names.clean(name or found.folder.resolve().name)
    spoken = _language(found, language)
    if reference:
        _refuse_length(reference)
    return Wanted(found, called, spoken, reference)


def adopt(
    workspace: Workspace, wanted: Wanted, meanwhile: Callable[[], None] = lambda: None
) -> Voice:
    """
    Take a voice in as another program left it; nothing of it is run, and nothing there changes.

    It is spoken like its reference, else like what lies beside it. Nobody was asked whose it is.
    Raise StudioError for what cannot be taken; then nothing is left behind. `meanwhile` is called
    several times a second; what it raises ends the work in the same way.
    """
    folder = wanted.found.folder
    heard = _flac(wanted.reference) if wanted.reference else _reference_in(folder)
    _refuse_without_room(folder, workspace.voices)
    voice_id = names.new_id()
    with files.new_folder(workspace.voices / voice_id) as new:
        (new / ENGINE).mkdir()
        _adopt(wanted.found, new / ENGINE, meanwhile)
        (new / REFERENCE).write_bytes(heard)
        files.write_json(new / FACTS, _facts(wanted))
    return library.list_one(workspace, voice_id, wanted.name, Consent())


def _language(found: Foreign, wished: str) -> str:
    engine, language = engines.find(found.engine), wished.strip().lower() or found.language
    if not language:
        raise SettingsError(
            "Its files do not say which language it speaks.",
            f"Name its language (--language), one of {', '.join(sorted(engine.languages))}.",
        )
    if not engine.speaks(language):
        raise SettingsError(
            f"{engine.title} does not speak {language!r}.",
            f"It speaks {', '.join(sorted(engine.languages))}.",
        )
    return language


def _facts(wanted: Wanted) -> dict[str, Any]:
    engine = engines.find(wanted.found.engine)
    return {
        "v": 1,
        "name": wanted.name,
        "engine": engine.name,
        "language": wanted.language,
        "licence": {"code": engine.licence, "base": [each.licence for each in engine.bases]},
        "from": {"program": wanted.found.about},
        "why": "",
        "scores": {},
        "made": now(),
        "sample_text": "",
        "reference_text": "",
    }


def _refuse_without_room(folder: Path, target: Path) -> None:
    size = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
    free = shutil.disk_usage(target).free
    if size > free - KEPT_FREE_BYTES:
        raise DiskFullError(
            f"The voice takes up to {size / 1e6:,.0f} MB, {free / 1e6:,.0f} MB is free, and"
            f" {KEPT_FREE_BYTES / 1e9:.0f} GB stays free for everything else.",
            "Free some space and take the voice in again.",
        )


# ---- What it is spoken like ----


def _reference_in(folder: Path) -> bytes:
    """The folder's own reference, else the longest of its clips that is not too long."""
    for name in _NAMED:
        if (folder / name).is_file():
            return _flac(folder / name)
    lengths = {path: _seconds(path) for path in _clips(folder / _CLIPS)}
    fitting = [path for path, s in lengths.items() if _SHORTEST_S <= s <= _LONGEST_CLIP_S]
    if not fitting:
        raise AudioError(
            f"{folder.name} has nothing that the voice could be spoken like: neither"
            f" {_NAMED[0]} nor a clip of up to {_LONGEST_CLIP_S:.0f} s in {_CLIPS}/.",
            _NEEDED,
        )
    return _flac(max(fitting, key=lambda path: lengths[path]))


def _clips(folder: Path) -> Iterator[Path]:
    return iter(sorted(islice(folder.rglob("*.wav"), _MOST_CLIPS)))


def _seconds(path: Path) -> float:
    import soundfile

    with suppress(OSError, soundfile.LibsndfileError):
        info = soundfile.info(path)
        return float(info.duration) if info.channels <= _MOST_CHANNELS else 0.0
    return 0.0  # what cannot be read is no clip


def _flac(path: Path) -> bytes:
    """A recording as a voice keeps it: one channel, and nothing that was written beside the sound."""
    import soundfile

    _refuse_length(path)
    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        written = io.BytesIO()
        soundfile.write(written, samples.mean(axis=1), rate, format="FLAC", subtype="PCM_16")
    except (OSError, soundfile.LibsndfileError) as error:
        raise AudioError(f"{path.name} cannot be read to its end ({error}).", _NEEDED) from error
    return written.getvalue()


def _refuse_length(path: Path) -> None:
    seconds = _seconds(path)
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        length = f"lasts {seconds:.1f} s" if seconds else "cannot be read as sound"
        raise AudioError(f"{path.name} {length}: the voice cannot be spoken like it.", _NEEDED)


# ---- The engine's part ----


def _adopt(found: Foreign, into: Path, meanwhile: Callable[[], None]) -> None:
    """Have it taken in by a process of its own."""
    given = [found.engine, str(found.folder.absolute()), str(into.absolute())]
    done = apart.run(foreign.__name__, given, meanwhile)
    if done.returncode == foreign.REFUSED:
        what, fix = json.loads(done.stdout.splitlines()[-1])
        raise EngineError(what, fix)
    if done.returncode:
        _log.error("Taking in %s failed:\n%s", found.folder, done.stderr)
        raise EngineError(
            f"The voice could not be taken in: its reader ended with code {done.returncode}.",
            "Make room if the disk is full or memory short; else report this with the log.",
        )
