"""
Hearing, cutting and freezing on a disk that fails at each operation, and that loses its power.

And the whole build as a job that is killed; `TIMBRE_KILLS=20` kills it that many times.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import soundfile

from finetune import building, checking
from finetune.building import Build
from finetune.checking import Listened
from finetune.hearing import listening
from finetune.hearing.speech import RATE, Stretch
from finetune.hearings import Hearing
from finetune.jobs.events import Event, Progress
from finetune.projects import Project, open_project
from finetune.schema import open_store
from finetune.settings import HearSettings
from finetune.transcript import Clip
from finetune.wishes import Wish, write_wish
from finetune.words import Word
from tests import speech
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from tests.stores import add_recording
from tests.whisper import hearing as tiny

pytestmark = needs_linux

# One failure of a kind and those that end it, for the sake of time: there are over a hundred
# operations, nearly all of the store, whose own tests try the rest.
FAULTS = ("no space from here on", "an I/O error, once", "the process ends",
          "the process ends in the middle")  # fmt: skip
SECONDS = 24.0
STRETCH_SECONDS = 12.0
SENTENCE_SECONDS = 4.0


def empty_project(folder: Path) -> None:
    for name in ("recordings", "working"):
        (folder / name).mkdir()
    open_store(folder / "project.db").close()


class HearAndCut(Scenario):
    """A recording is heard in two stretches, cut into clips, and frozen, each told when kept."""

    TOLD = ("12.0", "24.0", "clips", "version 1")

    def prepare(self, folder: Path) -> None:
        empty_project(folder)
        with open_project(folder) as project:
            add_recording(project.store, "r", "talk.wav", SECONDS)
        (folder / "working" / "r.flac").touch()

    def act(self, folder: Path) -> None:
        with open_project(folder) as project:
            number = build(project, freeze=True, told=clips_are_checked)
            acknowledge(f"version {number}")

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        assert outcome.acknowledged == self.TOLD[: len(outcome.acknowledged)]
        with open_project(folder) as project:
            self.is_there(project, outcome.acknowledged)
            self.goes_on(project)
            self.is_cut_once(project)

    def is_there(self, project: Project, told: tuple[str, ...]) -> None:
        """What the user was told of, and nothing that has a hole in it."""
        reached = max([0.0, *(float(each) for each in told if each in self.TOLD[:2])])
        hearing = heard_of(project)
        assert (hearing.reached if hearing else 0.0) >= reached, "a stretch is lost"
        assert_without_holes(project)
        assert described(project.transcript.clips()) in ((), undisturbed()[1])
        if "clips" in told:
            assert described(project.transcript.clips()) == undisturbed()[1], "clips are lost"
        assert project.versions.numbers() in ([], [1])
        if "version 1" in told:
            assert project.versions.numbers() == [1], "the dataset is lost"

    def goes_on(self, project: Project) -> None:
        """The rest, to the same as if nothing had happened."""
        assert build(project, freeze=True) == 1
        assert_without_holes(project)
        assert result(project) == undisturbed()

    def is_cut_once(self, project: Project) -> None:
        """Building it once more changes nothing."""
        history = project.transcript.history()
        build(project)
        assert project.transcript.history() == history


class Ear:
    """Hears the sentences that begin in a stretch."""

    about_seconds = STRETCH_SECONDS

    def language(self, stretch: Stretch) -> tuple[str, float]:
        return "en", 1.0

    def words(self, stretch: Stretch, *_: object) -> list[Word]:
        return [
            Word(text, start + 0.5 * place, start + 0.5 * place + 0.4, 0.9)
            for start, _ in stretch.spans
            for place, text in enumerate((" This", " is", " sentence", f" {start:.0f}."))
        ]


def stretches(path: Path, reached: float, about: float) -> Iterator[Stretch]:
    """Say that a stretch is kept as soon as the next is asked for."""
    for start in np.arange(reached, SECONDS, about).tolist():
        end = start + about
        spans = tuple((at, at + 2.0) for at in np.arange(start + 1, end, SENTENCE_SECONDS).tolist())
        times = np.arange(round(start * RATE), round(end * RATE)) / RATE
        loud = np.zeros_like(times, np.float32)
        for begin, stop in spans:
            loud[(times > begin) & (times < stop)] = 0.5
        yield Stretch(start, end, spans, loud)
        acknowledge(f"{end}")


def clips_are_checked(event: Event) -> None:
    """Say that the clips are kept as soon as they are checked."""
    if isinstance(event, Progress) and event.unit == "clips checked" and not event.done:
        acknowledge("clips")


def ignore(event: Event) -> None:
    pass


def build(
    project: Project, *, freeze: bool = False, told: Callable[[Event], None] = ignore
) -> int | None:
    """Build as a job does, with ears that need no model."""
    wish = Wish(str(project.folder), "", whisper="ear", freeze=freeze)
    silent = np.zeros(192, np.float32).tobytes()
    with ExitStack() as stack:
        for where, name, instead in (
            (building, "stretches", stretches),
            (listening, "load", lambda *_: Ear()),
            (listening, "source", lambda *_: "an ear"),
            (checking, "VoicePrints", lambda: None),
            (checking, "_listen", lambda *_: Listened((), silent)),
        ):
            stack.enter_context(patch.object(where, name, instead))
        return Build(project, wish, told, lambda: False).run().version


def heard_of(project: Project) -> Hearing | None:
    hearings = project.hearings.of("r")
    assert len(hearings) <= 1, "it was heard twice"
    return hearings[0] if hearings else None


def assert_without_holes(project: Project) -> None:
    """Stretches follow each other from the beginning on."""
    rows = project.store.rows('SELECT start, "end" FROM stretches ORDER BY start')
    begins = [0.0, *(row["end"] for row in rows)]
    assert [row["start"] for row in rows] == begins[:-1]


def described(clips: list[Clip]) -> tuple[object, ...]:
    return tuple((clip.id, clip.values) for clip in clips)


def result(project: Project) -> tuple[object, ...]:
    """What was made: words and spans, clips, the dataset and the history."""
    hearing = heard_of(project)
    assert hearing and hearing.finished and hearing.language == "en"
    heard = project.hearings.heard(hearing)
    newest = project.versions.newest()
    assert newest
    return (
        (heard.words, heard.spans, heard.levels.tolist()),
        described(project.transcript.clips()),
        newest.dataset,
        [(action.label, action.state) for action in project.transcript.history()],
    )


@cache
def undisturbed() -> tuple[object, ...]:
    """What comes of it where nothing goes wrong."""
    with tempfile.TemporaryDirectory() as folder:
        HearAndCut().prepare(Path(folder))
        with open_project(Path(folder)) as project:
            build(project, freeze=True)
            return result(project)


def test_whatever_fails_and_whenever_what_was_heard_and_cut_is_there_once(tmp_path):
    enumerate_faults(HearAndCut, tmp_path, FAULTS)


def test_whenever_the_power_goes_what_was_heard_and_cut_is_there_once(tmp_path):
    enumerate_power_loss(HearAndCut, tmp_path)


# ---- The real job, killed ----

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("TIMBRE_KILLS", "3"))
AT = ("files read", "s of sound heard", "clips checked")


def start(job: Path, project: Path, sources: Path) -> subprocess.Popen[bytes]:
    """Start a build as the queue does, in a folder of its own."""
    job.mkdir()
    hear = HearSettings(window_seconds=8)
    wish = Wish(str(project), "", (str(sources),), whisper=str(tiny.MODEL), freeze=True, hear=hear)
    write_wish(wish, job / "wish.json")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_WAIT_POLICY": "PASSIVE"}
    with (job / "log.txt").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "finetune.building", "wish.json"],
            cwd=job, env=environment, stdout=log, stderr=log,
        )  # fmt: skip


def kill_at(said: str, job: Path, project: Path, sources: Path, luck: random.Random) -> int:
    """Start a build, kill it within a second after it has said something, and tell how it ended."""
    process = start(job, project, sources)
    events = job / "events.jsonl"
    while process.poll() is None and not (events.exists() and said in events.read_text()):
        time.sleep(0.02)
    time.sleep(luck.random())
    process.kill()
    return process.wait(timeout=180)


def built(folder: Path) -> list[tuple[object, ...]]:
    """What was made, without ids: words and clips by the names of the recordings, and the dataset."""
    # Rounded, because a busy machine gives Whisper's times other last digits: 1e-14 s were seen.
    with open_project(folder) as project:
        names = {each.id: each.name for each in project.recordings.all()}
        assert len({*names.values()}) == len(names) == 2
        assert [len(project.hearings.of(each)) for each in names] == [1, 1], "heard twice"
        newest = project.versions.newest()
        assert newest and newest.number == 1
        frozen = [
            (names[each.recording], round(each.start, 6), each.text)
            for each in newest.dataset.check
        ]
        words = [
            (name, word.text, round(word.start, 6), round(word.end, 6))
            for recording, name in names.items()
            for hearing in project.hearings.of(recording)
            for word in project.hearings.heard(hearing).words
        ]
        clips = [
            replace(
                clip.values,
                recording=names[clip.values.recording],
                start=round(clip.values.start, 6),
                end=round(clip.values.end, 6),
            )
            for clip in project.transcript.clips()
        ]
        return [*words, *clips, *frozen]


def test_a_build_that_is_killed_again_and_again_comes_to_the_same(tmp_path):
    sources, whole, broken = (tmp_path / name for name in ("stick", "whole", "broken"))
    for folder in (sources, whole, broken):
        folder.mkdir()
    for number in (1, 2):
        said = speech.bundled()[number * 5 : number * 5 + 5]
        samples, _ = speech.joined(said, gaps=[0.6, 1.2, 0.9], noise_db=30)
        soundfile.write(sources / f"talk {number}.wav", samples, speech.RATE)
    empty_project(whole)
    empty_project(broken)
    assert start(tmp_path / "unbroken", whole, sources).wait(timeout=180) == 0

    luck = random.Random(5)
    ended = [
        kill_at(AT[number * len(AT) // KILLS], tmp_path / f"killed {number}", broken, sources, luck)
        for number in range(KILLS)
    ]
    assert ended.count(-signal.SIGKILL) > KILLS // 2, "most of them had come to their end before"
    assert start(tmp_path / "to the end", broken, sources).wait(timeout=180) == 0

    assert built(broken) == built(whole)
    assert len([*(broken / "recordings").iterdir()]) <= 2 + KILLS
    assert not any((broken / "recordings").glob(".tmp-*"))
