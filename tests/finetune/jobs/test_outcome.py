"""How an exit is classified."""

from __future__ import annotations

import pytest

from engines.errors import NameProblem
from finetune.jobs.events import Failed, Finished, Progress, Stopped
from finetune.jobs.outcome import CAUSES, Exit, Outcome, classify, failure_of, first_cause

TWO_ERRORS = """step 1
Traceback (most recent call last):
  File "a.py", line 1, in work
    open("x")
OSError: [Errno 28] No space left on device: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in work
    close()
ValueError: not open
"""


@pytest.mark.parametrize(
    ("end", "log", "cause"),
    [
        (Exit(1), "torch.OutOfMemoryError: CUDA out of memory. Tried to", "gpu-memory"),
        (Exit(1), "RuntimeError: CUDA error: out of memory", "gpu-memory"),
        (Exit(1), "MemoryError", "memory"),
        (
            Exit(1),
            "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory",
            "memory",
        ),
        (Exit(-9), "", "memory"),
        (Exit(137), "step 3", "memory"),
        (Exit(-9, ram_ran_out=True), "", "memory"),
        (Exit(1), TWO_ERRORS, "disk-full"),
        (Exit(1), "OSError: [WinError 112] There is not enough space on the disk", "disk-full"),
        (Exit(1, disk_full=True), "step 3", "disk-full"),
        (Exit(None), "step 3", "interrupted"),
        (Exit(-15), "step 3", "interrupted"),
        (Exit(-11), "", "bug"),
        (Exit(3), "", "bug"),
        (Exit(0), "", "bug"),
        (Exit(0, stop_asked=True), "", "stopped"),
        (Exit(-15, stop_asked=True, ended_by_us=True), "", "stopped"),
        (Exit(-9, stop_asked=True, ended_by_us=True), "", "stopped"),
    ],
)
def test_an_exit_without_a_last_word_is_told_from_code_and_log(end, log, cause):
    outcome = classify(Progress(1, 2, "steps"), end, log)

    assert outcome.cause == cause
    assert outcome.what.endswith(".")


@pytest.mark.parametrize("code", [0, 1, -6, -9, -11, 137, None])
def test_the_last_word_counts_more_than_what_happens_while_things_are_taken_down(code):
    assert classify(Finished("20 steps."), Exit(code), "Aborted").cause == "finished"
    assert classify(Stopped(), Exit(code, stop_asked=True, ended_by_us=True), "").cause == "stopped"
    assert classify(Failed("bad-input", "Empty.", "Choose."), Exit(code), "").cause == "bad-input"


def test_the_first_cause_is_shown_first_with_forty_lines_behind_it():
    outcome = classify(None, Exit(1), "line\n" * 200 + TWO_ERRORS)

    assert outcome.first_cause == "OSError: [Errno 28] No space left on device: 'x'"
    assert len(outcome.log) == 40
    assert outcome.log[-1] == "ValueError: not open"


def test_a_log_without_an_error_has_no_first_cause():
    assert first_cause("step 1\nstep 2\n") == ""


def raised(*errors):
    """An exception as Python chains it: each raised while the one before was handled."""
    try:
        try:
            raise errors[0]
        except Exception as first:
            if len(errors) == 1:
                raise
            raise errors[1] from first
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("errors", "cause", "what"),
    [
        ([MemoryError()], "memory", "RAM"),
        ([OSError(28, "No space left on device"), ValueError("later")], "disk-full", "disk"),
        ([RuntimeError("CUDA out of memory."), KeyError("x")], "gpu-memory", "GPU"),
        ([KeyError("first"), ValueError("later")], "bug", "KeyError: 'first'"),
        ([NameProblem("The name is empty.", "Type one.")], "bad-input", "The name is empty."),
    ],
)
def test_an_exception_is_put_in_words_by_the_first_one_it_came_from(errors, cause, what):
    failure = failure_of(raised(*errors))

    assert failure.cause == cause and cause in CAUSES
    assert what in failure.what


def test_gpu_memory_that_does_not_come_back_is_said():
    outcome = Outcome("stopped", "Ended.").with_gpu_memory_held(3174)

    assert outcome.fix == "3.1 GB of GPU memory have not come back: restart the computer."
