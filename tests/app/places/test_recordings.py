"""Recordings as the page asks for them: brought in, read from prompts, built; all through its calls."""

from __future__ import annotations

import shutil
import time

import numpy as np
import pytest
import soundfile

from app.places import recordings
from app.screen import uploads
from app.screen.calls import answer, bound
from app.screen.desk import Desk
from engines.errors import (
    AudioError,
    NotDownloadedError,
    NotFoundError,
    SettingsError,
    StudioError,
    TextError,
)
from finetune import next_step, projects, submitting, takes, taking
from finetune.jobs import queue
from finetune.jobs.folder import Request
from finetune.jobs.outcome import Outcome
from finetune.jobs.queue import Job
from finetune.media import waves
from finetune.runs import Plan
from finetune.wishes import REPORT
from tests import speech
from voices import files, names

FAULT = Outcome("bug", "It broke.")


@pytest.fixture
def desk(workspace):
    return Desk(workspace, sampler=None, speaker=None)


@pytest.fixture
def item(workspace):
    return projects.create(workspace, "Ada")


def ask(desk, name, /, **given):
    """What the page is answered, as routes.py asks for it."""
    call = recordings.CALLS[name]
    result = call(desk, **bound(call, given))
    answer(result)
    return result


def say(path, number=0, gap=0.8):
    """A recording of one bundled sentence; give what is said."""
    samples, said = speech.joined(speech.bundled()[number : number + 1], gaps=[gap], noise_db=40)
    room = 0.0003 * np.random.default_rng(number).standard_normal(int(gap * speech.RATE))
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.concatenate((room, samples, room)), speech.RATE)
    return said[0].text


def sent(desk, path):
    """A file that a browser has sent; give its id."""
    place = desk.uploads / names.new_id()
    place.mkdir(parents=True)
    shutil.copy(path, place / uploads.file_name(path.name))
    return place.name


def wait(desk, job_id):
    job = queue.find(desk.workspace, job_id)
    list(job.folder.follow(0.05, lambda: queue.advance(desk.workspace)))
    queue.advance(desk.workspace)
    return queue.find(desk.workspace, job_id)


def arrive(desk, item, batch, place, path, name):
    upload = sent(desk, path)
    return ask(
        desk,
        "recordings.add",
        **{"project": item.id, "batch": batch, "place": place, "upload": upload, "name": name},
    )


@pytest.fixture
def brought(desk, item, tmp_path):
    """A project with two recordings, one of them below a folder."""
    batch = ask(desk, "recordings.begin", project=item.id)
    for place, name in enumerate(("talk.wav", "day 1/talk.wav")):
        say(tmp_path / "here" / name, place)
        arrive(desk, item, batch, place, tmp_path / "here" / name, name)
    job = wait(desk, ask(desk, "recordings.bring", project=item.id, batch=batch))
    assert job.outcome.cause == "finished", job.folder.log_tail()
    return item


def test_files_come_in_under_the_names_a_person_knows_and_what_was_sent_is_discarded(desk, brought):
    shown = ask(desk, "recordings", project=brought.id)

    assert [each["name"] for each in shown["recordings"]] == ["talk.wav", "day 1/talk.wav"]
    assert shown["arriving"] == []
    assert list(desk.uploads.iterdir()) == []
    assert list((projects.folder_of(desk.workspace, brought) / "arriving").iterdir()) == []


def test_what_is_there_already_and_what_is_no_sound_is_told_by_name(desk, brought, tmp_path):
    batch = ask(desk, "recordings.begin", project=brought.id)
    (tmp_path / "broken.wav").write_bytes(b"nothing")
    arrive(desk, brought, batch, 0, tmp_path / "here" / "talk.wav", "again.wav")
    arrive(desk, brought, batch, 1, tmp_path / "broken.wav", "broken.wav")

    wait(desk, ask(desk, "recordings.bring", project=brought.id, batch=batch))

    told = ask(desk, "recordings", project=brought.id)["import"]
    again, broken = told["files"]
    assert "there already, as talk.wav" in again["said"]
    assert again["recording"] and broken["recording"] is None
    assert broken["name"] == "broken.wav" and broken["said"]
    assert told["brought"] == 0


def test_a_file_that_is_no_recording_is_refused_when_it_arrives(desk, item, tmp_path):
    batch = ask(desk, "recordings.begin", project=item.id)
    (tmp_path / "plan.pdf").write_bytes(b"%PDF")

    with pytest.raises(AudioError, match=r"plan\.pdf is no recording"):
        arrive(desk, item, batch, 0, tmp_path / "plan.pdf", "plan.pdf")

    with pytest.raises(NotFoundError, match="None of these files has arrived"):
        ask(desk, "recordings.bring", project=item.id, batch=batch)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../../../evil.wav", "evil.wav"),
        ("/etc/passwd.wav", "etc/passwd.wav"),
        ("a\\..\\..\\b.wav", "a/b.wav"),
        ("day: 1/a?.wav", "day_ 1/a_.wav"),
        ("...", "recording"),
        ("晚" * 110 + ".wav", "晚" * 65 + ".wav"),
        (".hidden.wav", "hidden.wav"),
        ("x" * 400 + ".wav", "x" * 196 + ".wav"),
        ("день 1/录音.wav", "день 1/录音.wav"),
    ],
)
def test_a_name_leads_nowhere_but_into_the_project(desk, item, tmp_path, name, kept):
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    batch = ask(desk, "recordings.begin", project=item.id)

    assert arrive(desk, item, batch, 0, tmp_path / "a.wav", name) == kept

    folder = projects.folder_of(desk.workspace, item)
    [found] = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != tmp_path
               and "studio.db" not in path.name and "project.db" not in path.name]  # fmt: skip
    assert found == folder / "arriving" / batch / "000000" / kept


def test_files_whose_import_never_began_are_listed_and_brought_in_or_forgotten(
    desk, item, tmp_path
):
    say(tmp_path / "a.wav")
    batches = [ask(desk, "recordings.begin", project=item.id) for _ in range(2)]
    for batch in batches:
        arrive(desk, item, batch, 0, tmp_path / "a.wav", "a.wav")

    ask(desk, "recordings.drop", project=item.id, batch=batches[0])

    [left] = ask(desk, "recordings", project=item.id)["arriving"]
    assert (left.id, left.names, left.job) == (batches[1], ("a.wav",), "")
    wait(desk, ask(desk, "recordings.bring", project=item.id, batch=batches[1]))
    assert len(ask(desk, "recordings", project=item.id)["recordings"]) == 1


def test_a_batch_that_is_not_there_is_refused(desk, item):
    for batch in ("0" * 12, "../..", ""):
        with pytest.raises(NotFoundError, match="not there any more"):
            ask(desk, "recordings.drop", project=item.id, batch=batch)


def test_a_recording_is_played_and_drawn(desk, brought):
    [recording, _] = ask(desk, "recordings", project=brought.id)["recordings"]
    outlines = waves.of(desk.workspace.cache / "waves")
    while not outlines.path(recording["id"]).exists():
        time.sleep(0.05)

    played = recordings.sound(desk, brought.id, recording["id"])
    drawn = recordings.wave(desk, brought.id, recording["id"])

    assert soundfile.info(played.content).duration == pytest.approx(recording["seconds"])
    assert len(drawn.content) == 2 * waves.POINTS and any(drawn.content)
    assert ask(desk, "recordings", project=brought.id)["recordings"][0]["wave"]


def test_a_recording_in_the_trash_is_out_of_the_way_and_comes_back(desk, brought):
    before = ask(desk, "recordings", project=brought.id)
    first, second = before["recordings"]

    ask(desk, "recordings.trash", project=brought.id, recording=first["id"])

    shown = ask(desk, "recordings", project=brought.id)
    assert [each["id"] for each in shown["recordings"]] == [second["id"]]
    assert shown["seconds"] < before["seconds"]
    assert shown["trashed"] == [{"id": first["id"], "name": first["name"]}]
    ask(desk, "recordings.restore", project=brought.id, recording=first["id"])
    after = ask(desk, "recordings", project=brought.id)["recordings"]
    assert [each["id"] for each in after] == [first["id"], second["id"]]


def test_the_language_of_a_recording_is_one_that_can_be_heard(desk, brought):
    [recording, _] = ask(desk, "recordings", project=brought.id)["recordings"]
    given = {"project": brought.id, "recording": recording["id"]}

    ask(desk, "recordings.language", **given, language="de")
    with pytest.raises(SettingsError, match="no language"):
        ask(desk, "recordings.language", **given, language="klingon")

    assert ask(desk, "recordings", project=brought.id)["recordings"][0]["language"] == "de"


def build(desk, item, **chosen):
    plain = {"words": "text", "whisper": "", "download": False, "hear": {}, "cut": {}}
    return ask(desk, "recordings.build", project=item.id, **{**plain, **chosen})


def test_a_text_with_times_is_built_into_clips_without_a_whisper(desk, brought, tmp_path):
    text = tmp_path / "talk.srt"
    text.write_text("1\n00:00:00,700 --> 00:00:04,600\nOur teacher carried the long letter.\n")
    ask(desk, "recordings.text", project=brought.id, sent=[sent(desk, text)])
    assert ask(desk, "recordings", project=brought.id)["text"] == {
        "names": ["talk.srt"],
        "sure": True,
    }

    job = wait(desk, build(desk, brought, hear={"language": "en"}, cut={"max_seconds": 9.0}))

    work = ask(desk, "recordings", project=brought.id)["build"]
    assert job.outcome.cause == "finished", job.folder.log_tail()
    assert work["clips"] == 1 and sum(work["marks"].values()) == 1
    there = ask(desk, "recordings", project=brought.id)["recordings"]
    assert [each["cut"] for each in there] == [True, False]
    assert [step.name for step in work["steps"]] == ["hear", "check"]
    assert {step.state for step in work["steps"]} == {"done"}
    assert [each["sentence"] for each in work["problems"]] == ["It has no text."]
    with projects.open_project(projects.folder_of(desk.workspace, brought)) as opened:
        [clip] = opened.transcript.clips()
        assert clip.values.text == "Our teacher carried the long letter."
    assert ask(desk, "recordings.choices", project=brought.id)["cut_values"]["max_seconds"] == 9.0


@pytest.mark.parametrize(
    ("name", "among", "sure"),
    [
        ("note.txt", True, False),
        ("note.txt", False, True),
        ("Talk.txt", True, True),
        ("metadata.csv", True, True),
    ],
)
def test_a_text_that_came_among_recordings_is_theirs_where_that_is_plain(
    desk, brought, tmp_path, name, among, sure
):
    (tmp_path / name).write_text("Hello.")

    ask(
        desk,
        "recordings.text",
        **{"project": brought.id, "sent": [sent(desk, tmp_path / name)], "among": among},
    )

    assert ask(desk, "recordings", project=brought.id)["text"] == {"names": [name], "sure": sure}


def test_two_texts_of_one_name_are_refused_and_neither_takes_the_others_place(
    desk, brought, tmp_path
):
    uploads = []
    for folder, name in (("one", "talk.txt"), ("two", "Talk.txt")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(folder)
        uploads.append(sent(desk, tmp_path / folder / name))

    with pytest.raises(SettingsError, match=r"Two of these texts are called talk\.txt"):
        ask(desk, "recordings.text", project=brought.id, sent=uploads)

    assert ask(desk, "recordings", project=brought.id)["text"] is None


@pytest.mark.parametrize(
    ("chosen", "error", "said"),
    [
        ({}, SettingsError, "no text yet"),
        ({"words": "whisper", "whisper": "large-v1"}, NotDownloadedError, "not on this computer"),
        ({"words": "whisper", "whisper": "huge"}, NotFoundError, "no Whisper called"),
        ({"words": "guess"}, SettingsError, "words cannot be"),
        ({"cut": {"max_seconds": 99}}, SettingsError, "max_seconds is 99"),
        ({"cut": {"speed": 1}}, SettingsError, "no setting 'speed'"),
    ],
)
def test_a_build_that_cannot_be_is_refused_before_it_begins(desk, brought, chosen, error, said):
    with pytest.raises(error, match=said):
        build(desk, brought, **chosen)

    assert ask(desk, "recordings", project=brought.id)["build"] is None


def test_an_empty_project_has_nothing_to_build(desk, item):
    with pytest.raises(NotFoundError, match="no recordings in Ada yet"):
        build(desk, item)


def test_what_was_stopped_goes_on_as_the_same_wish(desk, brought, tmp_path):
    (tmp_path / "talk.srt").write_text("1\n00:00:00,700 --> 00:00:04,600\nOur teacher.\n")
    ask(desk, "recordings.text", project=brought.id, sent=[sent(desk, tmp_path / "talk.srt")])
    first = build(desk, brought)
    queue.stop(desk.workspace, first)
    ended = wait(desk, first)

    second = wait(desk, ask(desk, "recordings.go", project=brought.id, job=first))

    assert second.id != first and second.outcome.cause == "finished"
    assert second.request.argv == ended.request.argv
    with pytest.raises(NotFoundError, match="not in the list"):
        ask(desk, "recordings.go", project=brought.id, job="0" * 12)


@pytest.fixture
def made(desk, brought, monkeypatch):
    """A making that ended, with what its build had told by then."""
    at_work, advance = Plan("Ada", brought.id, 0, "pocket", "/base"), queue.advance
    monkeypatch.setattr(queue, "advance", lambda _: None)

    def act(report, outcome=None):
        wish = submitting.wish_for(desk.workspace, brought, sources=("talks",), freeze=True)
        job = submitting.submit_making(desk.workspace, brought, wish, at_work)
        files.write_json(job.folder.path / REPORT, report)
        if outcome:
            job.folder.write_outcome(outcome)
            advance(desk.workspace)
        return queue.find(desk.workspace, job.id)

    return act


STOPPED = Outcome("stopped", "Stopped after step 233 of 352.")


@pytest.mark.parametrize("outcome", [None, STOPPED, FAULT])
def test_a_making_that_froze_its_dataset_is_built_whatever_became_of_its_training(
    desk, brought, made, outcome
):
    made({"clips": 9, "seconds": 60.0, "marks": {"good": 9}, "version": 1}, outcome)

    work = ask(desk, "recordings", project=brought.id)["build"]

    assert (work["cause"], work["job"]["state"]) == ("finished", "ended")
    assert work["clips"] == 9 and {step.state for step in work["steps"]} == {"done"}
    assert next_step.of_project(desk.workspace, brought).name != "wait.build"


def test_a_making_that_was_stopped_while_it_built_goes_on_as_the_making(desk, brought, made):
    job = made({"clips": 0, "version": None}, STOPPED)
    assert ask(desk, "recordings", project=brought.id)["build"]["cause"] == "stopped"

    again = ask(desk, "recordings.go", project=brought.id, job=job.id)

    found = queue.find(desk.workspace, again)
    assert found.id != job.id and found.request.kind == "make"
    assert found.request.argv == job.request.argv


def test_the_demo_comes_with_its_text_and_language(desk, item):
    wait(desk, ask(desk, "recordings.demo", project=item.id))

    shown = ask(desk, "recordings", project=item.id)
    assert len(shown["recordings"]) == 1 and shown["text"] == {
        "names": ["script.txt"],
        "sure": True,
    }
    chosen = ask(desk, "recordings.choices", project=item.id)
    assert chosen["hear_values"]["language"] == "en"
    assert "language" not in [each.name for each in chosen["hear"]]


def test_english_alone_offers_the_whispers_that_know_nothing_else(desk, item):
    def offered(language):
        chosen = ask(desk, "recordings.choices", project=item.id, language=language)
        return {each["name"] for each in chosen["whispers"]}

    assert offered("en") - offered("de") >= {"small.en", "distil-large-v3.5"}
    assert offered("") == offered("de")


# ---- Prompts ----


@pytest.fixture
def prompts(desk, item, tmp_path):
    """A person's own sentences: what the bundled recordings say."""
    path = tmp_path / "my lines.txt"
    lines = [say(tmp_path / f"{number}.wav", number) for number in range(2)]
    path.write_text("\n".join(lines))
    upload = sent(desk, path)
    return ask(desk, "recordings.ownprompts", project=item.id, upload=upload, name=path.name)


def take(desk, item, prompts, number, path):
    return ask(
        desk,
        "recordings.take",
        **{"project": item.id, "prompts": prompts, "number": number, "upload": sent(desk, path)},
        language="de",
    )


def test_a_take_becomes_a_clip_with_the_prompt_as_its_text(
    desk, item, prompts, tmp_path, monkeypatch
):
    monkeypatch.setattr(takes, "submit", lambda workspace, project: Begun())
    take(desk, item, prompts, 1, tmp_path / "0.wav")
    (tmp_path / "broken.wav").write_bytes(b"nothing")
    take(desk, item, prompts, 2, tmp_path / "broken.wav")
    waiting = ask(desk, "recordings.read", project=item.id, prompts=prompts)["read"]
    assert [(each.number, each.state) for each in waiting] == [(1, "waiting"), (2, "waiting")]

    said = look_at_takes(desk, item)

    [good, again] = ask(desk, "recordings.read", project=item.id, prompts=prompts)["read"]
    assert said == "Takes that are good: 1; to be read again: 1."
    assert (good.state, again.state) == ("good", "again") and again.said
    assert good.seconds > 3
    with projects.open_project(projects.folder_of(desk.workspace, item)) as opened:
        [clip] = opened.transcript.clips()
        assert (
            clip.values.text == "Our teacher carried the long letter by the station after midnight."
        )
    [shown] = ask(desk, "recordings", project=item.id)["recordings"]
    assert (shown["name"], shown["take"], shown["language"]) == (
        f"{prompts} 001, take 1",
        True,
        "de",
    )


def test_a_prompt_that_was_refused_is_good_once_a_take_is(
    desk, item, prompts, tmp_path, monkeypatch
):
    monkeypatch.setattr(takes, "submit", lambda workspace, project: Begun())
    (tmp_path / "broken.wav").write_bytes(b"nothing")
    for path in (tmp_path / "broken.wav", tmp_path / "1.wav"):
        take(desk, item, prompts, 2, path)
        look_at_takes(desk, item)

    [read] = ask(desk, "recordings.read", project=item.id, prompts=prompts)["read"]

    assert (read.number, read.state, read.said) == (2, "good", "")
    left = (projects.folder_of(desk.workspace, item) / "takes").rglob("*")
    assert [path.name for path in left if path.is_file()] == []


def test_takes_that_nobody_looks_at_are_looked_at_by_a_job(desk, item, prompts, tmp_path):
    queued = take(desk, item, prompts, 1, tmp_path / "0.wav")
    again = take(desk, item, prompts, 2, tmp_path / "1.wav")
    assert queued == again

    while any(
        each.state == "waiting"
        for each in ask(desk, "recordings.read", project=item.id, prompts=prompts)["read"]
    ):
        time.sleep(0.1)
    queue.stop(desk.workspace, queued)

    assert wait(desk, queued).outcome.cause == "stopped"
    read = ask(desk, "recordings.read", project=item.id, prompts=prompts)
    assert [each.state for each in read["read"]] == ["good", "good"]
    assert read["seconds"] > 6


def test_takes_whose_look_failed_are_not_looked_at_each_second(
    desk, item, prompts, tmp_path, monkeypatch
):
    queued = []
    failed = Job(None, Request("record", "", (), once=f"takes-{item.id}"), "ended", FAULT, "")
    monkeypatch.setattr(takes, "submit", lambda *given: queued.append(given) or Begun())
    monkeypatch.setattr(takes.queue, "jobs", lambda workspace: [failed])
    take(desk, item, prompts, 1, tmp_path / "0.wav")

    for _ in range(3):
        ask(desk, "recordings.read", project=item.id, prompts=prompts)

    assert len(queued) == 1


def test_a_note_that_a_cut_left_of_a_take_holds_up_no_other(
    desk, item, prompts, tmp_path, monkeypatch
):
    monkeypatch.setattr(takes, "submit", lambda workspace, project: Begun())
    folder = projects.folder_of(desk.workspace, item)
    take(desk, item, prompts, 1, tmp_path / "1.wav")
    takes.sound_of(folder, takes.waiting(folder)[0]).unlink()
    take(desk, item, prompts, 2, tmp_path / "1.wav")

    look_at_takes(desk, item)

    [read] = ask(desk, "recordings.read", project=item.id, prompts=prompts)["read"]
    assert (read.number, read.state) == (2, "good")


def test_words_read_from_prompts_are_not_heard_once_more(
    desk, item, prompts, tmp_path, monkeypatch
):
    monkeypatch.setattr(takes, "submit", lambda workspace, project: Begun())
    take(desk, item, prompts, 1, tmp_path / "0.wav")
    look_at_takes(desk, item)

    with pytest.raises(SettingsError, match="read from prompts"):
        build(desk, item, words="whisper", whisper="tiny", download=True)
    job = wait(desk, build(desk, item, words="takes"))

    work = ask(desk, "recordings", project=item.id)["build"]
    assert job.outcome.cause == "finished", job.folder.log_tail()
    assert work["clips"] == 1 and [step.name for step in work["steps"]] == ["check"]


def test_a_text_without_a_sentence_is_no_set_of_prompts(desk, item, tmp_path):
    (tmp_path / "empty.txt").write_text("# nothing\n...\n")
    upload = sent(desk, tmp_path / "empty.txt")

    with pytest.raises(TextError, match="no sentence"):
        ask(desk, "recordings.ownprompts", project=item.id, upload=upload, name="empty.txt")

    with pytest.raises(StudioError, match="no prompts called"):
        ask(desk, "recordings.prompts", project=item.id, name="empty")


def test_ours_and_ones_own_prompts_are_offered(desk, item, prompts):
    shown = ask(desk, "recordings.prompts", project=item.id, name=prompts)

    assert shown["sets"] == [
        {"name": "english", "language": "en"},
        {"name": "my lines", "language": ""},
    ]
    assert len(shown["prompts"]) == 2
    assert len(ask(desk, "recordings.prompts", project=item.id, name="english")["prompts"]) == 200


class Begun:
    """Stands for a job that is not needed here."""

    id = "none"


class Here:
    """A job's code, at work in the test."""

    def say(self, event):
        pass

    def stop_wanted(self):
        return False


def look_at_takes(desk, item):
    return taking.work(Here(), projects.folder_of(desk.workspace, item), stays_seconds=0.01)
