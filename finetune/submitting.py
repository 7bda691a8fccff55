"""Long works on a project, queued as jobs: what was wished for is kept, so it can be run again."""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from engines.errors import AudioError, NotDownloadedError, NotFoundError, SettingsError
from finetune import forecasts, gpu, projects, speaking
from finetune.exports import ExportWish, check_target, write_export_wish
from finetune.forecasts import ForecastWish
from finetune.hearing import models
from finetune.jobs import queue
from finetune.jobs.folder import Request
from finetune.jobs.queue import Job
from finetune.making import MakeWish, write_make_wish
from finetune.runs import Plan, RunFolder, once, read_plan
from finetune.settings import CutSettings, HearSettings
from finetune.speaking import SpeakWish
from finetune.wishes import REPORT, Wish, write_wish
from voices import files
from voices.shelf import Item
from voices.workspace import Workspace

# Everything is kept piece by piece: what is asked to stop has little to save.
SAVE_SECONDS = 4.0
END_SECONDS = 3.0
# A checkpoint of a large engine is 5 GB, and not every disk is fast.
TRAIN_SAVE_SECONDS = 120.0
TRAIN_END_SECONDS = 20.0


def wish_for(workspace: Workspace, project: Item, **wished: Any) -> Wish:
    """A wish about a project, by its own settings: `wished` are other fields of Wish."""
    folder = projects.folder_of(workspace, project)
    with projects.open_project(folder) as opened:
        settled = {"hear": opened.settings(HearSettings), "cut": opened.settings(CutSettings)}
    return Wish(str(folder), str(models_folder(workspace)), **{**settled, **wished})


def submit(workspace: Workspace, project: Item, wish: Wish, title: str) -> Job:
    """
    Queue a build. The same wish, while it waits or runs, is the same job.

    Its settings hold from now on for what is done next in the project.
    """
    keep_settings(workspace, project, wish)
    path = _place(workspace, project, wish)
    write_wish(wish, path)
    needs = "gpu-0" if wish.whisper and gpu.read().cards else _alone(project)
    return _queue(workspace, Request("build", title, _argv("finetune.building", path), needs), path)


def submit_training(workspace: Workspace, run: RunFolder) -> Job:
    """Queue a run, from its beginning or from where it was stopped; while it goes it is one job."""
    plan = read_plan(run.plan_path)
    request = _training(Request("train", f"Train {plan.name}", training_argv(run)), plan)
    job = queue.submit(workspace, replace(request, once=once(run)))
    run.note_job(job.id)
    return job


def submit_making(workspace: Workspace, project: Item, wish: Wish, plan: Plan) -> Job:
    """Queue all from recordings to a voice; its settings hold from now on in the project."""
    keep_settings(workspace, project, wish)
    built = _place(workspace, project, wish)
    write_wish(wish, built)
    make = MakeWish(str(workspace.root), str(built), plan)
    path = _place(workspace, project, make)
    write_make_wish(make, path)
    request = Request("make", f"Make {plan.name}", making_argv(path), once=path.stem)
    return queue.submit(workspace, _training(request, plan))


def submit_forecast(workspace: Workspace, project: Item, wish: ForecastWish) -> Job:
    """Queue a forecast; one that needs no GPU waits for none."""
    path = _place(workspace, project, wish)
    forecasts.write_wish(wish, path)
    here = wish.card is None and wish.plan.train.device != "cpu" and gpu.read().cards
    argv = _argv("finetune.training.forecast", path)
    title = f"Plan {wish.plan.name}"
    request = Request("plan", title, argv, "gpu-0" if here else _alone(project))
    return _queue(workspace, request, path)


def submit_speaking(workspace: Workspace, wish: SpeakWish, title: str, replaces: bool) -> Job:
    """Queue something to be spoken; it waits for no GPU. Files are written over only if wished."""
    _, targets = speaking.planned(wish)
    taken = [path.name for path in targets.values() if path.exists()]
    if taken and not replaces:
        raise AudioError(
            f"{taken[0]} is there already.", "Choose another -o, or --replace to write over it."
        )
    path = _spoken_folder(workspace) / f"{_digest(wish)}.json"
    speaking.write_wish(wish, path)
    return _queue(workspace, Request("speak", title, _argv("finetune.speaking", path), ""), path)


def kept_text(workspace: Workspace, text: str) -> Path:
    """A text that was typed, as a script: it is kept, so that it can be spoken again."""
    path = _spoken_folder(workspace) / f"{_digest(text)}.txt"
    files.write_bytes(path, text.encode())
    return path


def _spoken_folder(workspace: Workspace) -> Path:
    folder = workspace.root / "spoken"
    with suppress(FileExistsError):
        files.make_folder(folder)
    return folder


def training_argv(run: RunFolder) -> tuple[str, ...]:
    return _argv("finetune.training", run.path)


def making_argv(wish: Path) -> tuple[str, ...]:
    return _argv("finetune.making", wish)


def _training(request: Request, plan: Plan) -> Request:
    """A request for what computes long, on the GPU where there is one, and saves much."""
    on_gpu = plan.train.device != "cpu" and gpu.read().cards
    return replace(
        request,
        needs="gpu-0" if on_gpu else "cpu",
        save_seconds=TRAIN_SAVE_SECONDS,
        end_seconds=TRAIN_END_SECONDS,
    )


def keep_settings(workspace: Workspace, project: Item, wish: Wish) -> None:
    """Let what a wish was made with hold for what is done next in the project."""
    with projects.open_project(projects.folder_of(workspace, project)) as opened:
        opened.keep_settings(wish.hear)
        opened.keep_settings(wish.cut)


def submit_export(workspace: Workspace, project: Item, wish: ExportWish, title: str) -> Job:
    """Queue an export of a frozen dataset; what can be refused is refused here."""
    check_target(Path(wish.target))
    path = _place(workspace, project, wish)
    write_export_wish(wish, path)
    argv = _argv("finetune.exports", path)
    return _queue(workspace, Request("export", title, argv, _alone(project)), path)


def report_of(job: Job) -> dict[str, Any]:
    """What came of a job, or of the part of it that was done; empty when it did not get that far."""
    path = job.folder.path / REPORT
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return found


def there(typed: str) -> Path:
    """A path as a job finds it, wherever it runs; raise when there is nothing."""
    path = Path(typed).expanduser().absolute()
    if not path.exists():
        raise NotFoundError(f"There is nothing at {path}.", "Check the path.")
    return path


def models_folder(workspace: Workspace) -> Path:
    return workspace.root / "models"


def advised_whisper(language: str = "") -> models.Advice:
    """Which Whisper this computer should take, by its GPU and the language."""
    # Not what is free now: the same command would mean another Whisper tomorrow.
    memory = [card.total_mib for card in gpu.read().cards if card.total_mib is not None]
    return models.advised(max(memory, default=None), language or None)


def which_whisper(typed: str, folder: Path, language: str = "", download: bool = False) -> str:
    """
    Name the Whisper a wish means: the one that was typed, or the one that is advised.

    Raise when it is not on this computer and may not be downloaded, or does not know the language.
    """
    name = typed or advised_whisper(language).name
    name = models.OTHER_NAMES.get(name, name)
    known = {model.name: model for model in models.CATALOGUE}
    if name in known and language and not known[name].hears(language):
        raise SettingsError(
            f"Whisper {name} knows only English.", f"Take small or turbo for {language}."
        )
    try:
        found = models.find(name, folder)
    except NotDownloadedError:
        if not download:
            raise
        return name
    return name if name in known else str(found.folder.absolute())


def _alone(project: Item) -> str:
    """What only one job at a time can have: the project."""
    return f"project-{project.id}"


def _place(
    workspace: Workspace, project: Item, wish: Wish | ExportWish | MakeWish | ForecastWish
) -> Path:
    """Where a wish is kept: the same wish in the same place."""
    folder = projects.folder_of(workspace, project) / "wishes"
    with suppress(FileExistsError):
        files.make_folder(folder)
    return folder / f"{_digest(wish)}.json"


def _digest(wish: object) -> str:
    return hashlib.sha256(repr(wish).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _argv(module: str, told: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", module, str(told))


def _queue(workspace: Workspace, request: Request, wish: Path) -> Job:
    return queue.submit(
        workspace,
        replace(request, once=wish.stem, save_seconds=SAVE_SECONDS, end_seconds=END_SECONDS),
    )
