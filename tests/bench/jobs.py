"""kill -9 around jobs: they go on, are found again, start once, and leave nothing behind."""

from __future__ import annotations

from tests.bench import jobs_doubles, jobs_found, jobs_orders, jobs_slowdown
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, Measured, Settings, together

PARTS = {
    "found": jobs_found,
    "slowdown": jobs_slowdown,
    "doubles": jobs_doubles,
    "orders": jobs_orders,
}


def measure(settings: Settings, progress: Progress) -> Measured:
    """Measure each part in a workspace of its own."""
    parts = [part for name, part in PARTS.items() if settings.wants(name)]
    measured = [part.measure(settings, progress) for part in parts]
    strays = [each.figures["strays"] for each in measured if "strays" in each.figures]
    return together([*measured, Measured({"strays": sum(strays)} if strays else {})])


BENCHMARK = Benchmark(
    name="jobs",
    about="kill -9 of studio, keeper and job: the work goes on, is found, and starts once.",
    figures=tuple(figure for part in PARTS.values() for figure in part.FIGURES),
    measure=measure,
    parts=tuple(PARTS),
)
