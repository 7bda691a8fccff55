"""The harness against writers whose faults are known, and the model against the real disk."""

from __future__ import annotations

import errno

import pytest

from tests.faults import enumerate_faults, enumerate_power_loss, shim, writers
from tests.faults.harness import needs_linux, try_faults, try_power_loss

pytestmark = needs_linux


def test_a_file_written_in_place_is_caught_losing_the_old_text(tmp_path):
    tried = try_faults(writers.InPlace, tmp_path)

    assert any("neither old nor new, but 0 characters" in failure for failure in tried.failures)
    assert any(failure.startswith("the process ends, at") for failure in tried.failures)


def test_a_missing_sync_is_caught_by_a_power_loss_only(tmp_path):
    assert try_faults(writers.WithoutSync, tmp_path).failures == []

    failures = try_power_loss(writers.WithoutSync, tmp_path).failures

    assert any("unsynced data is lost, after operation 3 (rename" in line for line in failures)


def test_a_folder_that_is_not_synced_is_caught_once_the_new_text_was_promised(tmp_path):
    (failure,) = try_power_loss(writers.WithoutFolderSync, tmp_path).failures

    assert "what was acknowledged is lost" in failure


def test_temporary_file_sync_rename_sync_passes_every_fault_and_every_power_loss(tmp_path):
    faults = enumerate_faults(writers.Correct, tmp_path)
    losses = enumerate_power_loss(writers.Correct, tmp_path)

    names = [operation.split()[0] for operation in faults.operations]
    assert names == ["open", "write", "fsync", "rename", "fsync"]
    # Five operations, all ways to fail; "in the middle" and "half" only where there is a write.
    assert faults.runs == {fault.name: 1 if fault.action >= 4 else 5 for fault in shim.FAULTS}
    assert sum(losses.runs.values()) >= 5


def test_an_error_reaches_python_with_its_number(tmp_path):
    tried = try_faults(writers.Shows, tmp_path, ["no space, once"])

    assert len(tried.failures) == 5
    assert all(f"[Errno {errno.ENOSPC}] No space left" in line for line in tried.failures)


def test_a_half_taken_write_that_nobody_noticed_is_caught(tmp_path):
    (failure,) = try_faults(writers.TrustsOneWrite, tmp_path).failures

    assert failure.startswith("half a write, and no error, at operation 2 of 5 (write text.tmp)")


def test_an_error_that_is_hidden_from_the_user_is_caught(tmp_path):
    failures = try_faults(writers.HidesErrors, tmp_path).failures

    assert all("what was acknowledged is lost" in line for line in failures)
    assert {line.partition(", at")[0] for line in failures} == {
        "no space, once",
        "no space from here on",
        "an I/O error, once",
        "I/O errors from here on",
    }


def test_the_model_of_the_disk_follows_every_kind_of_call(tmp_path):
    tried = enumerate_power_loss(writers.Everything, tmp_path)  # compares both at the end

    assert {operation.split()[0] for operation in tried.operations} == {
        *("open", "write", "truncate", "fsync", "mkdir", "rmdir"),
        *("rename", "link", "symlink", "unlink"),
    }


def test_every_kind_of_call_can_fail(tmp_path):
    tried = enumerate_faults(writers.Everything, tmp_path, ["an I/O error, once"])

    assert tried.runs["an I/O error, once"] == len(tried.operations)


def test_a_write_the_shim_cannot_see_is_said(tmp_path):
    (failure,) = try_power_loss(writers.Mapped, tmp_path).failures

    assert failure == "text was changed in a way the shim does not see."


def test_sqlite_with_full_sync_keeps_every_acknowledged_commit(tmp_path):
    faults = enumerate_faults(writers.SqliteWal, tmp_path)
    losses = enumerate_power_loss(writers.SqliteWal, tmp_path)

    assert len(faults.operations) > 5
    assert {"mark one", "mark two"} <= set(losses.operations)


def test_sqlite_with_normal_sync_is_caught_losing_an_acknowledged_commit(tmp_path):
    assert try_faults(writers.SqliteWalNormal, tmp_path).failures == []

    failures = try_power_loss(writers.SqliteWalNormal, tmp_path).failures

    assert any("('one',) acknowledged, [] found" in line for line in failures)


def test_failures_are_told_with_operation_file_and_reason(tmp_path):
    with pytest.raises(pytest.fail.Exception) as caught:
        enumerate_power_loss(writers.WithoutSync, tmp_path)

    told = str(caught.value)
    assert "runs did not hold. The first:" in told
    assert "after operation 3 (rename text.tmp to text)" in told
    assert "neither old nor new, but 0 characters" in told


def test_without_a_compiler_the_tests_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))

    with pytest.raises(shim.NoCompilerError, match="Install gcc or set CC"):
        shim.build(tmp_path)
