"""A training as a job does it: from a frozen dataset to a finished voice, whatever happens between."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple

import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import load_file

import engines
from engines.errors import DatasetError, DiskFullError, NotFoundError
from finetune import projects, runs
from finetune.best import Choice, why_now
from finetune.curves import Histories
from finetune.datasets import Dataset, Example
from finetune.jobs.events import Chosen, Measured, Said, Sampled, Saved, Step
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, StopWork
from finetune.runs import Plan, RunFolder
from finetune.settings import TrainSettings
from finetune.training import work
from tests import learner
from tests.stores import add_recording
from voices import files, library
from voices.workspace import open_workspace

SETTINGS = TrainSettings(
    epochs=2, batch=3, micro_batch=3, save_every=4, listen_every=4, device="cpu", threads=1
)
RATE = 16000


class Judging:
    """Hears nothing: the check loss chooses."""

    def __init__(self, real, say, transcriber=None):
        self.real = real
        self.print_of = None

    def similarity(self, sound):
        return None

    def character_errors(self, sound, text, language):
        return None


@pytest.fixture(scope="module", autouse=True)
def small():
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(engines.ENGINES, "learner", "tests.learner")
        patch.setattr(work, "Judge", Judging)
        patch.setattr("finetune.training.loop._TELL_SECONDS", 0.0)
        patch.setattr(work, "sentences_for", lambda language, own: own or ("One.", "Two."))
        yield
    torch.set_num_threads(threads)


def record(project, recording, clips, check=2, texts=None):
    """A recording and a dataset of pieces of it; the last ones check."""
    rng = np.random.default_rng(len(recording))
    seconds = clips * 1.0
    time = np.arange(int(seconds * RATE)) / RATE
    wave = 0.4 * np.sin(time * 800 * (1 + 0.2 * np.sin(time))) + 0.02 * rng.standard_normal(
        len(time)
    )
    add_recording(project.store, recording, f"{recording}.wav", seconds)
    project.recordings.set_language(recording, "en")
    soundfile.write(project.working_of(recording), wave.astype(np.float32), RATE, subtype="PCM_16")
    every = [
        Example(at + 1, recording, at * 1.0, at + 0.3 + at % 4 * 0.15, f"This is clip {at + 1}.")
        for at in range(clips)
    ]
    for at, text in (texts or {}).items():
        every[at] = Example(every[at].clip_id, recording, every[at].start, every[at].end, text)
    return project.versions.freeze(
        Dataset(tuple(every[: clips - check]), tuple(every[clips - check :]), 0)
    )


class Studio:
    """A workspace with projects, and jobs that train."""

    def __init__(self, workspace, folder):
        self.workspace, self.folder = workspace, folder
        self.base = learner.make_base(folder / "base")
        self.jobs = 0

    def project(self, name, recording, clips=11, **changes):
        item = projects.create(self.workspace, name)
        with projects.open_project(projects.folder_of(self.workspace, item)) as project:
            record(project, recording, clips, **changes)
        return item.id

    def again(self, project_id, recording, clips):
        """Freeze another version."""
        with projects.open_project(self.workspace.projects / project_id) as project:
            return record(project, recording, clips).number

    def run(self, project, train=SETTINGS, version=1, **changes):
        plan = Plan("Tim", project, version, "learner", str(self.base), train=train, **changes)
        return runs.create(self.workspace, plan)

    def job(self, stop_after=None):
        self.jobs += 1
        folder = JobFolder(self.folder / f"job {self.jobs}")
        (folder.path / "control").mkdir(parents=True)
        job = Job(folder)
        if stop_after is not None:
            left = iter(range(stop_after))
            job.stop_wanted = lambda: next(left, None) is None
        return job

    def train(self, run, stop_after=None, job=None):
        job = job or self.job(stop_after)
        self.told = []
        say, job.say = job.say, lambda event: (self.told.append(event), say(event))
        if stop_after is None:
            return work.train(job, run)
        with pytest.raises(StopWork) as stopped:
            work.train(job, run)
        return str(stopped.value)

    @property
    def said(self):
        return "\n".join(each.text for each in self.told if isinstance(each, Said))

    def of(self, kind):
        return [each for each in self.told if isinstance(each, kind)]


@pytest.fixture(scope="module")
def studio(tmp_path_factory, small):
    """With a project, and a run of it that nobody stopped."""
    folder = tmp_path_factory.mktemp("studio")
    workspace = open_workspace(folder / "workspace")
    made = Studio(workspace, folder)
    made.tim = made.project("Tim", "r1")
    made.whole = made.run(made.tim)
    made.said_of_whole = made.train(made.whole)
    yield made
    workspace.close()


def voice_weights(run):
    return load_file(run.voice / "engine" / "learner.safetensors")


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_comes_to_a_voice_with_everything_about_it(studio):
    project, run = studio.tim, studio.whole

    assert studio.said_of_whole.startswith("Tim can speak, with the weights of step ")
    files.check_folder(run.voice)
    facts = json.loads((run.voice / "voice.json").read_bytes())
    best = json.loads((runs.newest_best(run) / "best.json").read_bytes())
    assert (facts["engine"], facts["language"]) == ("learner", "en")
    assert facts["from"]["project"] == project and facts["from"]["version"] == 1
    heard = Histories().of(run).heard
    assert facts["from"]["step"] == best["step"]
    assert facts["why"] == why_now(best["step"], best["reason"], heard)
    assert facts["licence"] == {"code": "Apache-2.0", "base": ["CC0-1.0"]}
    kept = load_file(runs.newest_best(run) / "weights.safetensors")
    assert same(voice_weights(run), kept)


def test_its_voice_is_in_the_library_with_whose_it_is(studio):
    run = studio.run(studio.tim, whose="Tim Berners", agreed=True)

    studio.train(run)

    [voice] = library.listed(studio.workspace, "berners")
    assert (voice.engine, voice.language, voice.consent.agreed) == ("learner", "en", True)
    files.check_folder(voice.folder)


def test_its_history_tells_of_every_step_and_hearing(studio):
    run = studio.whole

    history = runs.history(run)

    steps = [each.step for each in history if isinstance(each, Step)]
    assert steps == list(range(1, 7))
    assert [each.step for each in history if isinstance(each, Measured)] == [0, 4, 6]
    assert [each.step for each in history if isinstance(each, Sampled)] == sorted([0, 4, 6] * 2)
    assert {each.step for each in history if isinstance(each, Saved)} == {4, 6}
    for each in history:
        if isinstance(each, Sampled):
            assert (run.path / each.path).exists()


def test_nothing_is_left_over_and_two_checkpoints_stay(studio):
    run = studio.run(studio.tim)
    run.path.joinpath(".tmp-4194305-aa").mkdir()  # of a voice that was being written
    run.checkpoints.joinpath(".tmp-4194305-aa").mkdir()

    studio.train(run)

    assert sorted(each.name for each in run.checkpoints.iterdir()) == ["step-000004", "step-000006"]
    assert not list(run.path.rglob(".tmp-*"))


def test_what_is_chosen_is_said_with_its_reason(studio):
    run = studio.run(studio.tim, TrainSettings(device="cpu", threads=1, epochs=1))

    studio.train(run)

    assert "It computes on cpu (as chosen), in fp32 (half precision gains nothing" in studio.said
    [chosen] = studio.of(Chosen)
    assert chosen in runs.history(run)
    assert chosen.settings["batch"] == 2 and chosen.settings["precision"] == "fp32"
    assert "Batch 2: with 9 clips, more would be too few steps." in chosen.reasons
    assert "Learning rate 0.01: as the engine advises for its batch." in chosen.reasons


def test_a_voice_tells_what_it_was_trained_with_and_not_what_was_left_open(studio):
    run = studio.run(studio.tim, TrainSettings(device="cpu", threads=1, epochs=1))

    studio.train(run)

    told = json.loads((run.voice / "voice.json").read_text("utf-8"))["settings"]["train"]
    assert (told["batch"], told["learning_rate"], told["precision"]) == (2, 0.01, "fp32")


def test_a_run_that_has_its_voice_is_not_done_again(studio):
    run = studio.whole
    stamp = (run.voice / "voice.json").stat().st_mtime_ns

    assert "has ended already" in studio.train(run)
    assert (run.voice / "voice.json").stat().st_mtime_ns == stamp


# ---- Stopped and gone on with ----


@pytest.fixture
def whole(studio):
    """What the run comes to that nobody stops."""
    return studio.tim, studio.whole


def test_a_stopped_job_goes_on_to_the_very_same_voice(studio, whole):
    project, unbroken = whole
    run = studio.run(project)

    said = studio.train(run, stop_after=13)
    assert said.startswith("Stopped after step") and not run.voice.exists()
    studio.train(run)

    assert "It goes on after step" in studio.said
    assert same(voice_weights(run), voice_weights(unbroken))
    history, expected = runs.history(run), runs.history(unbroken)
    for kind in (Step, Measured):
        told, wanted = ([e for e in each if isinstance(e, kind)] for each in (history, expected))
        assert [(e.step, e.loss) for e in told] == [(e.step, e.loss) for e in wanted]


def test_a_cache_that_was_deleted_meanwhile_is_made_again(studio, whole):
    project, unbroken = whole
    run = studio.run(project)
    studio.train(run, stop_after=13)

    shutil.rmtree(studio.workspace.root / "cache" / "features")
    studio.train(run)

    assert same(voice_weights(run), voice_weights(unbroken))


def test_a_hearing_that_a_stop_came_before_is_made_up_for(studio, whole):
    """Asked to stop right after step 4, at which it would have listened."""
    project, unbroken = whole
    run, job = studio.run(project), studio.job()
    job.stop_wanted = lambda: any(each.step == 4 for each in studio.of(Step))

    with pytest.raises(StopWork, match="after step 4"):
        studio.train(run, job=job)
    studio.train(run)

    measured = [each.step for each in runs.history(run) if isinstance(each, Measured)]
    assert measured == [0, 4, 6]
    assert same(voice_weights(run), voice_weights(unbroken))


def test_a_best_that_a_kill_came_before_is_kept_when_it_goes_on(studio, whole):
    project, unbroken = whole
    run, job = studio.run(project), studio.job()
    job.stop_wanted = lambda: any(each.step == 5 for each in studio.of(Step))
    with pytest.raises(StopWork):
        studio.train(run, job=job)
    # As a kill between the two leaves it: the checkpoint of step 4 stands, the best does not.
    shutil.rmtree(run.checkpoints / "step-000005")
    shutil.rmtree(run.best / "best-000004")

    studio.train(run)

    assert studio.of(Saved)[0].step == 4 and studio.of(Saved)[0].best
    assert same(voice_weights(run), voice_weights(unbroken))


def test_samples_and_checkpoints_are_made_on_request(studio):
    run, job = studio.run(studio.tim), studio.job()
    for wish in ("sample", "save"):
        job.folder.ask(wish)

    studio.train(run, job=job)

    assert {each.step for each in studio.of(Sampled)} == {0, 1, 4, 6}
    assert 1 in {each.step for each in studio.of(Saved)}
    assert not job.folder.asked("sample") and not job.folder.asked("save")


# ---- What it learns from ----


def test_a_voice_is_continued_with_more_data_from_its_best_weights(studio, whole):
    project, before = whole
    version = studio.again(project, "r2-more", clips=14)
    run = studio.run(project, version=version, continues=before.id)

    studio.train(run)

    best = json.loads((runs.newest_best(before) / "best.json").read_bytes())
    assert (
        f"It starts from step {best['step']} of run {before.id} ({best['reason']})" in studio.said
    )
    assert "Only the weights are taken over" in studio.said
    assert studio.of(Step)[0].rate == pytest.approx(0.01)  # it rises anew
    assert json.loads((run.voice / "voice.json").read_bytes())["from"]["continues"] == before.id


def test_it_really_starts_from_those_weights(studio, whole):
    project, before = whole
    run = studio.run(project, continues=before.id)

    studio.train(run)

    best = json.loads((runs.newest_best(before) / "best.json").read_bytes())["step"]
    known = {each.step: each.loss for each in runs.history(before) if isinstance(each, Measured)}
    assert studio.of(Measured)[0].step == 0
    assert studio.of(Measured)[0].loss == known[best] != known[0]


def test_a_run_goes_on_without_the_one_it_started_from(studio, whole):
    project, known = whole
    before = RunFolder(known.path.with_name("0123456789ab"))
    shutil.copytree(known.path, before.path)
    run = studio.run(project, continues=before.id)
    studio.train(run, stop_after=13)
    shutil.rmtree(before.path)

    studio.train(run)

    assert run.is_finished
    assert "It starts from" not in studio.said


def test_a_run_without_weights_to_start_from_is_named(studio):
    before = studio.run(studio.tim)
    run = studio.run(studio.tim, continues=before.id)

    with pytest.raises(NotFoundError, match=f"Run {before.id} has no weights"):
        studio.train(run)


def test_other_voices_are_mixed_in_against_forgetting(studio, monkeypatch):
    own, other = studio.tim, studio.project("Tom", "other")
    seen = []
    items = work.Lessons.items
    monkeypatch.setattr(
        work.Lessons,
        "items",
        lambda self, indices, seed, epoch: (
            seen.extend((epoch, each) for each in indices),
            items(self, indices, seed, epoch),
        )[1],
    )
    run = studio.run(own, extra=((other, 1),), extra_share=0.25)

    studio.train(run)

    for epoch in range(2):
        clips = sorted(each for at, each in seen if at == epoch)
        assert clips[:9] == list(range(9))  # each of its own, once
        assert len(clips) == 12 and all(9 <= each < 18 for each in clips[9:])
    assert json.loads((run.voice / "voice.json").read_bytes())["from"]["extra"] == [[other, 1]]


def test_a_clip_that_does_not_fit_is_named_before_anything_is_learned(studio):
    project = studio.project("Omega", "r3", texts={3: "Tea for Ω."})
    run = studio.run(project)

    with pytest.raises(DatasetError, match=r"clip 4 “Tea for Ω\.”: it has a Ω in it") as caught:
        studio.train(run)

    assert "leave" in caught.value.fix
    assert studio.of(Step) == []


def test_a_dataset_without_check_clips_works(studio):
    run = studio.run(studio.project("Unchecked", "r4", check=0))

    studio.train(run)

    assert run.is_finished and studio.of(Measured) == []


# ---- The end ----


def test_where_nothing_is_better_than_the_base_the_voice_is_what_was_heard_last(
    studio, monkeypatch
):
    """With an average it is the average that was heard, and whose scores are told."""
    monkeypatch.setattr("finetune.training.loop.choose", lambda heard: Choice(0, "the base"))
    run = studio.run(studio.tim, TrainSettings(**{**vars(SETTINGS), "ema": 0.9}))

    studio.train(run)

    average = load_file(run.checkpoints / "step-000006" / "average.safetensors")
    assert same(voice_weights(run), average)
    assert (
        "none was better than the base"
        in json.loads((run.voice / "voice.json").read_bytes())["why"]
    )


def test_a_damaged_best_does_not_cost_the_voice(studio, monkeypatch):
    run = studio.run(studio.tim)
    finish = work._Training._finish

    def damaging(self, *given):
        weights = runs.newest_best(run) / "weights.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.unlink()
        weights.write_bytes(content)
        return finish(self, *given)

    monkeypatch.setattr(work._Training, "_finish", damaging)

    studio.train(run)

    assert run.is_finished
    assert "is not what was saved" in studio.said
    assert json.loads((run.voice / "voice.json").read_bytes())["from"]["step"] == 6


def test_a_disk_that_is_too_small_is_said_before_anything_is_learned(studio, monkeypatch):
    usage = namedtuple("Usage", "total used free")
    run = studio.run(studio.tim)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, 700_000_000))

    with pytest.raises(DiskFullError, match=r"needs 1\.5 GB .* 0\.7 GB\s+are free"):
        studio.train(run)

    assert studio.of(Step) == []
