"""The screen: how soon it is there, how the editor bears 2,000 clips, beside a plain gr.Dataframe."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from typing import Any

import psutil

from finetune import projects
from tests.bench import (
    screen_editor,
    screen_project,
    screen_rival,
    screen_survives,
    screen_tabs,
    studios,
)
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Settings, together
from tests.bench.screen_editor import answers, chromium
from voices.workspace import Workspace

EDITS = 2_000
DASHBOARD_SECONDS = 30
HALF_HOUR = 1_800
# What is read at first is read once: it is no growth.
SETTLED_SECONDS = 60
# Half an hour of a page that asks each second, asked as fast as it is answered.
ASKED = 1_800
STARTS = 3
TWO_TABS = 500


def measure(settings: Settings, progress: Progress) -> Measured:
    parts: dict[str, Callable[[Workspace, Settings, Progress], Measured]] = {
        "start": measure_start,
        "editor": lambda workspace, _, told: screen_editor.measure(workspace, told),
        "tabs": lambda workspace, chosen, told: screen_tabs.measure(
            workspace, told, chosen.rounds or TWO_TABS
        ),
        "dashboard": measure_dashboard,
        "survives": lambda workspace, chosen, told: screen_survives.measure(
            workspace, told, chosen.rounds or screen_survives.RELOADS
        ),
        "memory": measure_memory,
        "half-hour": measure_half_hour,
        "rival": lambda _, __, told: screen_rival.measure(told),
    }
    found = []
    for name, part in parts.items():
        if settings.wants(name):
            with studios.short_lived_workspace() as workspace:
                found.append(part(workspace, settings, progress))
    return together(found)


def measure_start(workspace: Workspace, settings: Settings, progress: Progress) -> Measured:
    """Seconds from the command until the page can be used, in a browser that is open already."""
    taken, memory = [], 0.0
    with chromium() as browser:
        for _ in progress.through(range(settings.rounds or STARTS), "starts"):
            port = studios.a_free_port()
            studio = studios.Studio(workspace.root, port)
            try:
                if not studios.wait_for(lambda at=port: answers(at), 30):  # type: ignore[misc]
                    raise CannotMeasure("the studio did not answer")
                page = browser.new_context().new_page()
                page.goto(f"http://127.0.0.1:{port}/")
                page.get_by_role("heading", level=1).wait_for()
                taken.append(time.monotonic() - studio.began)
                memory = max(memory, psutil.Process(studio.pid).memory_info().rss / 1e6)
                page.context.close()
            finally:
                studio.kill()
                studio.wait()
    return Measured({"start_s": sorted(taken)[len(taken) // 2], "studio_rss_mb": memory})


def measure_dashboard(workspace: Workspace, settings: Settings, progress: Progress) -> Measured:
    """Tasks of the page that held it up while it showed what the computer does."""
    seconds = settings.rounds or DASHBOARD_SECONDS
    with screen_editor.running(workspace) as url, chromium() as browser:
        page = browser.new_page()
        page.goto(f"{url}#/system")
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_timeout(3000)  # to be there is another thing than to go on
        page.evaluate(
            """() => { window.held = [];
              new PerformanceObserver((list) => window.held.push(...list.getEntries().map(
                (each) => each.duration))).observe({entryTypes: ['longtask']}); }"""
        )
        for _ in progress.through(range(seconds), "seconds of dashboard"):
            page.wait_for_timeout(1000)
        held = page.evaluate("window.held")
    return Measured({"dashboard_long_tasks": len(held)}, tuple(f"{each:.0f} ms" for each in held))


def measure_half_hour(workspace: Workspace, settings: Settings, progress: Progress) -> Measured:
    """How much the studio and the page grow in half an hour of System, by the clock."""
    seconds = settings.rounds or HALF_HOUR
    port = studios.a_free_port()
    studio = studios.Studio(workspace.root, port)
    try:
        if not studios.wait_for(lambda: answers(port), 30):
            raise CannotMeasure("the studio did not answer")
        with chromium() as browser:
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{port}/#/system")
            page.get_by_role("heading", level=1).wait_for()
            page.wait_for_timeout(SETTLED_SECONDS * 1000)
            rss, heap = psutil.Process(studio.pid).memory_info().rss, _heap(page)
            for _ in progress.through(range(seconds), "seconds of System"):
                page.wait_for_timeout(1000)
            grown = psutil.Process(studio.pid).memory_info().rss / rss - 1
            return Measured(
                {"half_hour_growth_share": grown, "page_growth_mb": (_heap(page) - heap) / 1e6}
            )
    finally:
        studio.kill()
        studio.wait()


def _heap(page: Any) -> float:
    """What the page's scripts hold once everything let go of is away, in bytes."""
    asked = page.context.new_cdp_session(page)
    asked.send("HeapProfiler.collectGarbage")
    return float(asked.send("Runtime.getHeapUsage")["usedSize"])


def measure_memory(workspace: Workspace, settings: Settings, progress: Progress) -> Measured:
    """How much the studio grows over edits and half an hour's questions."""
    item = screen_project.make(workspace)
    port = studios.a_free_port()
    studio = studios.Studio(workspace.root, port)
    try:
        if not studios.wait_for(lambda: answers(port), 30):
            raise CannotMeasure("the studio did not answer")
        ask = _Asking(port)
        edits, asked = settings.rounds or EDITS, settings.rounds or ASKED
        _edit(ask, workspace, item.id, range(edits // 10))
        _ask_for_all(ask, range(asked // 10))
        before = psutil.Process(studio.pid).memory_info().rss
        _edit(ask, workspace, item.id, progress.through(range(edits), "edits"))
        _ask_for_all(ask, progress.through(range(asked), "seconds of dashboard"))
        after = psutil.Process(studio.pid).memory_info().rss
    finally:
        studio.kill()
        studio.wait()
    return Measured({"rss_growth_share": after / before - 1, "full_rss_mb": after / 1e6})


class _Asking:
    """Asks the studio as its page does."""

    def __init__(self, port: int) -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def __call__(self, name: str, **arguments: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        self._wire.request("POST", f"/timbre/call/{name}", json.dumps(arguments), headers)
        answer = self._wire.getresponse()
        said = json.loads(answer.read())
        if answer.status != 200:
            raise CannotMeasure(f"{name}: {said}")
        return said.get("data")


def _edit(ask: _Asking, workspace: Workspace, project: str, numbers: Any) -> None:
    with projects.open_project(workspace.projects / project) as opened:
        clip = opened.transcript.clips()[0]
    revision = clip.revision
    for number in numbers:
        changed = ask(
            "transcript.text", project=project, clip=clip.id, revision=revision,
            text=f"Take {number} of many.", since=revision,
        )  # fmt: skip
        revision = changed["revision"]


def _ask_for_all(ask: _Asking, numbers: Any) -> None:
    for _ in numbers:
        for name in ("now", "system", "system.jobs"):
            ask(name)


BENCHMARK = Benchmark(
    name="screen",
    about="The screen: how soon it is there, 2,000 clips in the editor, beside a gr.Dataframe.",
    figures=(
        Figure("start_s", "from the command to a page that can be used", "<= 6"),
        Figure("studio_rss_mb", "the studio's memory then", "<= 450"),
        *screen_editor.FIGURES,
        *screen_tabs.FIGURES,
        *screen_survives.FIGURES,
        Figure("dashboard_long_tasks", "tasks over 50 ms in half a minute of System", "== 0"),
        Figure("rss_growth_share", "over 2,000 edits and 1,800 rounds of System", "<= 0.05"),
        Figure(
            "half_hour_growth_share", "of the studio's memory in half an hour of System", "<= 0.05"
        ),
        Figure("page_growth_mb", "of what the page's scripts hold in that time"),
        Figure("full_rss_mb", "the studio's memory after that", "<= 450"),
        Figure("rival_start_s", "the same of a page with a gr.Dataframe"),
        Figure("rival_rss_mb", "its memory"),
        Figure("rival_first_content_s", "until 2,000 texts are in its table"),
        Figure("rival_edit_ms", "from Enter in a cell until the text stands"),
        Figure("rival_scroll_frame_ms_p95", "a frame while it is scrolled, 19 of 20"),
    ),
    measure=measure,
    parts=("start", "editor", "tabs", "dashboard", "survives", "memory", "half-hour", "rival"),
)
