"""Faults seeded into a copy of the code, one at a time: each must turn one of its tests red."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Settings
from tests.bench.seeds import SEEDS, Seed

ROOT = Path(__file__).parents[2]
AT_ONCE = 2
# A fault may make a test wait for ever; that is red as well, only later.
TEST_SECONDS = 60
RUN_SECONDS = 600
_RED = 1
# Carried by every process of a run, so that those a fault makes stray are found.
_MARK = "TIMBRE_BENCH_MUTANT"


def measure(settings: Settings, progress: Progress) -> Measured:
    """See that all is green without a fault, then seed one after the other."""
    seeds = SEEDS[: settings.rounds] if settings.rounds else SEEDS
    for seed in seeds:
        mutated((ROOT / seed.file).read_text(encoding="utf-8"), seed)
    _be_sure_that_all_is_green(seeds)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(is_caught, seed) for seed in seeds]
        caught = [each.result() for each in progress.through(running, "seeded faults")]
    survivors = [seed for seed, red in zip(seeds, caught, strict=True) if not red]
    notes = [f"No test notices that {seed.name} ({seed.file})." for seed in survivors]
    return Measured({"mutants": len(seeds), "mutants_caught": sum(caught)}, tuple(notes))


def mutated(content: str, seed: Seed) -> str:
    """The file with the fault in it; a fault that does not fit the code any more is an error."""
    found = content.count(seed.old)
    if found != 1:
        raise CannotMeasure(
            f"the fault {seed.name!r} no longer fits {seed.file}:"
            f" its piece of code is there {found} times; see tests/bench/seeds.py"
        )
    return content.replace(seed.old, seed.new)


def is_caught(seed: Seed) -> bool:
    """Whether one of its tests turns red with the fault."""
    with _copy() as folder:
        path = folder / seed.file
        path.write_text(mutated(path.read_text(encoding="utf-8"), seed), encoding="utf-8")
        code, said = _test(folder, seed.tests)
    if code not in (0, _RED):
        raise CannotMeasure(f"with the fault {seed.name!r} the tests do not run: {said[-2000:]}")
    return code == _RED


def _be_sure_that_all_is_green(seeds: Sequence[Seed]) -> None:
    with _copy() as folder:
        code, said = _test(folder, sorted({test for seed in seeds for test in seed.tests}))
    if code != 0:
        raise CannotMeasure(f"tests are red without any fault:\n{said[-4000:]}")


@contextmanager
def _copy() -> Iterator[Path]:
    """A copy of what git has or would take; fresh each time, so that no compiled file is stale."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="timbre-bench-", ignore_cleanup_errors=True) as work:
        folder = Path(work, "timbre")
        for name in filter(None, names.decode().split("\0")):
            if (ROOT / name).is_file():  # one that was deleted is listed still
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        yield folder


def _test(folder: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests of a copy, with this environment's Python and nothing of our own tree."""
    options = ["-x", "-q", "-p", "no:cacheprovider", f"--timeout={TEST_SECONDS}"]
    argv = [sys.executable, "-m", "pytest", *options, f"--basetemp={folder.parent / 'pytest'}"]
    environment = {**os.environ, "PYTHONPATH": str(folder), _MARK: str(folder)}
    # To a file: a stray process that holds a pipe would keep us waiting for its end.
    log = folder.parent / "log"
    try:
        with log.open("wb") as out:
            code = subprocess.call(
                [*argv, *tests],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=RUN_SECONDS,
            )
    except subprocess.TimeoutExpired:
        code = _RED
    finally:
        _end_strays(str(folder))
    return code, log.read_text(encoding="utf-8", errors="replace")


def _end_strays(mark: str) -> None:
    for process in psutil.process_iter():
        try:
            if process.environ().get(_MARK) == mark:
                process.kill()
        except (psutil.Error, OSError):
            continue  # gone meanwhile, or not ours


BENCHMARK = Benchmark(
    name="mutants",
    about="Faults seeded into the code, one at a time: each turns a test red.",
    figures=(
        Figure("mutants", "faults that were seeded"),
        Figure("mutants_caught", "of these, noticed by a test", "== mutants"),
    ),
    measure=measure,
)
