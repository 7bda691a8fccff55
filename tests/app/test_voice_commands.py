"""Finished voices by what a person types: kept in order, and spoken with."""

from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile

from engines.errors import AudioError, NotFoundError, SettingsError, TextError
from finetune import speaking
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job, StopWork
from finetune.speaking import SpeakWish
from tests import finished
from tests.app.test_data_commands import facts, opened, run
from voices import library

TEXT = "Hello there. Would you like some tea? It costs $4.50."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A workspace with one voice."""
    root = tmp_path_factory.mktemp("home")
    voice = finished.voice(root / "made")
    with opened(root / "home") as workspace:
        library.keep(workspace, voice, "Ada")
    return root / "home"


def heard(path):
    samples, rate = soundfile.read(path, dtype="float32")
    return samples, rate


def spoken(home, script, target, **how):
    """Do in this process what the job of a command does; how each file was said."""
    with opened(home) as workspace:
        voice = library.find(workspace, "Ada")
    wish = SpeakWish(str(home), voice.id, str(script), str(target), **how)
    folder = JobFolder(target.with_suffix(".job"))
    (folder.path / "control").mkdir(parents=True)
    speaking.work(Job(folder), wish)
    return json.loads((folder.path / "report.json").read_bytes())["files"]


def script_of(folder, text, name="script.txt"):
    (folder / name).write_text(text)
    return folder / name


def test_a_voice_is_renamed_tagged_favoured_and_found_again(home):
    run(home, "voices", "tag", "Ada", "calm", "story")
    run(home, "voices", "favourite", "Ada")
    run(home, "voices", "consent", "Ada", "--whose", "Ada Lovelace", "--agreed")

    [listed] = facts(home, "voices", "list", "--search", "lovelace calm")

    assert (listed["tags"], listed["favourite"]) == (["calm", "story"], True)
    assert (listed["whose"], listed["agreed"]) == ("Ada Lovelace", True)
    shown = run(home, "voices", "show", "Ada").stdout
    assert "the voice of Ada Lovelace, who agrees" in shown and "Pocket, en" in shown
    assert facts(home, "voices", "list", "--search", "nobody") == []


def test_one_in_the_trash_comes_back_by_its_name(home):
    run(home, "voices", "trash", "Ada")
    assert facts(home, "voices", "list") == []
    assert [each["name"] for each in facts(home, "voices", "list", "--trashed")] == ["Ada"]

    run(home, "voices", "restore", "Ada")

    assert [each["name"] for each in facts(home, "voices", "list")] == ["Ada"]


def test_a_text_is_spoken_into_a_file_with_how_each_sentence_was_said(home, tmp_path):
    told = facts(
        *(home, "speak", "Ada", TEXT, "-o", tmp_path / "hello.flac"),
        *("--seed", 3, "--set", "speed=1.2", "--lufs", -20),
    )

    [file] = told["files"]
    assert (file["seed"], file["manners"]) == (3, {"speed": 1.2})
    samples, rate = heard(tmp_path / "hello.flac")
    assert rate == 16000 and len(samples) / rate == pytest.approx(file["seconds"], abs=0.01)
    assert [each["text"] for each in file["sentences"]] == [
        *("Hello there.", "Would you like some tea?", "It costs $4.50.")
    ]
    assert "four dollars" in file["sentences"][2]["spoken"]
    assert file["lufs"] == pytest.approx(-20, abs=0.5)
    assert told["voice"]["name"] == "Ada" and np.abs(samples).max() <= 1


def test_a_file_that_is_there_is_written_over_only_if_wished(home, tmp_path):
    target = tmp_path / "mine.wav"
    target.write_bytes(b"mine")

    with pytest.raises(AudioError, match="there already"):
        run(home, "speak", "Ada", "Hello.", "-o", target)

    assert target.read_bytes() == b"mine"
    facts(home, "speak", "Ada", "Hello.", "-o", target, "--replace")
    assert len(heard(target)[0])


def test_the_same_seed_says_the_same_and_another_does_not(home, tmp_path):
    script = script_of(tmp_path, "Good morning.")

    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        spoken(home, script, tmp_path / f"{name}.wav", seed=seed)

    a, b, c = ((tmp_path / f"{name}.wav").read_bytes() for name in "abc")
    assert a == b != c


def test_a_manner_of_speaking_can_be_chosen(home, tmp_path):
    script = script_of(tmp_path, "The quiet woman carried a letter to the old house by the river.")

    slow, quick = (
        spoken(home, script, tmp_path / f"{speed}.wav", manners={"speed": speed})[0]["seconds"]
        for speed in (1.0, 2.0)
    )

    assert quick < 0.7 * slow


def test_subtitles_keep_their_times(home, tmp_path):
    script = script_of(
        tmp_path,
        "1\n00:00:01,000 --> 00:00:03,000\nHello there.\n\n"
        "2\n00:00:05,000 --> 00:00:07,000\nGood night.\n",
        "film.srt",
    )

    spoken(home, script, tmp_path / "film.wav")

    samples, rate = heard(tmp_path / "film.wav")
    loud = np.abs(samples) > 0.02
    assert not loud[: int(0.9 * rate)].any()
    assert loud[int(1.0 * rate) : int(3.0 * rate)].any()
    assert not loud[int(3.2 * rate) : int(4.9 * rate)].any()
    assert loud[int(5.0 * rate) :].any()


def test_a_table_becomes_a_file_a_line(home, tmp_path):
    table = "text,name\nHello there.,greeting\nGood night.,farewell\n"

    told = spoken(home, script_of(tmp_path, table, "lines.csv"), tmp_path / "line.ogg")

    written = [tmp_path / name for name in ("greeting.ogg", "farewell.ogg")]
    assert [each["file"] for each in told] == [str(path) for path in written]
    assert all(path.exists() for path in written)


@pytest.mark.parametrize(
    ("typed", "problem", "reason"),
    [
        ((), TextError, "nothing to say"),
        (("Hello.", "--file", "x.txt"), TextError, "twice"),
        (("--file", "nowhere.txt"), NotFoundError, "nothing at"),
        (("Hello.", "-o", "hello.doc"), AudioError, "no kind of audio"),
        (("Hello.", "--set", "speed"), SettingsError, "NAME=NUMBER"),
        (("!?",), TextError, "nothing to say"),
    ],
)
def test_what_cannot_be_spoken_is_refused_in_a_sentence(home, typed, problem, reason):
    with pytest.raises(problem, match=reason):
        run(home, "speak", "Ada", *typed)


def test_what_has_nothing_to_say_is_named_in_the_answer_of_its_job(home, tmp_path):
    script = script_of(tmp_path, "① ☀\n")

    done = run(home, "speak", "Ada", "--file", script, "-o", tmp_path / "x.wav", "--json")

    told = json.loads(done.stdout)
    assert done.exit_code == 1 and "nothing in it that can be said" in told["error"]["what"]
    assert not (tmp_path / "x.wav").exists()


def test_subtitles_with_nothing_to_say_are_named_by_their_line(home, tmp_path):
    script = script_of(tmp_path, "1\n00:00:01,000 --> 00:00:03,000\n① ☀\n", "sign.srt")

    with pytest.raises(TextError, match=r"Line \d: there is nothing in it that can be said"):
        spoken(home, script, tmp_path / "x.wav")

    assert not (tmp_path / "x.wav").exists()


def test_a_table_that_is_stopped_keeps_the_files_that_are_whole(home, tmp_path):
    script = tmp_path / "lines.csv"
    script.write_text("text,name\nHello there.,one\nGood night.,two\nGood bye.,three\n")
    with opened(home) as workspace:
        voice = library.find(workspace, "Ada")
        wish = SpeakWish(str(workspace.root), voice.id, str(script), str(tmp_path / "line.wav"))
    folder = JobFolder(tmp_path / "job")
    (folder.path / "control").mkdir(parents=True)
    job = Job(folder)
    job.stop_wanted = lambda: (tmp_path / "one.wav").exists()

    with pytest.raises(StopWork, match=r"1 files are written"):
        speaking.work(job, wish)

    kept = [
        each["file"] for each in json.loads((folder.path / "report.json").read_bytes())["files"]
    ]
    assert kept == [str(tmp_path / "one.wav")]
    assert sorted(path.name for path in tmp_path.glob("*.wav")) == ["one.wav"]


def test_a_manner_that_the_voice_has_not_is_named(home, tmp_path):
    script = script_of(tmp_path, "Hello.")

    with pytest.raises(SettingsError, match="anger"):
        spoken(home, script, tmp_path / "x.wav", manners={"anger": 3})

    assert not (tmp_path / "x.wav").exists()
