"""
A voice of another program taken in: `python -m finetune.adopted_voices WISH.json` in a job's folder.

What is refused or stopped leaves nothing in the library; which voice came of it is in the report.
"""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from engines.errors import NotFoundError
from finetune import submitting
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.queue import Job
from finetune.jobs.worker import Job as Work
from finetune.jobs.worker import StopWork, run
from finetune.submitting import END_SECONDS
from finetune.wishes import REPORT
from voices import adopting, files
from voices.workspace import Workspace, open_workspace

KIND = "adopt"
# Between two looks for a wish to stop, a large voice is hashed as a whole.
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class AdoptWish:
    """What is to be taken in, as it is kept in a file."""

    workspace: str
    path: str
    """Its folder, or a file in that."""
    name: str = ""
    language: str = ""
    reference: str = ""
    """A recording that it is to be spoken like; empty: what lies beside it."""

    def wanted(self) -> adopting.Wanted:
        like = Path(self.reference) if self.reference else None
        return adopting.look(Path(self.path), self.name, self.language, like)


def submit(
    workspace: Workspace, path: Path, name: str = "", language: str = "", reference: str = ""
) -> Job:
    """Queue the taking in of a voice; what can be refused at once is refused here."""
    like = str(submitting.there(reference)) if reference else ""
    wish = AdoptWish(str(workspace.root.absolute()), str(path.absolute()), name, language, like)
    wanted = wish.wanted()
    digest = hashlib.sha256(repr(wish).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    place = workspace.cache / "adopted"
    place.mkdir(exist_ok=True)
    kept = place / f"{digest}.json"
    files.write_json(kept, {"v": 1, **asdict(wish)})
    request = Request(
        KIND,
        f"Take in {wanted.name}",
        (sys.executable, "-m", "finetune.adopted_voices", str(kept.absolute())),
        once=f"{KIND}-{digest}",
        save_seconds=_STOP_SECONDS,
        end_seconds=END_SECONDS,
    )
    return queue.submit(workspace, request)


def find(workspace: Workspace, job_id: str) -> Job:
    """Find the job that takes one in."""
    job = queue.find(workspace, job_id)
    if job.request.kind != KIND:
        raise NotFoundError("This job takes no voice in.", "Reload the page.")
    return job


def voice_of(job: Job) -> str:
    """The id of the voice that came of it; "" while there is none."""
    return str(submitting.report_of(job).get("voice", ""))


def read_wish(path: Path) -> AdoptWish:
    """Read a wish; what only a newer Timbre knows is left out."""
    said = json.loads(path.read_bytes())
    known = {each.name: said[each.name] for each in fields(AdoptWish) if each.name in said}
    return AdoptWish(**known)


def work(job: Work, wish: AdoptWish) -> str:
    """Take it in, and note which voice it became."""

    def end_if_asked() -> None:
        if job.stop_wanted():
            raise StopWork("Stopped; nothing of it was kept.")

    with closing(open_workspace(Path(wish.workspace))) as workspace:
        voice = adopting.adopt(workspace, wish.wanted(), end_if_asked)
    files.write_json(job.folder.path / REPORT, {"v": 1, "voice": voice.id})
    return f"{voice.name} is in the library."


if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, read_wish(Path(sys.argv[1]))))
    )
