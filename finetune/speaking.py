"""
A text or a script spoken with a finished voice, as a job: `python -m finetune.speaking WISH.json`.

    script -> sentences -> each said well -> joined -> a file, and beside it how it was said
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from engines.base import Sound
from engines.errors import TextError
from finetune.jobs.events import Said
from finetune.jobs.folder import JobFolder
from finetune.jobs.telling import Telling
from finetune.jobs.worker import Job, StopWork, run
from finetune.wishes import REPORT
from voices import files, library
from voices.library import Voice
from voices.speaking import formats, joining, scripts
from voices.speaking.formats import Loudness
from voices.speaking.narrator import Narrator, Told
from voices.speaking.scripts import Part, PlannedFile, Script
from voices.speaking.stretching import stretched
from voices.speaking.timing import placed
from voices.workspace import open_workspace


@dataclass(frozen=True)
class SpeakWish:
    """What is to be spoken, as it is kept in a file."""

    workspace: str
    voice: str
    """Its id."""
    script: str
    """A file: a text, subtitles, or a table of texts."""
    target: str
    """The file that is written; of a table, the first part of the names of its files."""
    language: str = ""
    seed: int = 0
    manners: dict[str, float] = field(default_factory=dict)
    """How it is spoken, by the names that the engine has for it; none: as usual."""
    lufs: float | None = -16.0
    """How loud the file gets; None: as it comes."""


def write_wish(wish: SpeakWish, path: Path) -> None:
    files.write_json(path, {"v": 1, **asdict(wish)})


def read_wish(path: Path) -> SpeakWish:
    said = json.loads(path.read_bytes())
    return SpeakWish(
        **{each.name: said[each.name] for each in fields(SpeakWish) if each.name in said}
    )


def work(job: Job, wish: SpeakWish) -> str:
    """Speak as a job; leave beside it, and with each file, how every sentence was said."""
    script, targets = planned(wish)
    with closing(open_workspace(Path(wish.workspace))) as workspace:
        used = {part.voice for part in script.parts}
        voices = {name: library.find(workspace, name or wish.voice) for name in used}
    spoken = _Speaking(job, wish, script, voices)
    for each, path in targets.items():
        spoken.write(each, path)
    return _closing(spoken.written, spoken.faults)


def planned(wish: SpeakWish) -> tuple[Script, dict[PlannedFile, Path]]:
    """What is said, and which files it becomes; raise for what cannot be spoken."""
    target = Path(wish.target)
    kind = formats.kind_of(target)
    script = scripts.read(Path(wish.script))
    every = scripts.plan(script, target.stem, f".{kind}")
    return script, {each: target.parent / each.name for each in every}


class _Speaking:
    """One wish at work."""

    def __init__(
        self, job: Job, wish: SpeakWish, script: Script, voices: Mapping[str, Voice]
    ) -> None:
        self._job, self._wish, self._script, self._voices = job, wish, script, voices
        self._narrators: dict[str, Narrator] = {}
        self._sentences: list[dict[str, Any]] = []
        self.written: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self._done = 0
        count = sum(self._narrator(part).count(part.text) for part in script.parts)
        self._telling = Telling(job.say, "sentences spoken", count)

    def write(self, planned: PlannedFile, path: Path) -> None:
        """Write one file, and into the job's report how it was said."""
        self._sentences = []
        timed = self._script.kind == "srt"
        blocks = self._at_times(planned.parts) if timed else self._joined(planned.parts)
        wish = self._wish
        done = formats.write(path, blocks, Loudness(wish.lufs))
        self.written.append(
            {
                "file": str(path),
                "seconds": round(done.seconds, 3),
                "lufs": round(done.lufs, 1),
                "voice": self._voices[planned.parts[0].voice].name,
                "seed": wish.seed,
                "manners": wish.manners,
                "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "sentences": self._sentences,
            }
        )
        report = {"files": self.written, "faults": self.faults}
        files.write_json(self._job.folder.path / REPORT, report)

    def _joined(self, parts: tuple[Part, ...]) -> Iterator[Sound]:
        return joining.joined(
            joining.Said(told.spoken.sound, told.sentence.pause_after_s)
            for part in parts
            for told in self._told(part)
        )

    def _at_times(self, parts: tuple[Part, ...]) -> Iterator[Sound]:
        """Speech in the times of subtitles, quicker where it must be."""

        def timed() -> Iterator[joining.Timed]:
            free_from = 0.0
            for part in parts:
                sound = _as_one(self._joined((part,)))
                place = placed(part, sound.seconds, free_from)
                free_from = place.ends_s
                if place.note:
                    self.faults.append(place.note)
                    self._job.say(Said(place.note))
                yield joining.Timed(stretched(sound, place.pace), place.at_s)

        return joining.at_times(timed())

    def _told(self, part: Part) -> Iterator[Told]:
        narrator, before = self._narrator(part), self._done
        for told in narrator.tell(narrator.sentences(part.text), self._job.stop_wanted):
            self._note(told)
            yield told
        if self._job.stop_wanted():
            kept = f"{len(self.written):,} files are written" if self.written else "Nothing is kept"
            raise StopWork(f"Stopped after {self._done:,} sentences. {kept}.")
        if self._done == before:
            raise TextError(
                f"Line {part.line}: there is nothing in it that can be said.", "Write it in words."
            )

    def _note(self, told: Told) -> None:
        self._sentences.append(told.facts())
        if told.spoken.faults:
            fault = f"“{told.sentence.text}”: {' '.join(each.why for each in told.spoken.faults)}"
            self.faults.append(fault)
            self._job.say(Said(fault))
        self._done += 1
        self._telling.at(self._done)

    def _narrator(self, part: Part) -> Narrator:
        if part.voice not in self._narrators:
            voice, wish = self._voices[part.voice], self._wish
            self._narrators[part.voice] = Narrator(
                voice.folder,
                voice.facts,
                language=wish.language,
                seed=wish.seed,
                manners=wish.manners,
            )
            self._job.say(Said(f"{voice.name} is ready to speak."))
        return self._narrators[part.voice]


def _as_one(blocks: Iterator[Sound]) -> Sound:
    import numpy as np

    every = list(blocks)
    return Sound(np.concatenate([each.samples for each in every]), every[0].rate)


def _closing(written: list[dict[str, Any]], faults: list[str]) -> str:
    seconds = sum(each["seconds"] for each in written)
    count = len(written)
    where = written[0]["file"] if count == 1 else f"{count:,} files beside {written[0]['file']}"
    doubts = f" {len(faults)} sentences may have come out wrong." if faults else ""
    return f"{seconds:,.1f} s of speech are in {where}.{doubts}"


if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, read_wish(Path(sys.argv[1]))))
    )
