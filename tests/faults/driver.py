"""
The process a scenario runs in, with shim.c loaded: `python -m tests.faults.driver ...`.

Preparing and acting each happen in a forked child, which takes milliseconds, so that nothing of
an interrupted act is left but its files. All checks happen here. Prints one JSON report.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults import disk, shim
from tests.faults.scenario import Outcome, Scenario

# Long for milliseconds of work, short for a check that waits for a lock nobody will give back.
SECONDS = 20
EXITED = 99


@dataclass
class Report:
    """What was tried, and what did not hold."""

    operations: list[str] = field(default_factory=list)
    """Of the run on a well disk."""
    runs: dict[str, int] = field(default_factory=dict)
    """How many times each fault or loss was tried."""
    endings: dict[str, int] = field(default_factory=dict)
    """How the act ended, over all runs."""
    failures: list[str] = field(default_factory=list)

    def ran(self, how: str) -> None:
        self.runs[how] = self.runs.get(how, 0) + 1

    def ended(self, how: str) -> None:
        self.endings[how] = self.endings.get(how, 0) + 1


class Runner:
    """Runs one scenario in a folder of its own, again and again from the same start."""

    def __init__(self, scenario: Scenario, work: Path, part: int, parts: int) -> None:
        self.scenario = scenario
        self.part, self.parts = part, parts
        # Always the same path, so that a path a scenario stores stays true.
        self.folder = work / "folder"
        self.start = work / "start"
        self.trace = work / "trace"
        self.report = Report()

    def prepare(self) -> None:
        self.folder.mkdir()
        said = _in_child(lambda: self.scenario.prepare(self.folder))
        if said is not None:
            sys.exit(f"prepare() did not work:\n{_words(said)}")
        self.folder.rename(self.start)

    def lay_out(self) -> None:
        self.clear()
        shutil.copytree(self.start, self.folder, symlinks=True)

    def act(self, at: int, fault: shim.Fault | None, *, keeps_data: bool = False) -> Outcome:
        """Run the act in the folder as it lies, with one operation going wrong."""
        said = _in_child(lambda: self._armed(at, fault, keeps_data))
        marks = tuple(op.path for op in self.operations() if op.name == "mark")
        known = {"fault": fault.name if fault else "", "acknowledged": marks}
        if said is None:
            return Outcome("done", **known)
        if isinstance(said, int):
            return Outcome("exited", message=f"with {said}", **known)
        error = tuple(said["kinds_of_error"]), said["message"], said["errno"]
        return Outcome("raised", *error, **known)

    def operations(self) -> list[shim.Operation]:
        return list(shim.read_trace(self.trace))

    def clear(self) -> None:
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def check(self, outcome: Outcome, when: Callable[[], str]) -> None:
        """Run the check, and note what it says."""
        files_open = _files_open()
        said = _tried(lambda: self.scenario.check(self.folder, outcome))
        self.report.ended((*outcome.kinds_of_error, outcome.kind)[0])
        if outcome.is_a(TooLong.__name__):
            self.fails(when(), outcome, "The act did not come to an end.")
        elif said is not None:
            self.fails(when(), outcome, _words(said))
        elif _files_open() != files_open:
            # A file forgotten here may be what the next check trips over.
            self.fails(when(), outcome, "The check left a file open.")

    def fails(self, when: str, outcome: Outcome, why: str) -> None:
        self.report.failures.append(f"{when}\n  the act ended: {outcome}\n  {why}")

    def _armed(self, at: int, fault: shim.Fault | None, keeps_data: bool) -> None:
        shim.arm(self.folder, at, fault, self.trace, keeps_data=keeps_data)
        self.scenario.act(self.folder)


def faults(runner: Runner, chosen: list[shim.Fault]) -> None:
    """Fail at operation k in every way, for k = 1, 2, 3 ... until a run gets past its end."""
    runner.lay_out()
    well = runner.act(0, None)
    steps = [op for op in runner.operations() if op.name != "mark"]
    runner.report.operations = [op.describe(runner.folder) for op in steps]
    runner.check(well, lambda: "On a disk that is well:")
    if runner.report.failures or _ended_badly(runner, well):
        return
    tries = [(at, fault) for fault in chosen for at in range(1, len(steps) + 1)]
    for at, fault in tries[runner.part :: runner.parts]:
        if fault.can_strike(steps[at - 1]):
            _one_fault(runner, at, fault)


def _ended_badly(runner: Runner, well: Outcome) -> bool:
    """Whether the act fails by itself; then the rest would only repeat it."""
    if not well.done:
        runner.report.failures.append(f"On a disk that is well, the act ended: {well}")
    return not well.done


def _one_fault(runner: Runner, at: int, fault: shim.Fault) -> None:
    runner.lay_out()
    outcome = runner.act(at, fault)
    steps = [op for op in runner.operations() if op.name != "mark"]
    if not any(op.struck for op in steps):
        return  # this run took another way and did not come to operation `at`

    def when() -> str:
        what = steps[at - 1].describe(runner.folder)
        return f"{fault.name}, at operation {at} of {len(steps)} ({what}):"

    if outcome.kind == "exited" and outcome.message != f"with {EXITED}":
        runner.fails(when(), outcome, "The act died, and nobody had ended it.")
    runner.report.ran(fault.name)
    runner.check(outcome, when)


def power_loss(runner: Runner) -> None:
    """Cut the power after each operation of one run; check every disk that may be left."""
    runner.lay_out()
    model = disk.Disk(runner.folder)
    well = runner.act(0, None, keeps_data=True)
    if _ended_badly(runner, well):
        return
    operations = runner.operations()
    runner.report.operations = [op.describe(runner.folder) for op in operations]
    real = disk.read_tree(runner.folder)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    marks: tuple[str, ...] = ()
    for step, operation in enumerate([None, *operations]):
        if operation is not None:
            model.apply(operation)
            if operation.name == "mark":
                marks += (operation.path,)
        for loss in disk.LOSSES:
            tree = model.after(loss, seed=step)
            state = (_digest(tree), marks)
            if step % runner.parts == runner.part and state not in seen:
                seen.add(state)
                _one_loss(runner, tree, marks, f"{loss.name}, after operation {step}", operation)
    for name in disk.differences(model.after(disk.EVERYTHING_LASTS, seed=0), real):
        runner.report.failures.append(f"{name} was changed in a way the shim does not see.")


def _one_loss(
    runner: Runner, tree: disk.Tree, marks: tuple[str, ...], when: str, last: Any
) -> None:
    runner.clear()
    runner.folder.mkdir()
    disk.write_tree(tree, runner.folder)
    runner.report.ran(when.partition(", after")[0])
    what = last.describe(runner.folder) if last else "nothing yet"
    runner.check(Outcome("power lost", acknowledged=marks), lambda: f"{when} ({what}):")


def _digest(tree: disk.Tree) -> str:
    return hashlib.sha256(repr(sorted(tree.items())).encode()).hexdigest()


def _in_child(work: Callable[[], None]) -> dict[str, Any] | int | None:
    """Do it in a fork: None, or what it raised, or the status it ended with."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(said) if said else status or None


def _child(work: Callable[[], None], writer: int) -> None:
    said = _tried(work)
    shim.disarm()
    os.write(writer, json.dumps(said).encode() if said else b"")
    # Not sys.exit: what was not written by now must not be written by a tidy interpreter.
    os._exit(0)


def _tried(work: Callable[[], None]) -> dict[str, Any] | None:
    """Do it: None, or what it raised."""
    signal.alarm(SECONDS)
    try:
        work()
    except BaseException as error:
        return _told(error)
    finally:
        signal.alarm(0)
    return None


class TooLong(BaseException):
    """Not an Exception, and no TimeoutError: that is an OSError, which an act may well raise."""


def _too_long(*_: object) -> None:
    raise TooLong(f"It took more than {SECONDS} seconds.")


def _told(error: BaseException) -> dict[str, Any]:
    """An error as plain words; only these leave the child."""
    chain: BaseException | None = error
    number = None
    while chain is not None and number is None:
        number = getattr(chain, "errno", None)
        chain = chain.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if frame.filename != __file__][-2:]
    return {
        "kinds_of_error": [kind.__name__ for kind in type(error).__mro__],
        "message": str(error),
        "errno": number,
        "told": "".join(
            traceback.format_list(theirs) + traceback.format_exception_only(error)
        ).strip(),
    }


def _files_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _words(said: dict[str, Any] | int) -> str:
    return said["told"] if isinstance(said, dict) else f"It died with {said}."


def _scenario(name: str) -> Scenario:
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)()
    assert isinstance(found, Scenario), f"{name} is not a Scenario"
    return found


def main(name: str, work: str, what: str, part: str, parts: str) -> None:
    signal.signal(signal.SIGALRM, _too_long)
    runner = Runner(_scenario(name), Path(work), int(part), int(parts))
    runner.prepare()
    if what == "power":
        power_loss(runner)
    else:
        faults(runner, [fault for fault in shim.FAULTS if fault.name in json.loads(what)])
    print(json.dumps(vars(runner.report)))


if __name__ == "__main__":
    main(*sys.argv[1:])
