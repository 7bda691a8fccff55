"""
From recordings to a dataset, as one work that goes on where it was cut off.

    bring in -> hear (speech, then words) -> lay texts over -> cut -> check -> freeze

Each step writes its result last, recording by recording and stretch by stretch, and leaves out
what it finds done. `python -m finetune.building WISH.json` runs one in a job's folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property
from itertools import count
from pathlib import Path

from threadpoolctl import threadpool_limits

from engines.errors import NotFoundError
from finetune import aligning, checking, datasets, given
from finetune.clips import Spoken, cut_again
from finetune.hearing import listening
from finetune.hearing.speech import RATE, Stretch, stretches
from finetune.hearings import Heard, Hearing
from finetune.importing import Brought, Source, bring_in, clear_up, make_working_again, sources_in
from finetune.jobs.events import Event, Said
from finetune.jobs.folder import JobFolder
from finetune.jobs.telling import Telling
from finetune.jobs.worker import Job, StopWork, run
from finetune.projects import Project, open_project
from finetune.quiet import levels
from finetune.recordings import Recording
from finetune.texts.records import Problem
from finetune.transcript import on_conflict_again
from finetune.wishes import REPORT, Report, Wish, read_wish
from finetune.words import Word
from voices import files

_LONG_SECONDS = 600.0
"""A recording that long tells how far its reading is."""
_ABOUT_SECONDS = 120.0
_AT_ONCE = 4
# Fewer are cut in a second.
_MANY_WORDS = 10_000


class Build:
    """One build at work."""

    def __init__(
        self, project: Project, wish: Wish, say: Callable[[Event], None], stop: Callable[[], bool]
    ) -> None:
        self._project, self._wish = project, wish
        self._say, self._stop = say, stop
        self.report = Report()

    def run(self) -> Report:
        """Do every step that is wished for."""
        # numpy's own threads, waiting for each other, took more than twice the time of all the rest.
        with threadpool_limits(1, "blas"):
            return self._run()

    def _run(self) -> Report:
        chosen = self._chosen(self._bring_in())
        if self._wish.make_clips:
            texts = self._texts(chosen)
            self._hear_and_cut(chosen, texts)
            self._check()
        if self._wish.freeze:
            self._freeze()
        return self.report

    # ---- Recordings ----

    def _bring_in(self) -> list[Recording]:
        clear_up(self._project)
        sources = sources_in(Path(each) for each in self._wish.sources)
        if self._wish.sources and not sources:
            raise NotFoundError("There are no recordings in there.", "Choose another folder.")
        telling = Telling(self._say, "files read", len(sources))
        found: list[Recording] = []
        first = self._project.recordings.next_place()
        # Most of it is other processes' work: their threads here only wait.
        with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
            for number, brought in enumerate(pool.map(self._bring, sources, count(first)), 1):
                self._note(brought)
                found += [brought.recording] if brought.recording else []
                telling.at(number)
        return found

    def _bring(self, source: Source, place: int) -> Brought:
        """Bring one file in, with a progress of its own when it is long."""
        telling: list[Telling] = []

        def at(done: float, total: float) -> None:
            if not telling and total > _LONG_SECONDS:
                telling.append(Telling(self._say, f"s of {source.name} read", total))
            for each in telling:
                each.at(done)

        return bring_in(self._project, source, at, self._stop, place)

    def _note(self, brought: Brought) -> None:
        name, said = brought.source.name, " ".join(brought.sentences)
        self._say(Said(f"{name}: {said}"))
        recording = brought.recording
        self.report.files.append({
            "name": name,
            "recording": recording.id if recording else None,
            "seconds": recording.seconds if recording else None,
            "verdict": brought.verdict,
            "said": said,
            "known": brought.known,
        })  # fmt: skip

    def _chosen(self, brought: list[Recording]) -> list[Recording]:
        """What to work on: what was brought in and named, else everything."""
        named = [self._project.recordings.find(each) for each in self._wish.recordings]
        if self._wish.sources or named:
            return [*{each.id: each for each in (*brought, *named)}.values()]
        return self._project.recordings.all()

    # ---- Words ----

    def _texts(self, recordings: Sequence[Recording]) -> dict[str, given.Given]:
        if not self._wish.text:
            return {}
        path, encoding = Path(self._wish.text), self._wish.encoding or None
        found = given.read_texts(path, recordings, encoding)
        self._tell_problems(found.problems)
        return found.by_recording

    @cached_property
    def _listener(self) -> listening.Listener:
        """The model, loaded when the first recording needs it."""
        wish = self._wish
        return listening.load(
            wish.whisper, Path(wish.models), wish.hear, wish.download, self._say, self._stop
        )

    def _hear_and_cut(self, recordings: Sequence[Recording], texts: dict[str, given.Given]) -> None:
        wanted = [each for each in recordings if self._wish.whisper or each.id in texts]
        telling = Telling(self._say, "s of sound heard", sum(each.seconds for each in wanted))
        times, done = self._times(wanted), 0.0
        for recording in wanted:
            self._set_language(recording)
            hearing = self._hear(recording, telling, done, times)
            self._to_clips(recording, hearing, texts.get(recording.id))
            done += recording.seconds
            telling.at(done)

    def _set_language(self, recording: Recording) -> None:
        chosen = self._wish.hear.language
        if chosen and chosen != recording.language:
            self._project.recordings.set_language(recording.id, chosen)

    def _times(self, recordings: Sequence[Recording]) -> int:
        """
        How often each recording is to have been heard from the wished source.

        Once; or again: as often as the one heard most, so that what was stopped is finished, and
        when all were heard as often, once more.
        """
        if not (self._wish.again and self._wish.whisper):
            return 1
        heard = [sum(each.finished for each in self._same(recording)) for recording in recordings]
        begun = [len(self._same(recording)) for recording in recordings]
        most = max(begun, default=0)
        return most + 1 if min(heard, default=0) == most else most

    def _same(self, recording: Recording) -> list[Hearing]:
        source = listening.source(self._wish.whisper, self._wish.hear)
        return self._project.hearings.from_source(recording.id, "whisper", source)

    def _hear(self, recording: Recording, telling: Telling, before: float, times: int) -> Hearing:
        """Go over one recording: its words, or without a Whisper only where somebody speaks."""
        hearing = self._begun(recording, times)
        telling.skip(recording.seconds if hearing.finished else hearing.reached)
        if hearing.finished:
            return hearing
        make_working_again(self._project, recording, _ignore, self._stop)
        path, about = self._project.working_of(recording.id), self._about_seconds()
        for stretch in stretches(path, hearing.reached, about):
            words: list[Word] = []
            if self._wish.whisper and stretch.spans:
                hearing = self._with_language(recording, hearing, stretch)
                words = self._listener.words(
                    stretch, hearing.language, lambda at: telling.at(before + at), self._stop
                )
            hearing = self._project.hearings.add(
                hearing, stretch.end, stretch.spans, words, levels(stretch.samples, RATE)
            )
            telling.at(before + stretch.end)
            self._heed_stop()
        return self._project.hearings.finish(hearing)

    def _begun(self, recording: Recording, times: int) -> Hearing:
        hearings, wish = self._project.hearings, self._wish
        if wish.whisper:
            source = listening.source(wish.whisper, wish.hear)
            return hearings.begin(recording.id, "whisper", source, times=times)
        # Words that are known already serve a text that comes later.
        known = hearings.newest(recording.id, "whisper")
        return known or hearings.begin(recording.id, "speech", "where somebody speaks")

    def _about_seconds(self) -> float:
        return self._listener.about_seconds if self._wish.whisper else _ABOUT_SECONDS

    def _with_language(self, recording: Recording, hearing: Hearing, stretch: Stretch) -> Hearing:
        """Settle the language of a hearing: as chosen, as known of the recording, or as heard."""
        if hearing.language:
            return hearing
        language = self._wish.hear.language or recording.language
        if not language:
            language, sure = self._listener.language(stretch)
            self._say(Said(f"{recording.name}: the language is {language} ({sure:.0%} sure)."))
        return self._project.hearings.set_language(hearing, language)

    def _heed_stop(self) -> None:
        if self._stop():
            raise StopWork("Stopped. What was done is kept, and is not done again.")

    # ---- Texts and clips ----

    def _lay_over(
        self, recording: Recording, hearing: Hearing, text: given.Given
    ) -> Hearing | None:
        """Give a person's text the times of a hearing, as a hearing of its own."""
        hearings, seconds = self._project.hearings, recording.seconds
        heard = hearings.heard(hearing)
        needs_words = given.needs_words(text, seconds, self._wish.cut)
        if needs_words and not heard.words:
            return self._align(recording, hearing, text)
        words, problems = given.lay_over(text, heard, seconds, self._wish.cut)
        self._tell_problems(problems)
        way = "aligned with" if needs_words else "over"
        source = f"{text.source} {way} hearing {hearing.id}"
        laid = hearings.begin(recording.id, "text", source, hearing.language)
        if not laid.reached:  # all of it is kept at once
            laid = hearings.add(laid, seconds, heard.spans, words, heard.levels)
        return hearings.finish(laid)

    def _align(self, recording: Recording, hearing: Hearing, text: given.Given) -> Hearing | None:
        """Find the words of an English text by their sounds, where nobody recognised any."""
        if not self._is_english(recording, hearing, text):
            self._tell_problems([_no_words_for(recording, text)])
            return None
        hearings, heard = self._project.hearings, self._project.hearings.heard(hearing)
        source = f"{text.source} aligned with {aligning.SOURCE} in hearing {hearing.id}"
        known = hearings.from_source(recording.id, "text", source)
        if known and known[-1].reached:
            found = hearings.heard(known[-1]).words
            self._tell_problems(given.problems_by_sound(text, found, heard.spans))
            return hearings.finish(known[-1])
        words, problems = self._words_by_sound(recording, text, heard)
        self._tell_problems(problems)
        if not words:
            return None
        laid = hearings.set_language(hearings.begin(recording.id, "text", source), "en")
        return hearings.finish(
            hearings.add(laid, recording.seconds, heard.spans, words, heard.levels)
        )

    def _is_english(self, recording: Recording, hearing: Hearing, text: given.Given) -> bool:
        language = self._wish.hear.language or hearing.language or recording.language
        if language:
            return language.split("-")[0].lower() == "en"
        if not aligning.reads_as_english(text.whole):
            return False
        self._say(Said(f"{recording.name}: no language is named, and its text reads as English."))
        return True

    def _words_by_sound(
        self, recording: Recording, text: given.Given, heard: Heard
    ) -> tuple[Sequence[Word], tuple[Problem, ...]]:
        make_working_again(self._project, recording, _ignore, self._stop)
        telling: list[Telling] = []

        def at(done: float, total: float) -> None:
            if not telling and recording.seconds > _LONG_SECONDS:
                telling.append(Telling(self._say, f"s of {recording.name} aligned", total))
            for each in telling:
                each.at(done)

        path = self._project.working_of(recording.id)
        return given.lay_by_sound(text, path, heard.spans, at, self._stop)

    def _to_clips(self, recording: Recording, hearing: Hearing, text: given.Given | None) -> None:
        laid = self._lay_over(recording, hearing, text) if text else hearing
        if laid:
            self._cut(recording, laid)

    def _cut(self, recording: Recording, hearing: Hearing) -> None:
        """Make clips of the words, unless those that are there were cut of them in the same way."""
        transcript = self._project.transcript
        by = f"{hearing.kind} {hearing.id}, cut {self._wish.cut}"
        if transcript.cut_by(recording.id) == by:
            return
        spoken = Spoken(
            *(recording.id, recording.name, recording.seconds, hearing.language),
            self._project.hearings.heard(hearing),
        )
        count = len(spoken.heard.words)
        telling = Telling(self._say, "words cut into clips", count * (count > _MANY_WORDS))

        def told(words: int) -> None:
            self._heed_stop()
            telling.at(words)

        def attempt() -> None:
            clips, touched = (
                transcript.clips_of(recording.id),
                transcript.touched(recording.id, hearing.kind),
            )
            proposal = cut_again(spoken, clips, touched, self._wish.cut, told)
            if proposal.edits or proposal.new:
                transcript.edit(proposal.label, proposal.edits, proposal.new, by)

        on_conflict_again(attempt)

    def _tell_problems(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.report.problems.append(problem)
            self._say(Said(_in_words(problem)))

    # ---- Checks, and what is frozen ----

    def _check(self) -> None:
        telling: list[Telling] = []

        def at(done: int, total: int) -> None:
            if not telling:
                telling.append(Telling(self._say, "clips checked", total))
            telling[0].at(done)

        checked = checking.check_all(self._project, at, self._stop)
        checking.sort_out(self._project, checked)
        self.report.marks = checking.counted(checked)
        kept = [clip.values for clip in self._project.transcript.clips() if clip.values.included]
        self.report.clips = len(kept)
        self.report.seconds = sum(values.end - values.start for values in kept)

    def _freeze(self) -> None:
        dataset = datasets.freeze(
            self._project.transcript.clips(), self._wish.seed, self._wish.check_share
        )
        self.report.version = self._project.versions.freeze(dataset, self._wish.note).number
        self.report.advice = datasets.statistics(dataset).advice


def _ignore(done: float, total: float) -> None:
    """Nobody waits for this one."""


def _in_words(problem: Problem) -> str:
    number, file, sentence = problem.number, problem.file, problem.sentence
    if number:
        return f"Line {number} of {file}: {sentence}" if file else f"Line {number}: {sentence}"
    return f"{file}: {sentence}" if file else sentence


def _no_words_for(recording: Recording, text: given.Given) -> Problem:
    first = text.lines[0]
    return Problem(
        first.number,
        f"Where in {recording.name} it is spoken only recognised words can tell:"
        " name a Whisper, or bring a text with times (.srt, .vtt)."
        " English needs neither: if this is English, name the language.",
        first.file,
    )


def work(job: Job, wish: Wish) -> str:
    """Do a build as a job; leave a report beside it."""
    with open_project(Path(wish.project)) as project:
        build = Build(project, wish, job.say, job.stop_wanted)
        try:
            report = build.run()
        finally:
            files.write_json(job.folder.path / REPORT, asdict(build.report))
    return report.closing


if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: work(job, read_wish(Path(sys.argv[1]))))
    )
