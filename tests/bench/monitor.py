"""What the GPUs are doing: read in forty situations, a vanished one noticed, at what cost."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from finetune.monitor.driver import Driver
from finetune.monitor.machine import Machine
from finetune.monitor.sampler import Sampler
from tests import nvml
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Settings, together
from tests.nvml import StandIn, card, driver
from tests.nvml.situations import SITUATIONS, differences, read

WATCHED_SECONDS = 30
WAIT_SECONDS = 20.0
# A card that answers no more, one that answers nothing of use, one that is not listed, and a
# driver that goes with its card.
WAYS_TO_VANISH = (
    {"1": "!15"},
    {"1.busy": "!15"},
    {"count": 1},
    {"count": "!999"},
    {"1.busy": "~4 97"},
)


def measure(settings: Settings, progress: Progress) -> Measured:
    """Go through the situations, let a card vanish in each way, and watch two for a while."""
    parts = {"situations": measure_situations, "vanished": measure_vanished, "cost": measure_cost}
    with tempfile.TemporaryDirectory(prefix="timbre-bench-") as work:
        try:
            library = nvml.build(Path(work))
        except nvml.NoCompilerError as why:
            raise CannotMeasure(f"{why}.") from None
        with nvml.in_place_of_the_driver(library, Path(work) / "answers") as stand_in:
            return together(
                [part(stand_in, settings, progress) for name, part in parts.items()
                 if settings.wants(name)]
            )  # fmt: skip


def measure_situations(stand_in: StandIn, settings: Settings, progress: Progress) -> Measured:
    """Count exceptions, and what was read otherwise than it should be."""
    exceptions, notes = 0, []
    for situation in progress.through(SITUATIONS, "situations"):
        try:
            wrong = differences(read(stand_in, situation), situation)
        except Exception as error:
            exceptions, wrong = exceptions + 1, [repr(error)]
        notes += [f"{situation.name}: {each}" for each in wrong]
    figures = {"situations": len(SITUATIONS), "exceptions": exceptions, "misread": len(notes)}
    return Measured(figures, tuple(notes))


def measure_vanished(stand_in: StandIn, settings: Settings, progress: Progress) -> Measured:
    """Tell the longest until the newest reading shows that a card vanished."""
    taken = [_vanished(stand_in, how) for how in progress.through(WAYS_TO_VANISH, "vanished cards")]
    return Measured({"vanished_s": max(taken)})


def measure_cost(stand_in: StandIn, settings: Settings, progress: Progress) -> Measured:
    """Tell what share of one core it takes to watch two cards at work."""
    seconds = settings.rounds or WATCHED_SECONDS
    busy = {"processes": f"1:{1024 * nvml.MIB}"}
    with _watching(stand_in, driver(card(0, **busy), card(1, **busy))):
        began, spent = time.monotonic(), time.process_time()
        for _ in progress.through(range(seconds), "seconds"):
            time.sleep(1)
        spent, took = time.process_time() - spent, time.monotonic() - began
    return Measured({"watched_s": took, "monitor_cpu_share": spent / took})


def _vanished(stand_in: StandIn, how: nvml.Answers) -> float:
    both = driver(card(0), card(1))
    with _watching(stand_in, both) as sampler:
        began = time.monotonic()
        stand_in.answer(how | {key: both[key] for key in both if key not in how})
        _until(lambda: not _has_both(sampler))
        return time.monotonic() - began


class _watching:
    """A sampler at work, as the studio has it."""

    def __init__(self, stand_in: StandIn, answers: nvml.Answers) -> None:
        stand_in.hide()
        stand_in.answer(answers)
        self._sampler = Sampler(Driver(), Machine(Path()))

    def __enter__(self) -> Sampler:
        self._sampler.start()
        _until(lambda: _has_both(self._sampler))
        return self._sampler

    def __exit__(self, *_: object) -> None:
        self._sampler.stop()


def _has_both(sampler: Sampler) -> bool:
    """Whether the newest reading has two cards that answer."""
    newest = sampler.latest()
    return newest is not None and sum(not each.problem for each in newest.gpus.cards) == 2


def _until(true: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > WAIT_SECONDS:
            raise CannotMeasure(f"nothing was noticed in {WAIT_SECONDS:.0f} s")
        time.sleep(0.01)


BENCHMARK = Benchmark(
    name="monitor",
    about="Watching the GPUs: what drivers answer, a card that vanishes, what it costs.",
    figures=(
        Figure("situations", "of a driver, from a healthy one to one that hangs", ">= 40"),
        Figure("exceptions", "while they were read", "== 0"),
        Figure("misread", "figures otherwise than told, or guessed where nothing is", "== 0"),
        Figure("vanished_s", "until a vanished card shows, the longest of five ways", "< 5"),
        Figure("watched_s", "two cards at work, once a second"),
        Figure("monitor_cpu_share", "of one core that it took", "< 0.005"),
    ),
    measure=measure,
    parts=("situations", "vanished", "cost"),
)
