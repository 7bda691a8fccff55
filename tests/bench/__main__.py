"""`python -m tests.bench NAME`, which `launch.py bench` calls: measure, print, keep."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from engines.errors import StudioError
from tests.bench import machine, record
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Measured, Result, Settings
from voices import files, workspace

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
_PAGE_TITLE = "# Performance\n\nWhat was measured; the command measures it again.\n"
_MISUSED = 2


def main(arguments: Sequence[str], page: Path = PAGE) -> int:
    """Do what was typed and return the exit code: 0 when it could measure, limits missed or not."""
    chosen = _parser().parse_args(arguments)
    if chosen.name == "list":
        return _list(chosen.json)
    if chosen.name not in record.KNOWN:
        return _refuse(f"There is no benchmark {chosen.name!r}. There is: {_names()}.")
    benchmark = record.find(chosen.name)
    settings = Settings(chosen.rounds, tuple(chosen.only), chosen.gpu)
    if unfit := _unfit(benchmark, settings):
        return _refuse(unfit)
    try:
        measured = benchmark.measure(settings, Progress())
    except (CannotMeasure, StudioError) as problem:
        sys.stderr.write(f"{benchmark.name} could not be measured: {problem}\n")
        return 1
    result = _result(benchmark, settings, measured)
    _print(result, chosen.json)
    if chosen.record:
        keep(result, page)
    return 0


def keep(result: Result, page: Path) -> None:
    """Write a result into the page of results."""
    before = page.read_text(encoding="utf-8") if page.exists() else _PAGE_TITLE
    files.write_bytes(page, record.with_result(before, result).encode())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("launch.py bench", description=__doc__)
    parser.add_argument("name", help="which one; `list` names them")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--gpu", action="store_true", help="measure what only a GPU shows")
    parser.add_argument("--record", action="store_true", help="keep it in docs/performance.md")
    parser.add_argument("--rounds", type=_positive, help="fewer, for a quick look")
    parser.add_argument("--only", action="append", default=[], help="one part of it")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one round")
    return number


def _unfit(benchmark: Benchmark, settings: Settings) -> str:
    """Why this benchmark cannot be measured as chosen."""
    if settings.gpu and not benchmark.for_gpu:
        return f"{benchmark.name} has nothing to measure on a GPU: leave --gpu out."
    strange = [part for part in settings.parts if part not in benchmark.parts]
    if strange:
        known = ", ".join(benchmark.parts) or "none"
        return f"{benchmark.name} has no part {strange[0]!r}. Its parts: {known}."
    return ""


def _result(benchmark: Benchmark, settings: Settings, measured: Measured) -> Result:
    command = record.command(benchmark.name, settings)
    return Result(benchmark, workspace.now(), machine.this(), command, measured)


def _list(as_json: bool) -> int:
    abouts = {name: record.find(name).about for name in record.KNOWN}
    if as_json:
        _say(json.dumps(abouts, ensure_ascii=False))
        return 0
    table = Table(box=None, show_header=False)
    for name, about in abouts.items():
        table.add_row(name, about)
    Console().print(table)
    return 0


def _print(result: Result, as_json: bool) -> None:
    if as_json:
        _say(json.dumps(result.as_json(), ensure_ascii=False))
        return
    table = Table("Figure", "Value", "Limit", "Holds", "What it is", title=result.command)
    words = {True: "[green]yes[/]", False: "[bold red]no[/]", None: ""}
    for figure, value, holds in result.rows():
        table.add_row(
            figure.name, record.in_digits(value), figure.limit, words[holds], figure.about
        )
    console = Console()
    console.print(table)
    for note in result.measured.notes:
        console.print(note, markup=False)
    console.print(result.machine.in_words(), markup=False, style="dim")


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return _MISUSED


def _names() -> str:
    return ", ".join([*record.KNOWN, "list"])


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
