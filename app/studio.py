"""One studio for a workspace: start it, or find the one that runs."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import parse_qsl, urlsplit, urlunsplit
from urllib.request import ProxyHandler, Request, build_opener

from filelock import FileLock, Timeout

from app.door import Rules
from app.front import HEALTH, Front
from app.server import serve
from engines.errors import StudioRunningError
from finetune import projects
from finetune.jobs import process, queue
from voices import files, reciting
from voices.workspace import Workspace, open_workspace, unusable

logger = logging.getLogger(__name__)

ADVANCE_SECONDS = 2.0
# Another one may have the lock and not its address yet: it writes it within a second of starting.
WAIT_FOR_THE_OTHER_SECONDS = 5.0
ASK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the studio is to be started."""

    rules: Rules
    exact_port: bool
    tell: Callable[[str], None]
    """Called with the address once it answers."""


def run(root: Path, wishes: Wishes) -> None:
    """Serve the studio of a workspace until it is stopped."""
    with _only_one(root):
        workspace = open_workspace(root)
        try:
            _tidy(workspace)
            with _looking_after(workspace):
                _serve(workspace, wishes)
        finally:
            workspace.close()


def running(root: Path) -> str | None:
    """The address of the studio that runs for this workspace, when one answers there."""
    try:
        note = json.loads(_note(root).read_bytes())
        owner, url = process.Identity(**note["process"]), str(note["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it is only a note: without it there is no studio to be found
    return url if process.lives(owner) and _answers(url, root) else None


def wait_for_the_other(root: Path) -> str:
    """The address of a studio that has the workspace, once it has one."""
    deadline = time.monotonic() + WAIT_FOR_THE_OTHER_SECONDS
    while time.monotonic() < deadline:
        if url := running(root):
            return url
        time.sleep(0.1)
    raise StudioRunningError(
        f"Another studio has the workspace {root} and does not answer.",
        "End it (it may be stopped in another terminal), or choose another workspace with --home.",
    )


def network_address(url: str) -> str:
    """The address that other computers use, as far as this one knows its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # chooses the way there; nothing is sent
            own = probe.getsockname()[0]
        except OSError:
            own = socket.gethostname()
    return url.replace("127.0.0.1", own, 1)


def health(workspace: Workspace) -> dict[str, Any]:
    """What the studio tells about itself to another start and to the benchmarks."""
    found = queue.jobs(workspace, ended=0)
    jobs = [{"id": job.id, "state": job.state, "title": job.request.title} for job in found]
    return {"workspace": str(workspace.root), "jobs": jobs}


def _serve(workspace: Workspace, wishes: Wishes) -> None:
    def announce(url: str) -> None:
        who = process.this()
        files.write_json(_note(workspace.root), {"v": 1, "url": url, "process": asdict(who)})
        wishes.tell(url)

    front = Front(wishes.rules, lambda: health(workspace))
    # Here, because most commands open no page.
    from app.screen.desk import desk_for
    from app.screen.routes import application

    with desk_for(workspace) as desk:
        front.open(application(desk))
        serve(front, exact_port=wishes.exact_port, on_ready=announce)


@contextmanager
def _only_one(root: Path) -> Iterator[None]:
    """Hold the workspace. The system lets go of the lock when the process ends, however it does."""
    lock = FileLock(root / "studio.lock")
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except OSError as error:
        if not isinstance(error, Timeout):
            raise unusable(root, error) from error
        raise StudioRunningError(
            f"Another studio works in {root}.", "Use that one, or another workspace with --home."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _looking_after(workspace: Workspace) -> Iterator[None]:
    """Let the queue go on while the studio runs."""
    enough = threading.Event()

    def look() -> None:
        while not enough.wait(ADVANCE_SECONDS):
            try:
                queue.advance(workspace)
            except Exception:  # a full disk, say: the next look may find room again
                logger.exception("The queue could not go on.")

    queue.advance(workspace)
    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def _tidy(workspace: Workspace) -> None:
    """
    Bring back what was lost sight of, and remove what interrupted writers left.

    What was being said when the studio was killed is kept first, as far as it had been said.
    """
    for each in reciting.rescue(workspace):
        logger.warning("%d sentences that were being said are kept.", len(each.lines))
    for folder in list(workspace.written_in()):
        for path in files.sweep(folder):
            logger.info("Removed %s, left over from interrupted work.", path)
    workspace.store.copy_to(workspace.root / "studio.db.kept")
    for item in projects.list_again(workspace):
        logger.warning("The project %s is in the list again.", item.name)


def _answers(url: str, root: Path) -> bool:
    """Whether the studio at this address is there and is the one of this workspace."""
    parts = urlsplit(url)
    token = dict(parse_qsl(parts.query)).get("token")
    asked = Request(urlunsplit(parts._replace(path=HEALTH, query="")))
    if token:
        asked.add_header("Authorization", f"Bearer {token}")
    # A proxy set for the internet must not be asked about this computer.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(asked, timeout=ASK_SECONDS) as answer:
            return bool(json.load(answer)["workspace"] == str(root))
    except (URLError, OSError, ValueError, KeyError):
        return False


def _note(root: Path) -> Path:
    return root / "studio.json"
