"""Downloads as jobs: a Whisper or a base, by its name, once its licence is agreed to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engines.base import Base, Engine
from engines.errors import NotFoundError, SettingsError
from finetune import bases, https, room
from finetune.downloads import Progress
from finetune.hearing import models
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.queue import Job
from finetune.jobs.telling import Telling
from finetune.jobs.worker import Job as Work
from finetune.jobs.worker import run
from voices import files
from voices.workspace import Workspace

KIND = "download"
# A block that has arrived is on the disk: there is nothing else to save.
SAVE_SECONDS = 4.0
END_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be downloaded, or that is here."""

    kind: str
    """ "whisper" or "base"."""
    name: str
    """What `submit` takes."""
    mb: int
    """About how much is downloaded."""
    licence: str
    about: str
    here: bool
    folder: str
    """The name of its folder among the models; empty for what ships with Timbre."""
    partly: bool
    """Whether a download of it was cut off: it goes on there."""
    problem: str = ""


def offers(workspace: Workspace) -> Iterator[Offer]:
    """What there is to download, Whispers first; only the workspace's own folder is looked in."""
    folder = room.models_folder(workspace)
    for model in models.CATALOGUE:
        place = models.folder_of(model, folder)
        here = files.exists(place)
        problem = "" if here or not place.exists() else "damaged: download it again"
        yield Offer(
            "whisper",
            model.name,
            model.size_mb,
            model.licence,
            model.good_for,
            here,
            place.name,
            _is_partly(place),
            problem,
        )
    for each in bases.listed(folder):
        if each.base.repository or each.base.shipped:
            yield _base_offer(each, folder)


def submit(workspace: Workspace, name: str, agreed: bool = False) -> Job:
    """Queue a download; it waits for nothing else. One that goes on already is the same job."""
    base = None if _whisper(name) else _base(name)
    https.refuse_offline(name)
    if base and not agreed:
        raise SettingsError(
            f"{base[0].title} has the licence {base[1].licence}.",
            "Read it, and agree to it before it is downloaded.",
        )
    argv = (sys.executable, "-m", "finetune.fetching", str(room.models_folder(workspace)), name)
    request = Request(
        KIND,
        f"Download {name}",
        argv,
        once=f"{KIND}-{name}",
        save_seconds=SAVE_SECONDS,
        end_seconds=END_SECONDS,
    )
    return queue.submit(workspace, request)


def work(job: Work, folder: Path, name: str) -> str:
    """Download it, telling how much has arrived; somebody agreed to it before."""
    telling = _telling(job)
    if found := _whisper(name):
        models.fetch(found.name, folder, telling, job.stop_wanted)
    else:
        bases.download_base(*_base(name), folder, True, telling, job.stop_wanted)
    return f"It is downloaded: {name}."


def _base_offer(each: bases.Listed, folder: Path) -> Offer:
    place = bases.folder_of(each.engine, each.base, folder)
    return Offer(
        "base",
        each.name,
        each.base.download_mb,
        each.base.licence,
        each.engine.about,
        each.folder is not None,
        "" if each.base.shipped else place.name,
        _is_partly(place),
        each.problem,
    )


def _is_partly(place: Path) -> bool:
    return place.with_name(f"{place.name}.parts").is_dir()


def _whisper(name: str) -> models.Model | None:
    wanted = models.OTHER_NAMES.get(name, name)
    return next((model for model in models.CATALOGUE if model.name == wanted), None)


def _base(name: str) -> tuple[Engine, Base]:
    found = bases.downloadable(name)
    if found is None:
        raise NotFoundError(f"There is nothing called {name!r:.60} to download.", "Choose one.")
    return found


def _telling(job: Work) -> Progress:
    """Tell how much has arrived, once it is known how much there is."""
    telling: list[Telling] = []

    def at(done: int, total: int) -> None:
        if not telling:
            telling.append(Telling(job.say, "MB", round(total / 1e6, 1)))
        telling[0].at(done / 1e6)

    return at


if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, Path(sys.argv[1]), sys.argv[2]))
    )
