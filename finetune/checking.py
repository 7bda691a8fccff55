"""Check a project's clips: listen to each once, judge all of them together, sort out the unusable."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

import numpy as np

from finetune import checks
from finetune.checks import Facts, Finding, Mark
from finetune.importing import make_working_again
from finetune.jobs.worker import StopWork
from finetune.listening import other_voice
from finetune.listening.music import check_music, music_strength
from finetune.listening.voiceprint import VoicePrints
from finetune.media import reading
from finetune.projects import Project
from finetune.quiet import clipped_share, levels
from finetune.transcript import CHECKS, Clip, Edit, Values, on_conflict_again
from finetune.words import Word, by_middle, within

# Kept together: a transaction for each clip would take as long as listening to it.
_AT_ONCE = 25
# Most of the time is spent in torch and numpy, which let other threads work.
_THREADS = 4


@dataclass(frozen=True, slots=True)
class Listened:
    """What was found in the sound of a clip, and its voice print."""

    findings: tuple[Finding, ...]
    voice: bytes


@dataclass(frozen=True, slots=True)
class Checked:
    """A clip and everything that speaks for and against it."""

    clip: Clip
    mark: Mark
    reason: str
    findings: tuple[Finding, ...]


def check_all(
    project: Project, told: Callable[[int, int], None], stop: Callable[[], bool]
) -> list[Checked]:
    """Check every clip; only what was not listened to before is listened to now."""
    clips = project.transcript.clips()
    listened = _kept(project, clips)
    if new := [clip for clip in clips if clip.id not in listened]:
        told(0, len(new))
        before = len(listened)
        for found in _listen_to(project, new, stop):
            listened |= found
            told(len(listened) - before, len(new))
    return _judge(project, clips, listened)


def sort_out(project: Project, checked: Sequence[Checked]) -> None:
    """Leave out what cannot be used, and take in what can be again, where no person has decided."""
    found = {each.clip.id: each for each in checked}

    def attempt() -> None:
        decided = project.transcript.decided()
        edits = [
            Edit(clip.id, clip.revision, sorted_)
            for clip in project.transcript.clips()
            if clip.id not in decided
            and (sorted_ := _sorted(clip, found.get(clip.id))) != clip.values
        ]
        if edits:
            project.transcript.edit("sort out by the checks", edits, by=CHECKS)

    on_conflict_again(attempt)


def read(project: Project) -> dict[int, Checked]:
    """What the last checks found, by the clips' ids; a clip that was changed since is not there."""
    rows = {row["clip"]: row for row in project.store.rows("SELECT * FROM checks")}
    found: dict[int, Checked] = {}
    for clip in project.transcript.clips():
        row = rows.get(clip.id)
        if row and row["mark"] and row["text"] == clip.values.text and _same_span(row, clip.values):
            findings = tuple(Finding(*each) for each in json.loads(row["findings"]))
            found[clip.id] = Checked(clip, row["mark"], row["reason"], findings)
    return found


def counted(checked: Iterable[Checked]) -> dict[str, int]:
    """How many clips have which mark."""
    found = Counter(each.mark for each in checked)
    return {mark: found[mark] for mark in checks.MARKS if found[mark]}


# ---- Listening ----


def _listen_to(
    project: Project, clips: Sequence[Clip], stop: Callable[[], bool]
) -> Iterator[dict[int, Listened]]:
    """Listen to clips, some at a time; what is yielded is kept."""
    for recording in {clip.values.recording for clip in clips}:
        make_working_again(project, project.recordings.find(recording), _ignore, stop)
    voices = VoicePrints()
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
        for first in range(0, len(clips), _AT_ONCE):
            if stop():
                raise StopWork("Stopped while checking. What was checked is kept.")
            batch = clips[first : first + _AT_ONCE]
            heard = pool.map(lambda clip: _listen(project, clip, voices), batch)
            found = {clip.id: each for clip, each in zip(batch, heard, strict=True)}
            _keep(project, batch, found)
            yield found


def _ignore(done: float, total: float) -> None:
    """Hardly ever is there anything to tell."""


def _listen(project: Project, clip: Clip, voices: VoicePrints) -> Listened:
    path = project.working_of(clip.values.recording)
    sound = reading.read(path, clip.values.start, clip.values.end)
    heard = levels(sound.samples, sound.rate)
    findings = (
        checks.check_clipping(clipped_share(sound.samples)),
        checks.check_level(heard),
        checks.check_noise(heard),
        check_music(music_strength(sound.samples, sound.rate)),
    )
    voice = voices.of(sound.samples, sound.rate).tobytes()
    return Listened(findings if len(heard) else (), voice)


def _kept(project: Project, clips: Sequence[Clip]) -> dict[int, Listened]:
    """What was heard before in clips whose ends have not moved since."""
    rows = {row["clip"]: row for row in project.store.rows("SELECT * FROM checks")}
    return {
        clip.id: Listened(tuple(Finding(*each) for each in json.loads(row["sound"])), row["voice"])
        for clip in clips
        if (row := rows.get(clip.id)) and _same_span(row, clip.values)
    }


def _same_span(row: sqlite3.Row, values: Values) -> bool:
    return (row["start"], row["end"]) == (values.start, values.end)


def _keep(project: Project, clips: Sequence[Clip], found: Mapping[int, Listened]) -> None:
    with project.store.change() as store:
        store.executemany(
            'INSERT OR REPLACE INTO checks (clip, start, "end", sound, voice, text, mark, reason,'
            " findings) VALUES (?, ?, ?, ?, ?, '', '', '', '[]')",
            [
                (
                    *(clip.id, clip.values.start, clip.values.end),
                    *(_json(found[clip.id].findings), found[clip.id].voice),
                )
                for clip in clips
            ],
        )


# ---- Judging ----


def _judge(
    project: Project, clips: Sequence[Clip], listened: Mapping[int, Listened]
) -> list[Checked]:
    """Judge each clip by itself and beside the others, and keep what was found."""
    facts = [*_facts(project, clips)]
    speaker = checks.usual(facts)
    voices = other_voice.judge(
        [np.frombuffer(listened[clip.id].voice, np.float32) for clip in clips]
    )
    judged = []
    for clip, fact, voice in zip(clips, facts, voices, strict=True):
        findings = (*checks.check(fact, speaker), *listened[clip.id].findings, voice)
        verdict = checks.judge(findings)
        judged.append(Checked(clip, verdict.mark, verdict.reason, findings))
    with project.store.change() as store:
        store.executemany(
            "UPDATE checks SET text = ?, mark = ?, reason = ?, findings = ? WHERE clip = ?",
            [
                (each.clip.values.text, each.mark, each.reason, _json(each.findings), each.clip.id)
                for each in judged
            ],
        )
    return judged


def _facts(project: Project, clips: Sequence[Clip]) -> Iterator[Facts]:
    recordings = {each.id: each for each in project.recordings.all()}
    words = {each: _words(project, each) for each in {clip.values.recording for clip in clips}}
    for clip in clips:
        values = clip.values
        yield Facts(
            values.text,
            recordings[values.recording].language,
            values.end - values.start,
            words=within(words[values.recording], values.start, values.end),
        )


def _words(project: Project, recording: str) -> Sequence[Word]:
    """What Whisper heard in a recording, by the words' middles."""
    hearing = project.hearings.newest(recording, "whisper")
    return by_middle(project.hearings.heard(hearing).words if hearing else ())


def _sorted(clip: Clip, found: Checked | None) -> Values:
    """A clip as the checks would have it; one that was changed since they looked stays as it is."""
    if found is None or not _same_as_heard(clip.values, found.clip.values):
        return clip.values
    out = found.mark == "leave out"
    return replace(clip.values, included=not out, reason=found.reason if out else "")


def _same_as_heard(now: Values, then: Values) -> bool:
    return (now.start, now.end, now.text) == (then.start, then.end, then.text)


def _json(findings: Iterable[Finding]) -> str:
    rows = [tuple(asdict(finding).values()) for finding in findings]
    return json.dumps(rows, ensure_ascii=False)
