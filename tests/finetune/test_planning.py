"""What a person wishes of a training is settled or refused before anything is begun."""

from __future__ import annotations

import pytest

from engines.errors import (
    DatasetError,
    EngineError,
    NameProblem,
    NotDownloadedError,
    NotFoundError,
    SettingsError,
)
from finetune import planning, projects, runs
from finetune.planning import Wished
from finetune.runs import Plan
from finetune.settings import TrainSettings
from finetune.transcript import Values
from tests import trainee
from tests.stores import add_recording
from tests.trainee import ENGINE, base_in


@pytest.fixture
def ada(workspace):
    return projects.create(workspace, "Ada")


@pytest.fixture
def base(tmp_path):
    return str(base_in(tmp_path / "base"))


def frozen(workspace, item, **how):
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        return trainee.freeze(project, **how).number


def with_dataset(workspace, item, number=None):
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        plan = Plan("x", item.id, 0, "trainee", "/base")
        return planning.with_dataset(plan, ENGINE, item.name, project, number)


# ---- Settings ----


def test_settings_of_the_training_and_of_the_engine_are_told_apart():
    train, own = planning.settings_of(
        ENGINE, {"epochs": 3, "lora_rank": 8}, ["keen=yes", "learning-rate=1e-4", "mood=a = b"]
    )

    assert train == TrainSettings(epochs=3, learning_rate=1e-4)
    assert own == {"steps": 3, "pause_ms": 0, "lora_rank": 8, "keen": True, "mood": "a = b"}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("spell=3", "no setting 'spell'"),
        ("epochs", "does not say a value"),
        ("epochs=many", "epochs is 'many', and it must be a whole number"),
        ("epochs=1.5", "epochs is '1.5'"),
        ("keen=perhaps", "keen is 'perhaps', and it must be yes or no"),
        ("lora_rank=65", "lora_rank is 65"),
        ("decay=sudden", "decay is 'sudden'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(said, problem):
    with pytest.raises(SettingsError) as caught:
        planning.settings_of(ENGINE, {}, [said])

    assert problem in caught.value.what
    if "spell" in said:
        assert "keen" in caught.value.fix and "batch" in caught.value.fix


# ---- Datasets ----


def test_the_newest_dataset_is_taken_or_the_one_that_is_named(workspace, ada):
    frozen(workspace, ada)
    frozen(workspace, ada, seconds=(2.0, 2.5, 3.0))

    assert with_dataset(workspace, ada).version == 2
    assert with_dataset(workspace, ada, 1).version == 1


def test_a_project_without_a_dataset_says_the_command(workspace, ada):
    with pytest.raises(NotFoundError, match="dataset build RECORDINGS --name Ada"):
        with_dataset(workspace, ada)
    with projects.open_project(projects.folder_of(workspace, ada)) as project:
        add_recording(project.store, "r", "r.wav")
        project.transcript.edit("cut", new=[Values("r", 0, 2, "One.")])

    with pytest.raises(NotFoundError, match="dataset freeze --name Ada"):
        with_dataset(workspace, ada)


def test_clips_that_are_too_long_or_too_short_are_named(workspace, ada):
    frozen(workspace, ada, seconds=(0.4, 3.0, 10.5, 10.0))

    with pytest.raises(DatasetError) as caught:
        with_dataset(workspace, ada)

    assert "0.5 to 10 s" in caught.value.what and "2 of Ada" in caught.value.what
    assert "clip 1 (0.4 s), clip 3 (10.5 s)" in caught.value.what
    assert "clips leave-out 1 3 --project Ada" in caught.value.fix


def test_many_clips_that_do_not_fit_are_counted(workspace, ada):
    frozen(workspace, ada, seconds=(11.0,) * 20)

    with pytest.raises(DatasetError, match="and 8 more"):
        with_dataset(workspace, ada)


def test_a_language_the_engine_does_not_speak_is_refused(workspace, ada):
    frozen(workspace, ada, language="xx")

    with pytest.raises(DatasetError, match=r"does not speak xx, the language of r0\.wav"):
        with_dataset(workspace, ada)


def test_a_language_that_nobody_said_is_asked_for(workspace, ada):
    frozen(workspace, ada, language="")

    with pytest.raises(DatasetError, match=r"nobody said which language is spoken in r0\.wav"):
        with_dataset(workspace, ada)


# ---- What it starts from ----


def test_an_engine_that_lacks_something_is_refused(workspace, ada, monkeypatch):
    monkeypatch.setattr(ENGINE, "lacking", "It wants a GPU.", raising=False)

    with pytest.raises(EngineError, match="It wants a GPU"):
        planning.draft(workspace, ada, ENGINE, Wished())


def test_a_base_that_is_not_here_is_refused(workspace, ada):
    with pytest.raises(NotDownloadedError, match="models download trainee"):
        planning.draft(workspace, ada, ENGINE, Wished())


def test_a_run_that_continues_another_has_its_base_and_names_it(workspace, ada, base):
    first = runs.create(workspace, Plan("Ada", ada.id, 1, "trainee", base))
    with pytest.raises(NotFoundError, match="no best weights yet"):
        planning.draft(workspace, ada, ENGINE, Wished(continues="Ada"))
    trainee.keep_best(first, 3)

    plan = planning.draft(workspace, ada, ENGINE, Wished(continues="ada"))

    assert (plan.continues, plan.base) == (first.id, base)
    with pytest.raises(SettingsError, match="--base from others"):
        planning.draft(workspace, ada, ENGINE, Wished(continues="ada", base=base))


def test_a_run_of_another_engine_is_not_continued(workspace, ada, base):
    first = runs.create(workspace, Plan("Bea", ada.id, 1, "other", base))
    trainee.keep_best(first, 3)

    with pytest.raises(SettingsError, match="Take --engine other"):
        planning.draft(workspace, ada, ENGINE, Wished(continues="Bea"))


def test_other_projects_are_mixed_in_with_their_newest_dataset(workspace, ada, base):
    bea = projects.create(workspace, "Bea")
    frozen(workspace, bea)
    frozen(workspace, bea, seconds=(2.0, 2.5, 3.0))

    plan = planning.draft(workspace, ada, ENGINE, Wished(base=base, mix=("bea",), mix_share=0.3))

    assert (plan.extra, plan.extra_share) == (((bea.id, 2),), 0.3)
    with pytest.raises(SettingsError, match="into itself"):
        planning.draft(workspace, bea, ENGINE, Wished(base=base, mix=("Bea",)))


def test_a_project_that_does_not_fit_is_not_mixed_in(workspace, ada, base):
    frozen(workspace, projects.create(workspace, "Bea"), language="xx")

    with pytest.raises(DatasetError, match="does not speak xx"):
        planning.draft(workspace, ada, ENGINE, Wished(base=base, mix=("Bea",)))


# ---- Names ----


def test_a_name_that_is_taken_gets_a_number_or_is_refused(workspace):
    assert planning.free_name(workspace, "Ada") == "Ada"
    for name in ("Ada", "ADA 2"):
        runs.create(workspace, Plan(name, "p", 1, "trainee", "/base"))

    assert planning.free_name(workspace, "Ada") == "Ada 3"
    planning.refuse_taken(workspace, "Bea")
    with pytest.raises(NameProblem, match="already"):
        planning.refuse_taken(workspace, "ada")
