"""What tests call: enumerate every operation of a scenario, and say readably what did not hold."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.faults import shim
from tests.faults.scenario import Scenario

needs_linux = pytest.mark.skipif(
    not shim.supported(), reason="the faults are injected with LD_PRELOAD, which only Linux has"
)
ROOT = Path(__file__).resolve().parents[2]
SHOWN = 8
# Each takes its share of the runs: they are short, many, and independent of each other.
PARTS = min(os.cpu_count() or 1, 4)


@dataclass(frozen=True)
class Tried:
    """What one enumeration did."""

    operations: list[str]
    """Of the run on a well disk, in order."""
    runs: dict[str, int]
    """How many times each fault or loss was tried."""
    endings: dict[str, int]
    """How the act ended, over all runs: "done", "exited", or the error's class."""
    failures: list[str]


def enumerate_faults(scenario: type[Scenario], tmp_path: Path, faults: Sequence[str] = ()) -> Tried:
    """
    Let operation k of the scenario go wrong, for every k and in every way; fail if it shows.

    `faults` chooses some of the ways by their names in shim.py.
    """
    return _hold(scenario, try_faults(scenario, tmp_path, faults))


def enumerate_power_loss(scenario: type[Scenario], tmp_path: Path) -> Tried:
    """Cut the power after operation k, for every k; check every disk that may be left."""
    return _hold(scenario, try_power_loss(scenario, tmp_path))


def try_faults(scenario: type[Scenario], tmp_path: Path, faults: Sequence[str] = ()) -> Tried:
    """As `enumerate_faults`, but report what did not hold instead of failing."""
    names = list(faults) or [fault.name for fault in shim.FAULTS]
    return _drive(scenario, tmp_path / "faults", json.dumps(names))


def try_power_loss(scenario: type[Scenario], tmp_path: Path) -> Tried:
    """As `enumerate_power_loss`, but report what did not hold instead of failing."""
    return _drive(scenario, tmp_path / "power", "power")


def _drive(scenario: type[Scenario], work: Path, what: str) -> Tried:
    # By file, not by __module__: pytest names a test file without the folders it is in.
    module = Path(inspect.getfile(scenario)).relative_to(ROOT).with_suffix("")
    name = f"{'.'.join(module.parts)}:{scenario.__name__}"
    processes = [_start(name, work / str(part), what, part) for part in range(PARTS)]
    reports = [_report(name, process) for process in processes]
    return Tried(
        reports[0]["operations"],
        _sum(report["runs"] for report in reports),
        _sum(report["endings"] for report in reports),
        # What does not hold on a well disk, every part has found.
        list(dict.fromkeys(failure for report in reports for failure in report["failures"])),
    )


def _start(name: str, work: Path, what: str, part: int) -> subprocess.Popen[str]:
    work.mkdir(parents=True)
    environment = {**os.environ, "LD_PRELOAD": str(_library()), "PYTHONPATH": str(ROOT)}
    arguments = [name, str(work.resolve()), what, str(part), str(PARTS)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.driver", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _report(name: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    said, error = process.communicate()
    if process.returncode != 0:
        pytest.fail(f"{name} could not be run:\n{error}", pytrace=False)
    report: dict[str, Any] = json.loads(said.splitlines()[-1])
    return report


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)


def _hold(scenario: type[Scenario], tried: Tried) -> Tried:
    if tried.failures:
        shown = "\n\n".join(tried.failures[:SHOWN])
        count = f"{len(tried.failures)} of {sum(tried.runs.values())} runs"
        pytest.fail(
            f"{scenario.__name__}: {count} did not hold. The first:\n\n{shown}", pytrace=False
        )
    # A test that breaks nothing proves nothing: an act outside the folder would look like this.
    assert tried.operations, f"{scenario.__name__} changed no file below its folder"
    return tried


@cache
def _library() -> Path:
    """Build the shim once for all tests of this process; the folder goes with the process."""
    folder = tempfile.TemporaryDirectory(prefix="timbre-shim-")
    _library.folder = folder  # type: ignore[attr-defined] # keeps it until the process ends
    try:
        return shim.build(Path(folder.name))
    except shim.NoCompilerError as error:
        pytest.fail(str(error), pytrace=False)
