"""What the doctor finds, and what it says to do."""

from __future__ import annotations

import sys

import pytest

import engines
from app import ROOT, doctor
from app.setup.environment import TorchFacts
from engines.errors import StudioError
from finetune import runs
from finetune.gpu import Card, Gpus
from finetune.jobs import queue
from finetune.runs import Plan
from tests import trainee
from tests.jobs_at_work import request
from voices import files

BUILD = TorchFacts("2.11.0+cu130", "13.0", ("sm_75", "sm_80", "sm_86", "sm_90", "sm_120"), None)
CARD = Card(0, "GPU-1", "RTX 4070", 12282, 11000, (8, 9))
DRIVER = Gpus((CARD,), "580.65", "13.0")


def names(checks):
    return {check.name: check.verdict for check in checks}


def test_this_machine_is_examined_from_end_to_end(tmp_path):
    found = list(doctor.examine(tmp_path / "workspace", ROOT))

    assert {"Python", "Disk", "RAM", "torch", "GPU", "Audio", "Browser", "Workspace"} <= set(
        names(found)
    )
    assert names(found)["Audio"] == "ok"
    assert not (tmp_path / "workspace").exists(), "looking makes nothing"
    assert all(check.fix for check in found if check.verdict == "problem")


@pytest.mark.parametrize(
    ("capability", "word"),
    [
        ((7, 5), ""),
        ((8, 6), ""),
        ((8, 9), ""),
        ((9, 0), ""),
        ((12, 1), ""),
        ((13, 0), "newer than this torch"),
        ((7, 0), "too old for this torch"),
        ((10, 0), "newer or older"),
        (None, ""),
    ],
)
def test_a_card_is_compared_with_what_torch_was_built_for(capability, word):
    said = doctor.built_for(capability, BUILD.architectures)

    if word == "newer or older":  # between two that it was built for, and still not one of them
        assert said
    else:
        assert (word in said) if word else said == ""


def test_letters_behind_an_architecture_do_not_matter():
    assert doctor.built_for((9, 0), ("sm_90a",)) == ""
    assert doctor.built_for((9, 0), ("compute_90",)) == ""


def test_memory_is_told_as_it_is_sold():
    assert doctor.ram(16 * 2**30).found == "16 GB"


def test_a_card_is_told_with_everything_that_is_known():
    check = doctor.card_check(CARD, DRIVER, BUILD)

    assert check.verdict == "ok"
    assert check.found == (
        "RTX 4070, 10.7 of 12.0 GB free, compute capability 8.9, driver 580.65 (CUDA 13.0)"
    )


def test_what_the_driver_does_not_tell_is_unknown_and_never_zero():
    check = doctor.card_check(Card(0), Gpus((Card(0),)), BUILD)

    assert check.verdict == "ok"
    assert check.found.count("unknown") == 6 and "0.0" not in check.found


@pytest.mark.parametrize(
    ("gpus", "build", "fix"),
    [
        (Gpus((CARD,), "535.1", "12.2"), BUILD, "update the NVIDIA driver"),
        (DRIVER, TorchFacts("2.11.0+cpu", None, (), None), "without GPU support"),
        (DRIVER, TorchFacts("2.11.0", "13.0", ("sm_120",), None), "too old"),
    ],
)
def test_a_card_that_torch_cannot_use_is_a_problem_with_its_fix(gpus, build, fix):
    check = doctor.card_check(CARD, gpus, build)

    assert check.verdict == "problem"
    assert fix in check.fix


def test_no_card_is_no_problem():
    [check] = doctor.graphics(Gpus(problem="No NVIDIA driver is installed."), BUILD)

    assert (check.verdict, check.found) == ("note", "No NVIDIA driver is installed.")


@pytest.mark.parametrize(
    ("build", "verdict"),
    [
        (None, "problem"),
        (TorchFacts("", None, (), "ImportError: libc10"), "problem"),
        (BUILD, "ok"),
    ],
)
def test_a_torch_that_cannot_be_imported_is_a_problem(build, verdict):
    assert doctor.torch_check(build).verdict == verdict


@pytest.mark.parametrize(
    ("free_gb", "verdict"), [(1.9, "problem"), (2.1, "note"), (19, "note"), (21, "ok")]
)
def test_the_disk_is_judged_by_what_a_training_takes(free_gb, verdict):
    assert doctor.disk(int(free_gb * 1e9)).verdict == verdict


def test_a_check_that_breaks_is_a_finding_and_the_rest_goes_on(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "av", None)

    found = names(doctor.examine(tmp_path, ROOT))

    assert found["Audio"] == "problem"
    assert "Workspace" in found


def test_a_damaged_workspace_is_a_problem(tmp_path):
    (tmp_path / "studio.db").write_bytes(b"nonsense " * 1000)

    check = names(doctor.examine(tmp_path, ROOT))

    assert check["Workspace"] == "problem"


def test_what_interrupted_work_left_is_found(workspace):
    (workspace.projects / "0123456789ab").mkdir()
    (workspace.voices / ".tmp-99999999-aa").mkdir()
    (workspace.projects / "0123456789ab" / ".tmp-99999999-bb").write_text("half a backup")

    [check] = doctor.leftovers(workspace)

    assert check.name == "Leftovers"
    for left in ("projects/0123456789ab", "voices/.tmp-99999999-aa", ".tmp-99999999-bb"):
        assert left in check.found


def test_a_project_with_recordings_is_never_called_a_leftover(workspace):
    recordings = workspace.projects / "0123456789ab" / "recordings"
    recordings.mkdir(parents=True)
    (recordings / "one.wav").write_bytes(b"RIFF")

    [check] = doctor.leftovers(workspace)

    assert check.name == "Projects" and "Keep them" in check.fix


def test_a_job_that_does_not_answer_is_named(workspace):
    job = queue.submit(workspace, request("count", 1))
    list(job.folder.follow(poll_seconds=0.05))
    job.folder.silent_path.touch()

    [check] = doctor.leftovers(workspace)

    assert check.found == "not answering: count"


def test_every_problem_of_ours_reads_as_two_sentences():
    error = StudioError("It is full.", "Free some space.")

    assert str(error) == "It is full. Free some space."


def test_an_engine_says_what_it_still_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "ENGINES", {"trainee": "tests.trainee"})
    [without] = doctor.engine_checks(tmp_path)
    with files.new_folder(tmp_path / "trainee-first") as folder:
        trainee.base_in(folder)

    [there] = doctor.engine_checks(tmp_path)
    monkeypatch.setattr(trainee.ENGINE, "lacking", "It wants coqui-tts.", raising=False)
    [broken] = doctor.engine_checks(tmp_path)

    assert (without.name, without.verdict) == ("Engine Trainee", "note")
    assert "models download trainee" in without.fix
    assert there.verdict == "ok" and str(tmp_path / "trainee-first") in there.found
    assert (broken.verdict, broken.found) == ("note", "It wants coqui-tts.")


def test_a_run_that_cannot_be_read_is_told(workspace):
    broken = runs.create(workspace, Plan("Ada", "p", 1, "trainee", "/base"))
    broken.plan_path.write_text("{")

    [check] = [each for each in doctor.leftovers(workspace) if each.name == "Runs"]

    assert check.verdict == "note" and broken.id in check.found
