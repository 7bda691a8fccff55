"""A benchmark, its figures and their limits, and what came out of it. Decisions only."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from tests.bench.machine import Machine
from tests.bench.progress import Progress

KNOWN = {
    "kills": "tests.bench.kills",
    "jobs": "tests.bench.jobs",
    "mutants": "tests.bench.mutants",
    "store": "tests.bench.store",
    "dataset": "tests.bench.dataset",
    "long": "tests.bench.long",
    "trainer": "tests.bench.trainer",
    "resume": "tests.bench.resume",
    "pocket": "tests.bench.pocket",
    "planner": "tests.bench.planner",
    "monitor": "tests.bench.monitor",
    "screen": "tests.bench.screen",
    "speaking": "tests.bench.speaking",
}
HEADS = ("Date", "Machine", "Command", "Figure", "Value", "Limit")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


class CannotMeasure(Exception):
    """Why a benchmark could not be done here, in a sentence. A missed limit is not one."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number a benchmark tells, and what was promised of it."""

    name: str
    about: str
    limit: str = ""
    """A comparison with a number or with another figure ("== 0", "== mutants"), or nothing."""

    def holds(self, figures: Mapping[str, float]) -> bool | None:
        """Whether the promise is kept; None without one, or when it was not measured."""
        sign, _, bound = self.limit.partition(" ")
        limit = figures.get(bound) if bound.isidentifier() else float(bound or 0)
        if not self.limit or self.name not in figures or limit is None:
            return None
        return _COMPARE[sign](figures[self.name], limit)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person chose for one measurement."""

    rounds: int | None = None
    """Instead of each part's own number, for a quick look."""
    parts: tuple[str, ...] = ()
    gpu: bool = False

    def wants(self, part: str) -> bool:
        return not self.parts or part in self.parts


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out: the numbers, and what is worth a line beside them."""

    figures: Mapping[str, float]
    notes: tuple[str, ...] = ()


def together(measured: Sequence[Measured]) -> Measured:
    """Join what the parts of one benchmark measured."""
    figures = {name: value for each in measured for name, value in each.figures.items()}
    return Measured(figures, tuple(note for each in measured for note in each.notes))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One thing that can be measured."""

    name: str
    about: str
    figures: tuple[Figure, ...]
    measure: Callable[[Settings, Progress], Measured]
    parts: tuple[str, ...] = ()
    """What of it can be measured alone."""
    for_gpu: bool = False
    """Whether it measures something more where there is a GPU."""


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured, when, where and how: all a reader needs to measure it again."""

    benchmark: Benchmark
    date: str
    machine: Machine
    command: str
    measured: Measured

    def as_json(self) -> dict[str, Any]:
        said = {
            "bench": self.benchmark.name,
            "date": self.date,
            "machine": asdict(self.machine),
            "command": self.command,
            "figures": dict(self.measured.figures),
        }
        return {**said, "notes": list(self.measured.notes)} if self.measured.notes else said

    def rows(self) -> Iterator[tuple[Figure, float, bool | None]]:
        """List the measured figures in the benchmark's order, and whether each limit holds."""
        figures = self.measured.figures
        for figure in self.benchmark.figures:
            if figure.name in figures:
                yield figure, figures[figure.name], figure.holds(figures)


def find(name: str) -> Benchmark:
    """Load a known benchmark."""
    found: Benchmark = import_module(KNOWN[name]).BENCHMARK
    return found


def command(name: str, settings: Settings) -> str:
    """What a person types to measure this again."""
    words = ["python launch.py bench", name]
    words += ["--gpu"] if settings.gpu else []
    words += [f"--only {part}" for part in settings.parts]
    words += [f"--rounds {settings.rounds}"] if settings.rounds else []
    return " ".join(words)


def in_digits(value: float) -> str:
    """Write a number for people: whole ones whole, others with four digits that matter."""
    whole = isinstance(value, int) or value.is_integer()
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def with_result(page: str, result: Result) -> str:
    """Put a result into the page, in place of what the same command said on the same machine."""
    lines = page.rstrip("\n").splitlines()
    head, rule = _table_row(HEADS), _table_row(["---"] * len(HEADS))
    if head not in lines:
        lines += [*([""] if lines else []), head, rule]
    begin = lines.index(head) + 2
    end = begin
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    kept, place = _without(lines[begin:end], result)
    kept[place:place] = list(_result_rows(result))
    return "\n".join([*lines[:begin], *kept, *lines[end:], ""])


def _without(rows: list[str], result: Result) -> tuple[list[str], int]:
    """Leave out the rows of an earlier result of this kind, and tell where they were."""
    same = [row for row in rows if _cells(row)[1:3] == _where_and_how(result)]
    place = rows.index(same[0]) if same else len(rows)
    return [row for row in rows if row not in same], place


def _result_rows(result: Result) -> Iterator[str]:
    for figure, value, holds in result.rows():
        limit = figure.limit if holds is not False else f"{figure.limit}, missed"
        cells = (result.date[:10], *_where_and_how(result), f"`{figure.name}`")
        yield _table_row([*cells, in_digits(value), limit])


def _where_and_how(result: Result) -> list[str]:
    return [result.machine.in_words().replace("|", "/"), f"`{result.command}`"]


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]
