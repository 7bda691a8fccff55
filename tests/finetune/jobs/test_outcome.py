"""How an exit is classified."""

from __future__ import annotations

import pytest

from engines.errors import DiskFullError, NameProblem, UnlearnableError
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
        (Exit(1), "RuntimeError: MPS backend out of memory (MPS allocated: 5 GB)", "gpu-memory"),
        (Exit(1), "torch.AcceleratorError: CUBLAS_STATUS_ALLOC_FAILED", "gpu-memory"),
        (Exit(1), "DefaultCPUAllocator: not enough memory: you tried to allocate", "memory"),
        (Exit(1), "OSError: [WinError 1455] The paging file is too small", "memory"),
        (Exit(1), "OSError: [Errno 122] Disk quota exceeded", "disk-full"),
        (Exit(-40), "", "bug"),
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
        ([UnlearnableError("Its loss broke.", "Again.")], "not-learning", "Its loss broke."),
    ],
)
def test_an_exception_is_put_in_words_by_the_first_one_it_came_from(errors, cause, what):
    failure = failure_of(raised(*errors))

    assert failure.cause == cause and cause in CAUSES
    assert what in failure.what


def test_an_error_raised_from_itself_is_followed_once():
    error = ValueError("round and round")
    error.__cause__ = error

    assert failure_of(error).what == "ValueError: round and round"


def test_an_error_that_was_handled_before_is_not_what_happened():
    try:
        try:
            raise KeyError("speaker")
        except KeyError:
            raise RuntimeError("the real one") from None
    except RuntimeError as caught:
        error = caught

    assert failure_of(error).what == "RuntimeError: the real one"


def test_a_long_text_is_cut_so_that_the_last_word_fits_its_line():
    assert len(failure_of(ValueError("x" * 1_000_000)).what) <= 2000


def test_a_full_disk_of_ours_is_a_full_disk():
    full = DiskFullError("The disk that holds it is full (0 MB free).", "Free some space.")

    assert failure_of(full).cause == "disk-full"


def test_an_error_that_was_only_spoken_of_is_not_the_cause():
    log = "retrying after MemoryError\nTraceback (most recent call last):\n  x\nKeyError: 'a'\n"

    assert classify(None, Exit(1), log).cause == "bug"


def test_an_earlier_error_that_was_logged_is_not_the_first_cause():
    logged = "Traceback (most recent call last):\n  x\nImportError: no triton, going on\n"

    assert first_cause(logged + "step 1\n" + TWO_ERRORS).startswith("OSError: [Errno 28]")


def test_gpu_memory_that_does_not_come_back_is_said():
    outcome = Outcome("stopped", "Ended.").with_gpu_memory_held(3174)

    assert outcome.fix == "3.1 GB of GPU memory have not come back: restart the computer."
