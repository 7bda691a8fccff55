"""
Runs: one training each, with everything about it in a folder.

What a run is to do is written once, last of all that is laid out; how it stands is told from its
newest job and from what is on the disk, so that it is the same whoever asks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timezone
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args

from engines.errors import DamagedFolderError, NotFoundError
from finetune.jobs import queue
from finetune.jobs.events import Event, OfLearning, Step
from finetune.jobs.queue import Job
from finetune.settings import TrainSettings
from voices import files, names
from voices.library import Consent
from voices.workspace import Workspace

State = Literal["waiting", "running", "stopping", "stopped", "finished", "failed", "interrupted"]
AT_WORK: tuple[State, ...] = ("waiting", "running", "stopping")
_TAIL_BYTES = 64 * 1024
_TOLD: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(OfLearning)}


@dataclass(frozen=True)
class Plan:
    """What a run is to do, as it is kept in its folder; nothing in it changes afterwards."""

    name: str
    """What a person calls the run, and the voice that comes of it."""
    project: str
    """The project's id."""
    version: int
    """The frozen dataset it learns from."""
    engine: str
    base: str
    """The folder of the weights it starts from, as their owner has them."""
    sentences: tuple[str, ...] = ()
    """Spoken now and then to hear how it gets on; none: sentences of the language."""
    transcriber: str = ""
    """The folder or name of a Whisper that judges samples; empty: none does."""
    continues: str = ""
    """The run whose best weights it starts from, in place of the base's own."""
    extra: tuple[tuple[str, int], ...] = ()
    """Datasets of other projects mixed in against forgetting: project id and version."""
    extra_share: float = 0.2
    """How much of each epoch comes from those."""
    train: TrainSettings = field(default_factory=TrainSettings)
    engine_settings: dict[str, Any] = field(default_factory=dict)
    """Of the engine's own kind (Engine.settings)."""
    whose: str = ""
    """Whose voice it is; empty: nobody has said."""
    agreed: bool | None = None
    """Whether its owner agrees to its being used; None: nobody was asked."""

    @property
    def consent(self) -> Consent:
        return Consent(self.whose, self.agreed)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run as it stands on disk. `path.name` is its id."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def plan_path(self) -> Path:
        return self.path / "run.json"

    @property
    def shown_path(self) -> Path:
        """What a person made of it in the list: another name, the trash."""
        return self.path / "shown.json"

    @property
    def checkpoints(self) -> Path:
        """step-000123/ each, sealed (voices.files.new_folder)."""
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        """best-000123/ each, sealed: weights only, and best.json with the reason; the newest counts."""
        return self.path / "best"

    @property
    def samples(self) -> Path:
        """step-000123/ each, sealed: 00.flac, 01.flac, samples.json."""
        return self.path / "samples"

    @property
    def history_path(self) -> Path:
        """Every event of every job of this run that tells of learning, appended; a step done again
        after a resume is in it twice, and the later one counts."""
        return self.path / "history.jsonl"

    @property
    def machine_path(self) -> Path:
        """What GPU and computer did meanwhile (finetune.monitor.kept)."""
        return self.path / "machine.jsonl"

    @property
    def voice(self) -> Path:
        """The finished voice, sealed: what the engine saves, reference.flac, sample.flac,
        voice.json."""
        return self.path / "voice"

    @property
    def jobs_path(self) -> Path:
        """The ids of the jobs that worked on it, the newest last."""
        return self.path / "jobs.json"

    @property
    def is_finished(self) -> bool:
        return files.exists(self.voice)

    def job_ids(self) -> list[str]:
        noted: list[str] = (
            json.loads(self.jobs_path.read_bytes()) if self.jobs_path.exists() else []
        )
        return noted

    def note_job(self, job_id: str) -> None:
        """Keep that a job works on it: how that one stands is how the run stands."""
        if job_id not in (noted := self.job_ids()):
            files.write_json(self.jobs_path, [*noted, job_id])


@dataclass(frozen=True, slots=True)
class Run:
    """A run as a person sees it in the list."""

    folder: RunFolder
    plan: Plan
    state: State
    step: int
    """The newest that was told; 0 before the first."""
    total: int
    best_step: int | None
    why_best: str
    started_at: str
    """When it was asked for, for people to read."""
    job: Job | None
    trashed_at: str = ""
    """When it was moved to the trash; empty: it is not there."""

    @property
    def id(self) -> str:
        return self.folder.id


# ---- What a run is to do ----


def write_plan(plan: Plan, path: Path) -> None:
    """Keep a plan, with the time for people: a list is shown by it, and nothing hangs on it."""
    made_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    files.write_json(path, {"v": 1, "made_at": made_at, **asdict(plan)})


def read_plan(path: Path) -> Plan:
    """Read a plan, under the name it has now; what only a newer Timbre knows is left out."""
    try:
        plan = plan_from(json.loads(path.read_bytes()))
        return replace(plan, name=_shown(RunFolder(path.parent)).get("name") or plan.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFolderError(
            f"What run {path.parent.name} is to do cannot be read ({type(error).__name__}).",
            "Its checkpoints and samples are still in its folder; begin another run.",
        ) from error


def plan_from(said: dict[str, Any]) -> Plan:
    """A plan of what was written as JSON."""
    known = _known(Plan, said)
    known["sentences"] = tuple(known.get("sentences", ()))
    known["extra"] = tuple((project, version) for project, version in known.get("extra", ()))
    known["train"] = TrainSettings(**_known(TrainSettings, known.get("train", {})))
    return Plan(**known)


def create(workspace: Workspace, plan: Plan, run_id: str = "") -> RunFolder:
    """Lay a run out, the plan last: one without it does not exist and is laid out again."""
    folder = RunFolder(workspace.runs / (run_id or names.new_id()))
    lay_out(folder, plan)
    return folder


def lay_out(folder: RunFolder, plan: Plan) -> None:
    for path in (folder.path, folder.checkpoints, folder.best, folder.samples):
        if not path.is_dir():
            files.make_folder(path)
    write_plan(plan, folder.plan_path)


def show_as(folder: RunFolder, **shown: str) -> None:
    """Keep what a person made of a run in the list; what it is to do stays as it was written."""
    files.write_json(folder.shown_path, {"v": 1, **_shown(folder), **shown})


# ---- The runs there are ----


def all(workspace: Workspace, trashed: bool = False) -> list[Run]:
    """List them, the newest first, or those in the trash; of `damaged` none are among them."""
    return [_run(workspace, *each) for each in _planned(workspace) if _in_trash(each[0]) == trashed]


def find(workspace: Workspace, named: str) -> Run:
    """Find one by its id, its name however it is capitalised, or the beginning of its id."""
    # In the trash it is found by its whole id alone.
    planned = [e for e in _planned(workspace) if e[0].id == named or not _in_trash(e[0])]
    found = (
        [each for each in planned if each[0].id == named]
        or [each for each in planned if named and names.key(each[1].name) == names.key(named)]
        or [each for each in planned if named and each[0].id.startswith(named)]
    )
    if len(found) == 1:
        return _run(workspace, *found[0])
    if found:
        ids = ", ".join(folder.id for folder, _ in found)
        raise NotFoundError(f"There is more than one run {named!r}.", f"Name its id: {ids}.")
    for folder in damaged(workspace):
        if folder.id == named:
            read_plan(folder.plan_path)  # says what is wrong with it
    raise NotFoundError(f"There is no run {named!r}.", "`runs list` shows them all.")


def newest_best(folder: RunFolder) -> Path | None:
    """The best weights so far, whole; None before there are any."""
    numbered = [path for path in folder.best.glob("best-*") if path.name[5:].isdigit()]
    newest_first = sorted(numbered, key=_step_of, reverse=True)
    return next(filter(files.exists, newest_first), None)


def damaged(workspace: Workspace) -> list[RunFolder]:
    """Those of which nobody can tell any more what they were to do."""
    readable = {folder for folder, _ in _planned(workspace)}
    return [folder for folder in _begun(workspace) if folder not in readable]


def _begun(workspace: Workspace) -> list[RunFolder]:
    folders = [RunFolder(path) for path in workspace.runs.iterdir() if names.is_id(path.name)]
    return [folder for folder in folders if folder.plan_path.exists()]


def _planned(workspace: Workspace) -> list[tuple[RunFolder, Plan]]:
    """Every run whose plan can be read, the newest first."""
    found = []
    for folder in _begun(workspace):
        with suppress(DamagedFolderError):
            found.append((folder, read_plan(folder.plan_path)))
    return sorted(found, key=lambda each: (_made_at(each[0]), each[0].id), reverse=True)


def _run(workspace: Workspace, folder: RunFolder, plan: Plan) -> Run:
    last = _last_step(folder)
    job = _newest_job(workspace, folder)
    best = newest_best(folder)
    return Run(
        folder,
        plan,
        _state(folder, job),
        last.step if last else 0,
        last.total if last else 0,
        _step_of(best) if best else None,
        _read_json(best / "best.json").get("reason", "") if best else "",
        _made_at(folder),
        job,
        _shown(folder).get("trashed_at", ""),
    )


def _newest_job(workspace: Workspace, folder: RunFolder) -> Job | None:
    """The job by which a run stands as it does: its own, or one that did more than this run."""
    noted = folder.job_ids()
    row = workspace.store.row(
        f"SELECT id FROM jobs WHERE once = ? OR id IN ({','.join('?' * len(noted))})"
        " ORDER BY rowid DESC LIMIT 1",
        once(folder),
        *noted,
    )
    return queue.find(workspace, row["id"]) if row else None


def once(folder: RunFolder) -> str:
    """The word by which only one job at a time trains a run."""
    return f"run-{folder.id}"


def _state(folder: RunFolder, job: Job | None) -> State:
    if job is not None and job.state != "ended":
        return job.state
    if folder.is_finished:
        return "finished"
    cause = (job.cause if job else "") or "interrupted"
    if cause == "stopped":
        return "stopped"
    # One that ended well and has no voice was interfered with: it makes the voice again.
    return "interrupted" if cause in ("interrupted", "finished") else "failed"


# ---- What it told ----


def history(folder: RunFolder) -> list[Event]:
    """
    Everything it told of learning, by step.

    A step done again after a resume counts once, as it was done last. A line that a power cut tore
    is left out.
    """
    told: dict[str, Any] = {}
    for line in _lines(folder.history_path):
        if event := _told(line):
            told[f"{type(event).__name__} {event.step} {getattr(event, 'path', '')}"] = event
    return sorted(told.values(), key=attrgetter("step"))


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            yield from (line for line in file if line.endswith("\n"))


def _told(line: str) -> OfLearning | None:
    # events.from_line takes 12 µs, of which 5 are parsing: seconds, with many steps.
    try:
        said = json.loads(line)
        kind = _TOLD[said["kind"]]
        event: Step = kind(**{name: said[name] for name in kind.__slots__ if name in said})
        return event if isinstance(event.step, int) else None
    except (ValueError, KeyError, TypeError):
        return None


def _last_step(folder: RunFolder) -> Step | None:
    told = map(_told, reversed(_tail(folder.history_path)))
    return next((event for event in told if isinstance(event, Step)), None)


def _tail(path: Path) -> list[str]:
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return file.read().decode("utf-8", "replace").splitlines()


def _step_of(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _made_at(folder: RunFolder) -> str:
    return str(_read_json(folder.plan_path).get("made_at", ""))


def _shown(folder: RunFolder) -> dict[str, str]:
    said = _read_json(folder.shown_path)
    return {name: value for name, value in said.items() if isinstance(value, str)}


def _in_trash(folder: RunFolder) -> bool:
    return bool(_shown(folder).get("trashed_at"))


def _read_json(path: Path) -> dict[str, Any]:
    """What a file says beside what matters; nothing when it does not."""
    try:
        said = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _known(kind: type[Any], said: dict[str, Any]) -> dict[str, Any]:
    return {each.name: said[each.name] for each in fields(kind) if each.name in said}
