"""A training that is watched: reloaded again and again, left alone, and the studio killed."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

import engines
from finetune import beginning, projects, runs, submitting
from finetune.jobs import queue
from finetune.jobs.events import Step
from finetune.planning import Wished
from finetune.runs import RunFolder
from finetune.settings import HearSettings, TrainSettings
from tests.bench import screen_editor, studios
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Figure, Measured
from voices import shipped
from voices.shelf import Item
from voices.workspace import Workspace

RELOADS = 100
AWAY_SECONDS = 60
FIRST_STEP_SECONDS = 180.0
# Many more than are needed: it is stopped when all was seen.
EPOCHS = 2000
FIGURES = (
    Figure("reloads", "of the page, while a voice was trained"),
    Figure("found_s", "until the reloaded page shows the run and its step, median"),
    Figure("found_s_most", "the longest of these", "<= 2"),
    Figure("found_after_kill_s", "the same, with the studio killed and started again", "<= 2"),
    Figure("steps_back", "times that a page showed an earlier step than before", "== 0"),
    Figure("trainings", "processes that trained, of the one", "== 1"),
    Figure("points_lost", "steps that were told, and are not on the curve", "== 0"),
    Figure("buttons_wrong", "pages that offered anything but to stop", "== 0"),
)


def measure(workspace: Workspace, progress: Progress, reloads: int = RELOADS) -> Measured:
    """Train, and look at it as nervous people do."""
    item = _with_dataset(workspace)
    with screen_editor.chromium() as browser:
        port, studio = _started(workspace)
        try:
            folder = _train(workspace, item)
            pid = _pid(workspace, folder)
            watch = _Watch(browser, item)
            found = [watch.open(port)]
            found += [watch.reload() for _ in progress.through(range(reloads), "reloads")]
            watch.leave()
            for _ in progress.through(range(AWAY_SECONDS), "seconds away"):
                time.sleep(1)
            studio.kill()
            studio.wait()
            port, studio = _started(workspace)
            after_kill = watch.open(port)
            trained = {pid, _pid(workspace, folder)}
            lost = _points_lost(port, folder)
        finally:
            studio.kill()
            studio.wait()
    ordered = sorted(found[1:])
    return Measured(
        {
            "reloads": reloads,
            "found_s": ordered[len(ordered) // 2],
            "found_s_most": ordered[-1],
            "found_after_kill_s": after_kill,
            "steps_back": watch.steps_back,
            "trainings": len(trained),
            "points_lost": lost,
            "buttons_wrong": watch.buttons_wrong,
        }
    )


def _with_dataset(workspace: Workspace) -> Item:
    item, demo = projects.create(workspace, "Ada"), shipped.demo()
    wish = submitting.wish_for(
        workspace, item, sources=(str(demo.recording),), text=str(demo.script), freeze=True,
        hear=HearSettings(language=demo.language),
    )  # fmt: skip
    job = submitting.submit(workspace, item, wish, "Build Ada")
    list(job.folder.follow(0.1, lambda: queue.advance(workspace)))
    return item


def _train(workspace: Workspace, item: Item) -> RunFolder:
    wished = Wished(name="Hers", train=TrainSettings(epochs=EPOCHS))
    folder, _ = beginning.begin(workspace, item, engines.find("pocket"), wished)
    if not studios.wait_for(lambda: _steps(folder), FIRST_STEP_SECONDS):
        raise CannotMeasure("no step was learned")
    return folder


def _steps(folder: RunFolder) -> set[int]:
    return {event.step for event in runs.history(folder) if isinstance(event, Step)}


def _started(workspace: Workspace) -> tuple[int, studios.Studio]:
    port = studios.a_free_port()
    studio = studios.Studio(workspace.root, port)
    if not studios.wait_for(lambda: screen_editor.answers(port), screen_editor.START_SECONDS):
        raise CannotMeasure("the studio did not answer")
    return port, studio


def _pid(workspace: Workspace, folder: RunFolder) -> int:
    job = runs.find(workspace, folder.id).job
    process = job.folder.worker() if job else None
    if process is None:
        raise CannotMeasure("nothing trains")
    return process.pid


class _Watch:
    """A page that shows the run, and what it showed."""

    def __init__(self, browser: Any, item: Item) -> None:
        self._browser, self._item = browser, item
        self._page: Any = None
        self._step = 0
        self.steps_back = self.buttons_wrong = 0

    def open(self, port: int) -> float:
        self._page = self._browser.new_context(locale="en-US").new_page()
        self._page.goto(f"http://127.0.0.1:{port}/#{self._item.id}/train", wait_until="commit")
        return self._seen()

    def reload(self) -> float:
        self._page.reload(wait_until="commit")
        return self._seen()

    def leave(self) -> None:
        self._page.context.close()

    def _seen(self) -> float:
        """Seconds of the page until the step is there."""
        step, seconds, buttons = self._page.evaluate(_FOUND)
        self.steps_back += step < self._step
        self.buttons_wrong += buttons != [True, False]
        self._step = max(self._step, step)
        return float(seconds)


_FOUND = """() => new Promise((done, fail) => {
  setTimeout(() => fail(new Error('the run was not found')), 20000);
  const look = () => {
    const step = /step ([0-9,]+) of/.exec(document.querySelector('main')?.innerText ?? '');
    const named = (name) => [...document.querySelectorAll('main button')].some((each) => each.innerText.trim() === name);
    if (!step || !(named('Stop and save') || named('Resume'))) return requestAnimationFrame(look);
    done([Number(step[1].replaceAll(',', '')), performance.now() / 1000, [named('Stop and save'), named('Resume')]]);
  };
  look();
})"""


def _points_lost(port: int, folder: RunFolder) -> int:
    """Steps that the history has, up to the newest on the curve, and the curve has not."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/timbre/call/train.run",
        json.dumps({"run": folder.id}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        curve = json.load(answer)["data"]["curve"]
    drawn = [int(point[0]) for point in curve]
    told = {step for step in _steps(folder) if step <= max(drawn)}
    # Long curves are thinned by their peaks, so that what must be there are both ends.
    return len(told - set(drawn)) if len(told) <= len(drawn) else len({min(told)} - set(drawn))
