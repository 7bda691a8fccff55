"""
A voice as one file to take along: `python -m finetune.packed_voices WISH.json` in a job's folder.

It is packed into the workspace's cache; its note is written last, so that a file with a note is
whole. Wished for again, it is there already, for as long as the voice stays as it is.

    cache/voices/<id>/timbre.json              what was wished for
                      <state>-timbre/          one packing of the voice as it was in that state
                      <state>-zip-coqui/       voice.zip, and packed.json
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

from engines.errors import DiskFullError, EngineError, NotFoundError, SettingsError
from finetune import voice_export
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.queue import Job
from finetune.jobs.telling import Telling
from finetune.jobs.worker import Job as Work
from finetune.jobs.worker import StopWork, run
from finetune.submitting import END_SECONDS
from voices import files, library, names, travel
from voices.library import Voice
from voices.workspace import Workspace, open_workspace

KIND = "pack"
NOTE = "packed.json"
Kind = Literal["timbre", "zip"]
"""One file for another Timbre, or the folder of another program."""

# Between two looks for a wish to stop, a large voice is hashed as a whole.
_STOP_SECONDS = 30.0
_BLOCK = 1 << 20
# Another number when the same voice is packed otherwise.
_FORM = 1
_SPARE_BYTES = 50_000_000
_SHOWN_ENDED = 20


@dataclass(frozen=True)
class PackWish:
    """What is to be packed, as it is kept in a file."""

    workspace: str
    voice: str
    kind: Kind
    form: str = ""
    """What a .zip is written for, as the engine names it; "" is the engine's folder as it is."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A file that is ready to be taken along."""

    id: str
    """The name of its folder in the cache."""
    path: Path
    bytes: int
    form: str = ""


@dataclass(frozen=True, slots=True)
class Packing:
    """A form in which a voice can be taken along, and how that stands."""

    kind: Kind
    form: str
    packed: Packed | None
    job: Job | None
    """The last that was to pack it and has not."""


def submit(workspace: Workspace, voice: Voice, kind: Kind, form: str = "") -> Job | None:
    """Queue the packing of a voice; None when it is there already."""
    _refuse_trashed(voice)
    wish = PackWish(str(workspace.root.absolute()), voice.id, kind, _meant(voice, kind, form))
    place = _place(workspace, voice, wish)
    if _read(place):
        return None
    _refuse_without_room(voice, wish, workspace.cache)
    path = place.with_name(f"{place.name.partition('-')[2]}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, {"v": 1, **asdict(wish)})
    request = Request(
        KIND,
        f"Pack {voice.name}",
        (sys.executable, "-m", "finetune.packed_voices", str(path.absolute())),
        f"voice-{voice.id}",
        once=_once(place),
        save_seconds=_STOP_SECONDS,
        end_seconds=END_SECONDS,
    )
    return queue.submit(workspace, request)


def packings(workspace: Workspace, voice: Voice) -> list[Packing]:
    """Every form that a voice can be taken along in, that for another Timbre first."""
    jobs = [each for each in queue.jobs(workspace, _SHOWN_ENDED) if each.request.kind == KIND]
    return [_packing(workspace, voice, kind, form, jobs) for kind, form in _forms(voice)]


def find(workspace: Workspace, voice: Voice, packed_id: str) -> Packed:
    """Find a file by its id; raise NotFoundError for one of what the voice is no more."""
    _refuse_trashed(voice)
    for kind, form in _forms(voice):
        packed = _read(_place(workspace, voice, PackWish("", voice.id, kind, form)))
        if packed and packed.id == packed_id:
            return packed
    raise NotFoundError("This file is not there any more.", "Pack the voice again.")


def read_wish(path: Path) -> PackWish:
    """Read a wish; what only a newer Timbre knows is left out."""
    said = json.loads(path.read_bytes())
    return PackWish(
        **{each.name: said[each.name] for each in fields(PackWish) if each.name in said}
    )


def work(job: Work, wish: PackWish) -> str:
    """Pack a voice as it is now."""
    with closing(open_workspace(Path(wish.workspace))) as workspace:
        voice = _there(workspace, wish.voice)
        with _says_when_it_is_deleted(voice):
            place = _place(workspace, voice, wish)
            packed = _read(place) or _pack(job, voice, wish, place)
    return f"{voice.name} is packed, {packed.bytes / 1e6:,.1f} MB."


# ---- What there is ----


def _forms(voice: Voice) -> list[tuple[Kind, str]]:
    try:
        others = voice_export.forms(voice.engine)
    except EngineError:  # of an engine that this Timbre does not have
        others = []
    return [("timbre", ""), *(("zip", form) for form in others)]


def _meant(voice: Voice, kind: Kind, form: str) -> str:
    if kind == "timbre" and form:
        raise SettingsError("A .timbre file has one form only.", "Leave the form out.")
    return voice_export.form_of(voice.engine, form) if kind == "zip" else ""


def _packing(workspace: Workspace, voice: Voice, kind: Kind, form: str, jobs: list[Job]) -> Packing:
    place = _place(workspace, voice, PackWish("", voice.id, kind, form))
    packed = _read(place)
    job = next((each for each in jobs if each.request.once == _once(place)), None)
    return Packing(kind, form, packed, None if packed else job)


def _place(workspace: Workspace, voice: Voice, wish: PackWish) -> Path:
    """Where it is packed: another place when anything else would be in the file."""
    name = "-".join(filter(None, [_state(voice), wish.kind, wish.form]))
    return workspace.cache / "voices" / voice.id / name


def _state(voice: Voice) -> str:
    """What is packed of a voice, and how: its files, its name in the library, its consent."""
    sealed = {name: each.sha256 for name, each in files.read_manifest(voice.folder).items()}
    said = json.dumps([_FORM, sealed, voice.name, asdict(voice.consent)], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def _once(place: Path) -> str:
    return f"{KIND}-{place.parent.name}-{place.name}"


def _read(place: Path) -> Packed | None:
    """The file that was packed there; None when it is not there, or not whole."""
    try:
        said = json.loads((place / NOTE).read_bytes())
        path = place / said["file"]
        return Packed(place.name, path, path.stat().st_size, said.get("form", ""))
    except FileNotFoundError:  # the cache can be deleted at any time
        return None


# ---- What cannot be packed ----


def _there(workspace: Workspace, voice_id: str) -> Voice:
    try:
        found = library.find(workspace, voice_id)
    except NotFoundError as error:
        raise _deleted() from error
    _refuse_trashed(found)
    return found


@contextmanager
def _says_when_it_is_deleted(voice: Voice) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if voice.folder.is_dir():
            raise
        raise _deleted() from error


def _deleted() -> NotFoundError:
    return NotFoundError("The voice was deleted meanwhile.", "Choose another one.")


def _refuse_trashed(voice: Voice) -> None:
    if voice.item.trashed:
        raise NotFoundError(f"The voice {voice.name} is in the trash.", "Take it back first.")


def _refuse_without_room(voice: Voice, wish: PackWish, folder: Path) -> None:
    # A folder lies beside its .zip until that is there.
    need = _SPARE_BYTES + _size(voice) * (2 if wish.kind == "zip" else 1)
    free = shutil.disk_usage(folder).free
    if free < need:
        raise DiskFullError(
            f"Packing {voice.name} takes about {need / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB is"
            " free.",
            "Free some space and try again; what was there before is unchanged.",
        )


def _size(voice: Voice) -> int:
    return sum(each.size for each in files.read_manifest(voice.folder).values())


# ---- Packing ----


def _pack(job: Work, voice: Voice, wish: PackWish, place: Path) -> Packed:
    shutil.rmtree(place, ignore_errors=True)  # of a packing that was cut off
    place.parent.mkdir(parents=True, exist_ok=True)
    files.make_folder(place)
    try:
        path = place / f"voice.{wish.kind}"
        if wish.kind == "timbre":
            # Each byte is looked at, then written.
            travel.pack(voice, path, _adding(_telling(job, "MB packed", _size(voice), share=0.5)))
        else:
            _zip(job, voice, wish.form, path)
        files.write_json(place / NOTE, {"v": 1, "file": path.name, "form": wish.form})
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    _remove_older(place)
    return Packed(place.name, path, path.stat().st_size, wish.form)


def _zip(job: Work, voice: Voice, form: str, path: Path) -> None:
    """Write it as another program has it, and pack that folder."""
    inside = path.with_name("folder")
    inside.mkdir()
    folder = inside / (names.for_disk(voice.name) or "voice")
    facts = travel.facts_to_tell(voice)
    # In another form it is about as large as here.
    written = _telling(job, "MB written", _size(voice))
    voice_export.export_voice(voice.folder, folder, form, facts=facts, told=written)
    paths = sorted(each for each in inside.rglob("*") if each.is_file())
    size = sum(each.stat().st_size for each in paths)
    told = _adding(_telling(job, "MB packed", size))
    with files.new_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for each in paths:
            _add(archive, each, each.relative_to(inside).as_posix(), told)
    shutil.rmtree(inside)


def _add(archive: zipfile.ZipFile, path: Path, name: str, told: Callable[[int], None]) -> None:
    # Not pressed together: weights hardly get smaller so, and would take minutes.
    about = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
    with path.open("rb") as source, archive.open(about, "w") as target:
        while block := source.read(_BLOCK):
            target.write(block)
            told(len(block))


def _telling(job: Work, unit: str, size: int, share: float = 1.0) -> Callable[[int], None]:
    """Tell how many bytes are done, never more than there are; end where somebody asks for it."""
    telling = Telling(job.say, unit, size / 1e6)

    def at(done: int) -> None:
        if job.stop_wanted():
            raise StopWork("Stopped while packing.")
        telling.at(min(done * share, size) / 1e6)

    return at


def _adding(at: Callable[[int], None]) -> Callable[[int], None]:
    """Take what is done more each time, where `at` takes how much is done."""
    done = 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        at(done)

    return more


def _remove_older(place: Path) -> None:
    """Remove what was packed of the voice as it was before."""
    state = place.name.partition("-")[0]
    for other in place.parent.iterdir():
        if other.is_dir() and not other.name.startswith(f"{state}-"):
            (other / NOTE).unlink(missing_ok=True)  # first: nothing half is offered
            shutil.rmtree(other, ignore_errors=True)  # what is just sent stays on Windows


if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, read_wish(Path(sys.argv[1]))))
    )
