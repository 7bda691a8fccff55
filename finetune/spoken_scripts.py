"""
Whole scripts spoken with a voice, each in a folder of its own until somebody deletes it.

    workspace/spoken/<id>/script.json  which voice speaks it, how, and the job that does
                          script.txt   what is spoken: a text, subtitles, or a table
                          speech.mp3   what came of it; of a table, a file for each line
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from engines.errors import NotFoundError, SettingsError
from finetune import submitting
from finetune.jobs import queue
from finetune.jobs.queue import Job
from finetune.speaking import SpeakWish
from voices import files, names, spoken
from voices.library import Voice
from voices.speaking.formats import KINDS
from voices.workspace import Workspace, now

FACTS = "script.json"


@dataclass(frozen=True, slots=True)
class SpokenScript:
    """A script, and how it stands."""

    id: str
    voice: str
    """The id of who speaks it."""
    voice_name: str
    name: str
    """What the person called the script."""
    kind: str
    seed: int
    lufs: float | None
    made: str
    job: str


def submit(
    workspace: Workspace,
    voice: Voice,
    script: Path | str,
    *,
    name: str,
    kind: str,
    language: str,
    seed: int,
    manners: dict[str, float],
    lufs: float | None,
) -> SpokenScript:
    """
    Queue a script, which is a file or a text that was typed; what is kept is a copy of it.

    One that cannot be spoken leaves nothing.
    """
    if kind not in KINDS:
        raise SettingsError(f"There is no kind {kind!r}.", f"Choose {', '.join(KINDS)}.")
    id = names.new_id()
    folder = spoken.folder_of(workspace) / id
    files.make_folder(folder)
    try:
        kept = _copied(script, folder)
        wish = SpeakWish(
            *(str(workspace.root), voice.id, str(kept), str(folder / f"speech.{kind}")),
            *(language, seed, manners, lufs),
        )
        job = submitting.submit_speaking(workspace, wish, f"Speak {name}", replaces=False)
        made = SpokenScript(id, voice.id, voice.name, name, kind, seed, lufs, now(), job.id)
        files.write_json(folder / FACTS, {"v": 1, **asdict(made)})
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return made


def _copied(script: Path | str, folder: Path) -> Path:
    if isinstance(script, str):
        kept = folder / "script.txt"
        files.write_bytes(kept, script.encode())
    else:
        kept = folder / f"script{script.suffix.lower()}"
        shutil.copyfile(script, kept)
    return kept


def all_of(workspace: Workspace, voice: str = "") -> list[SpokenScript]:
    """The scripts of one voice or of any, the newest first."""
    found = (_read(path) for path in spoken.folder_of(workspace).glob(f"*/{FACTS}"))
    wanted = [each for each in found if each and voice in ("", each.voice)]
    return sorted(wanted, key=lambda each: (each.made, each.id), reverse=True)


def find(workspace: Workspace, id: str) -> SpokenScript:
    path = spoken.folder_of(workspace) / id / FACTS
    found = _read(path) if names.is_id(id) and path.is_file() else None
    if found is None:
        raise NotFoundError("This script is not there any more.", "Have it spoken again.")
    return found


def job_of(workspace: Workspace, script: SpokenScript) -> Job | None:
    """The job that speaks it; None where nobody knows of it any more."""
    try:
        return queue.find(workspace, script.job)
    except NotFoundError:
        return None


def files_of(workspace: Workspace, script: SpokenScript) -> list[Path]:
    """What came of it until now, in the order in which it is spoken."""
    folder = spoken.folder_of(workspace) / script.id
    return sorted(folder.glob(f"*.{script.kind}"), key=lambda path: path.stat().st_mtime_ns)


def delete(workspace: Workspace, id: str) -> None:
    """Delete one for good; raise SettingsError while it is spoken."""
    script = find(workspace, id)
    job = job_of(workspace, script)
    if job is not None and job.state != "ended":
        raise SettingsError(f"{script.name} is being spoken.", "Stop that first.")
    here = spoken.folder_of(workspace)
    files.remove_folder(here / script.id)
    wish = Path(job.request.argv[-1]) if job else None
    if wish is not None and wish.parent == here:
        wish.unlink(missing_ok=True)


def _read(path: Path) -> SpokenScript | None:
    try:
        said = json.loads(path.read_bytes())
        said.pop("v", None)
        return SpokenScript(**said)
    except (OSError, ValueError, TypeError):
        return None
