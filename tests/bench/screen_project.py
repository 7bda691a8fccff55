"""A project of 2,000 clips and an hour of sound, checked, without a model: for the editor to bear."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import soundfile

from finetune import projects
from finetune.media.decoded import Decoded
from finetune.media.levels import Levels
from finetune.projects import Project
from finetune.quiet import levels
from finetune.transcript import Values
from finetune.words import Word
from voices import shipped
from voices.shelf import Item
from voices.workspace import Workspace

CLIPS = 2_000
SECONDS = 3_600.0
SEED = 8
RECORDING = "0123456789ab"
_STRETCH_SECONDS = 120.0
_LEVELS = Levels(-3.0, 0.0, -20.0, -22.0, -60.0, -20.0, 0.2, 0.0, 8000.0)
WORDS = ("kettle", "captain", "bridge", "silver", "morning", "rain", "horses", "market", "quiet")
_SOUND = (("clipping", "Not clipped."), ("level", "Speech at -18 dB: loud enough."))
_CHECKS = ("speed", "repeats", "script", "certainty", "agreement", "noise", "music", "voice")
_FIT = "This is as it should be, and one sentence says so."
_DOUBT = "12.1 characters a second, where this voice usually says 8.0: the text may hold words not spoken."


def make(workspace: Workspace, name: str = "Bench", clips: int = CLIPS) -> Item:
    """Make the project, as a build would leave it; one clip in ten is to be looked at."""
    item, seconds = projects.create(workspace, name), SECONDS * clips / CLIPS
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        rate = _write_sound(project.working_of(RECORDING), seconds)
        decoded = Decoded(seconds, rate, rate, 1, "wav", "pcm_s16le", _LEVELS, 0.0, ())
        project.recordings.add(RECORDING, "An hour.wav", "0" * 64, "hour.wav", decoded)
        project.recordings.set_language(RECORDING, "en")
        words = [*_spoken(seconds, clips)]
        _keep_hearing(project, [word for said in words for word in said], seconds)
        new = [
            Values(RECORDING, said[0].start - 0.05, said[-1].end + 0.05, _text(said))
            for said in words
        ]
        project.transcript.edit("cut An hour.wav", new=new, by="whisper 1, cut")
        _check(project)
    return item


def _write_sound(path: Path, seconds: float) -> int:
    with soundfile.SoundFile(shipped.demo().recording) as demo:
        samples, rate = demo.read(dtype="int16", always_2d=True)[:, 0], int(demo.samplerate)
    left = round(seconds * rate)
    with soundfile.SoundFile(path, "w", rate, 1, "PCM_16", format="FLAC") as file:
        while left > 0:
            file.write(samples[:left])
            left -= len(samples)
    return rate


def _spoken(seconds: float, clips: int) -> Iterator[list[Word]]:
    """The words of each clip, a clip every 1.8 seconds."""
    chance, each = Random(SEED), seconds / clips
    for number in range(clips):
        count = chance.randint(3, 6)
        step = (each - 0.5) / count
        begin = number * each + 0.1
        yield [
            Word(f" {chance.choice(WORDS)}", begin + at * step, begin + (at + 0.9) * step, 0.9)
            for at in range(count)
        ]


def _text(said: list[Word]) -> str:
    return "".join(word.text for word in said).strip().capitalize() + "."


def _keep_hearing(project: Project, words: list[Word], seconds: float) -> None:
    hearing = project.hearings.begin(RECORDING, "whisper", "a bench", "en")
    while hearing.reached < seconds:
        first, last = hearing.reached, min(seconds, hearing.reached + _STRETCH_SECONDS)
        inside = [word for word in words if first <= word.start < last]
        noise = np.random.default_rng(SEED).normal(0, 0.05, round((last - first) * 8000))
        hearing = project.hearings.add(
            hearing, last, [(first, last)], inside, levels(noise.astype(np.float32), 8000)
        )
    project.hearings.finish(hearing)


def _check(project: Project) -> None:
    rows = []
    for number, clip in enumerate(project.transcript.clips()):
        doubtful = number % 10 == 0
        findings = [(name, 0.5, _FIT, 0.0) for name in _CHECKS[1:]]
        findings += [(name, 0.5, sentence, 0.0) for name, sentence in _SOUND]
        findings.append(("speed", 12.1, _DOUBT if doubtful else _FIT, 0.4 * doubtful))
        mark, reason = ("look", _DOUBT) if doubtful else ("good", "")
        values = clip.values
        rows.append(
            (clip.id, values.start, values.end, "[]", b"", values.text, mark, reason,
             json.dumps(findings))
        )  # fmt: skip
    with project.store.change() as store:
        store.executemany("INSERT INTO checks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def rows() -> list[list[str]]:
    """The same texts as a table: begin, seconds, text."""
    return [
        [f"{said[0].start:.2f}", f"{said[-1].end - said[0].start:.2f}", _text(said)]
        for said in _spoken(SECONDS, CLIPS)
    ]
