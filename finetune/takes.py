"""Takes of prompts on their way into a project, and how each prompt of a set stands."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from engines.errors import NotFoundError, TextError
from finetune import projects
from finetune.jobs import queue
from finetune.jobs.folder import Request
from finetune.jobs.queue import Job
from finetune.projects import Project
from finetune.texts import prompts
from finetune.texts.prompts import Prompt, Prompts
from voices import files, names
from voices.shelf import Item
from voices.workspace import Workspace

OURS = {"english": "en"}
"""The sets of prompts that come with Timbre, with their languages."""
_TAKE = re.compile(r"(?P<prompts>.+) (?P<number>\d{3,}), take (?P<take>\d+)")
_FOLDER, _SETS = "takes", "prompts"

State = Literal["waiting", "good", "again"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A take that is to be looked at."""

    id: str
    place: int
    prompts: str
    """What the set of prompts is called."""
    number: int
    text: str
    language: str = ""

    @property
    def prompt(self) -> Prompt:
        return Prompt(self.number, self.text)


@dataclass(frozen=True, slots=True)
class Read:
    """How a prompt stands that was read at least once."""

    number: int
    state: State
    said: str = ""
    """What is wrong with the last take."""
    seconds: float = 0.0
    """Of the take that is in use."""
    recording: str = ""


def is_take(name: str) -> bool:
    """Whether a recording was read from a prompt: then its words are known."""
    return _TAKE.fullmatch(name) is not None


def sets(project_folder: Path) -> list[str]:
    """The sets of prompts there are: ours, then those that a person brought."""
    return [*OURS, *sorted(path.stem for path in (project_folder / _SETS).glob("*.txt"))]


def prompts_of(project_folder: Path, name: str) -> Prompts:
    if name in OURS:
        return prompts.own(OURS[name])
    if name not in sets(project_folder):
        raise NotFoundError(f"There are no prompts called {name!r:.80}.", "Choose others.")
    return prompts.from_file(project_folder / _SETS / f"{name}.txt")


def keep_set(project_folder: Path, path: Path, name: str) -> str:
    """Keep a person's own prompts; give the name they have from now on."""
    if not prompts.from_file(path).prompts:
        raise TextError(f"{name} has no sentence to read.", "Write one sentence a line.")
    folder = project_folder / _SETS
    folder.mkdir(exist_ok=True)
    stem = re.sub(r"[^\w .()-]", "_", Path(name).stem).strip(" .")[:60] or "own"
    free = stem if stem not in sets(project_folder) else f"{stem} {names.new_id()[:4]}"
    files.write_bytes(folder / f"{free}.txt", path.read_bytes())
    return free


def leave(project_folder: Path, sound: Path, called: str, prompt: Prompt, language: str) -> None:
    """Lay a take down for the job that looks at it; the note is written last."""
    folder = project_folder / _FOLDER
    folder.mkdir(exist_ok=True)
    place = max((each.place for each in waiting(project_folder)), default=0) + 1
    note = Waiting(names.new_id(), place, called, prompt.number, prompt.text, language)
    sound.rename(folder / f"{note.id}.wav")
    files.write_json(folder / f"{note.id}.json", {"v": 1, **asdict(note)})


def waiting(project_folder: Path) -> list[Waiting]:
    """Takes that nobody has looked at yet, the first first."""
    found = []
    for path in (project_folder / _FOLDER).glob("*.json"):
        try:
            said = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):  # it was looked at meanwhile
            continue
        if path.with_suffix(".wav").exists():  # else it was looked at, and a cut left the note
            found.append(Waiting(**{key: said[key] for key in said if key != "v"}))
    return sorted(found, key=lambda each: each.place)


def sound_of(project_folder: Path, take: Waiting) -> Path:
    return project_folder / _FOLDER / f"{take.id}.wav"


def settle(project_folder: Path, take: Waiting, refused: Sequence[str]) -> None:
    """Note that a take was looked at, and why nothing could be made of it; the note goes last."""
    told = project_folder / _FOLDER / "refused" / f"{take.prompts} {take.number:03d}.json"
    if refused:
        told.parent.mkdir(exist_ok=True)
        files.write_json(told, {"v": 1, "said": " ".join(refused)})
    else:
        told.unlink(missing_ok=True)
    sound_of(project_folder, take).unlink(missing_ok=True)
    (project_folder / _FOLDER / f"{take.id}.json").unlink(missing_ok=True)


def submit(workspace: Workspace, project: Item) -> Job:
    """Queue the look at takes; the job at work takes those that come while it is."""
    folder = projects.folder_of(workspace, project)
    argv = (sys.executable, "-m", "finetune.taking", str(folder))
    request = Request("record", f"Check takes of {project.name}", argv, once=_once(project))
    return queue.submit(workspace, request)


def look_again(workspace: Workspace, project: Item) -> None:
    """Queue the look at takes that wait, unless the last one failed: so would each that follows."""
    looks = (job for job in queue.jobs(workspace) if job.request.once == _once(project))
    last = next((job.outcome for job in looks), None)
    if last is None or last.cause in ("finished", "stopped", "interrupted"):
        submit(workspace, project)


def _once(project: Item) -> str:
    return f"takes-{project.id}"


def read_so_far(project: Project, called: str) -> list[Read]:
    """How each prompt of a set stands that was read."""
    found = {each.number: each for each in _kept(project, called)}
    for path in (project.folder / _FOLDER / "refused").glob("*.json"):
        prompts, _, last = path.stem.rpartition(" ")
        number = int(last)
        if prompts == called and number not in found:
            with suppress(FileNotFoundError):  # it was read well meanwhile
                found[number] = Read(number, "again", json.loads(path.read_bytes())["said"])
    for each in waiting(project.folder):
        if each.prompts == called:
            found[each.number] = Read(each.number, "waiting")
    return [found[number] for number in sorted(found)]


def _kept(project: Project, called: str) -> list[Read]:
    """The last word on each prompt of the takes that became clips: one that is used, or the last."""
    numbered = {}
    for recording in project.recordings.all():
        match = _TAKE.fullmatch(recording.name)
        if match and match["prompts"] == called:
            numbered[recording.id] = int(match["number"])
    found: dict[int, Read] = {}
    for clip in project.transcript.clips():
        values = clip.values
        number = numbered.get(values.recording)
        if number is None or values.gone:
            continue
        seconds = values.end - values.start
        if values.included:
            found[number] = Read(number, "good", "", seconds, values.recording)
        elif number not in found or found[number].state != "good":
            found[number] = Read(number, "again", values.reason, 0.0, values.recording)
    return list(found.values())
