"""
Recordings of known truth to clips: is any word cut, lost or repeated, how far off is each edge,
and how fast is it? Beside it, on the same words and the same machine, the studios before.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from finetune import projects
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.settings import HearSettings
from finetune.wishes import Wish, write_wish
from finetune.words import Word, join_words
from tests.bench import dataset_corpus
from tests.bench.dataset_corpus import Spoken
from tests.bench.dataset_scores import Clip, Edge, Said, Scores, score, together
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Settings
from tests.bench.record import together as joined
from tests.bench.studios import wait_for
from voices.workspace import open_workspace

CACHE = Path(__file__).parents[2] / ".test-artefacts" / "dataset"
MODEL = Path(__file__).parents[1] / "whisper" / "model"
# So small a model hears a few sentences at once well, and half of 30 s of them wrong.
WINDOW_S = 8.0
BUILD_PATIENCE_S = 3600.0
_NOTED = 5
_WORTH_A_NOTE_MS = 60.0


@dataclass
class Built:
    """What a build made of a folder of recordings."""

    clips: list[Clip] = field(default_factory=list)
    words: dict[str, list[Word]] = field(default_factory=dict)
    """What was recognised, by the name of the recording."""
    seconds: float = 0.0

    def clips_of(self, name: str) -> list[Clip]:
        return [clip for clip in self.clips if clip.recording == name]


def measure(settings: Settings, progress: Progress) -> Measured:
    """Build the recordings once; score the clips, then time the baseline on the same recordings."""
    recordings = _recordings(settings.rounds)
    parts = {"clips": _measure_clips, "speed": _measure_speed}
    with tempfile.TemporaryDirectory(prefix="timbre-bench-", ignore_cleanup_errors=True) as work:
        built = build([spoken.path for spoken in recordings], Path(work) / "home")
        wanted = [part for name, part in parts.items() if settings.wants(name)]
        return joined([part(recordings, built, Path(work), progress) for part in wanted])


def _recordings(count: int | None) -> list[Spoken]:
    """All of them, or a few that differ most."""
    chosen = dataset_corpus.conditions()
    whole, count = len(chosen), min(count or len(chosen), len(chosen))
    chosen = [chosen[number * whole // count] for number in range(count)]
    return dataset_corpus.gathered(CACHE, dataset_corpus.SENTENCES * count // whole, only=chosen)


# ---- The build -----------------------------------------------------------------------------------


def build(recordings: Sequence[Path], home: Path) -> Built:
    """Make clips of recordings as a person does: one job, from files to checked clips."""
    workspace = open_workspace(home)
    try:
        project = projects.folder_of(workspace, projects.create(workspace, "Bench"))
        wish = Wish(
            *(str(project), str(home)),
            sources=tuple(str(path) for path in recordings),
            whisper=str(MODEL),
            hear=HearSettings(language="en", window_seconds=WINDOW_S),
        )
        began = time.perf_counter()
        folder = queue.submit(workspace, build_request(wish, home / "wish.json")).folder
        if outcome_of(folder, BUILD_PATIENCE_S).cause != "finished":
            raise CannotMeasure(f"the build did not finish: {folder.log_tail()}")
        return _read(project, time.perf_counter() - began)
    finally:
        workspace.close()


def build_request(wish: Wish, path: Path) -> Request:
    """The job that makes a dataset."""
    write_wish(wish, path)
    return Request("dataset", "bench", (sys.executable, "-m", "finetune.building", str(path)))


def outcome_of(folder: JobFolder, seconds: float) -> Outcome:
    """Wait for a job's end."""
    found = wait_for(folder.outcome, seconds)
    if found is None:
        raise CannotMeasure(f"a job did not end in {seconds:.0f} s: {folder.log_tail()}")
    return found


def _read(folder: Path, seconds: float) -> Built:
    """What a project holds: its clips, also those that are left out, and the words they are of."""
    with projects.open_project(folder) as project:
        recordings = project.recordings.all()
        names = {each.id: each.name for each in recordings}
        spans = [clip.values for clip in project.transcript.clips()]
        clips = [Clip(names[v.recording], v.start, v.end, v.text) for v in spans]
        words = {each.name: _words(project, each.id) for each in recordings}
    return Built(clips, words, seconds)


def _words(project: projects.Project, recording: str) -> list[Word]:
    hearing = project.hearings.newest(recording, "whisper")
    return list(project.hearings.heard(hearing).words) if hearing else []


# ---- The clips -----------------------------------------------------------------------------------


def _measure_clips(
    recordings: Sequence[Spoken], built: Built, work: Path, progress: Progress
) -> Measured:
    ours = [_scored(spoken, built.clips_of(spoken.path.name), built) for spoken in recordings]
    theirs = [_scored(spoken, _baseline_clips(spoken, built), built) for spoken in recordings]
    whole = together(ours)
    figures: dict[str, float] = {
        "recordings": len(recordings),
        "sentences": sum(len(spoken.sentences) for spoken in recordings),
        "words": whole.words,
        "clips": len(whole.edges) // 2,
        "words_unheard": len(whole.unheard),
        "words_cut_unheard": len(whole.unheard_cut),
        **_figures(whole),
        **{f"baseline_{name}": value for name, value in _figures(together(theirs)).items()},
    }
    by_name = {spoken.path.name: one for spoken, one in zip(recordings, ours, strict=True)}
    return Measured(figures, tuple(_notes(by_name)))


def _scored(spoken: Spoken, clips: Sequence[Clip], built: Built) -> Scores:
    recognised = join_words([word.text for word in built.words[spoken.path.name]]).split()
    return score(clips, recognised, [Said(*word) for word in spoken.words])


def _baseline_clips(spoken: Spoken, built: Built) -> list[Clip]:
    from tests.bench import baseline_build

    name = spoken.path.name
    return baseline_build.clips_of(name, built.words[name], spoken.seconds)


def _figures(found: Scores) -> dict[str, float]:
    return {
        "words_cut": len(found.cut),
        "words_lost": len(found.lost),
        "words_repeated": len(found.repeated),
        "boundary_ms_p50": round(found.boundary_ms(0.5), 1),
        "boundary_ms_p95": round(found.boundary_ms(0.95), 1),
        "boundary_ms_max": round(found.boundary_ms(1), 1),
        "word_error": round(found.word_error, 4),
    }


def _notes(scores: Mapping[str, Scores]) -> Iterator[str]:
    """Name what was cut or lost, and the edges that are furthest off."""
    for name, found in scores.items():
        for what, words in (("cut", found.cut), ("lost", found.lost), ("twice", found.repeated)):
            if words:
                yield f"{name}: {what}: {', '.join(words)}."
    edges = [edge for found in scores.values() for edge in found.edges]
    worst = sorted(edges, key=lambda edge: -edge.off_ms)[:_NOTED]
    for edge in worst:
        if edge.off_ms > _WORTH_A_NOTE_MS:
            yield _off(edge)


def _off(edge: Edge) -> str:
    return f"{edge.recording}: {edge.off_ms:.0f} ms off at {edge.at:.2f} s, {edge.between!r}."


# ---- Speed ---------------------------------------------------------------------------------------


def _measure_speed(
    recordings: Sequence[Spoken], built: Built, work: Path, progress: Progress
) -> Measured:
    from tests.bench import baseline_build

    paths = progress.through([spoken.path for spoken in recordings], "recordings, the old way")
    baseline = baseline_build.build(paths, work / "baseline")
    sound = sum(spoken.seconds for spoken in recordings)
    phases = {f"baseline_{name}_s": round(took, 2) for name, took in baseline.seconds.items()}
    return Measured(
        {
            "sound_s": round(sound, 1),
            "build_s": round(built.seconds, 2),
            "sound_per_s": sound / built.seconds,
            "baseline_sound_per_s": sound / baseline.took,
            "speedup": baseline.took / built.seconds,
            **phases,
        }
    )


_CLIP_FIGURES = (
    ("words_cut", "true words with an edge of a clip inside them", "== 0"),
    ("words_lost", "recognised words in no clip, in its text or its sound", "== 0"),
    ("words_repeated", "words in two clips, in their texts or their sound", "== 0"),
    ("boundary_ms_p50", "how far half of the edges are outside the true pause, at most", "<= 60"),
    ("boundary_ms_p95", "and nineteen of twenty", "<= 150"),
    ("boundary_ms_max", "and the worst", ""),
    ("word_error", "words of the clips' texts that are not what was said, of all", ""),
)
_PHASES = ("load", "decode", "detect", "write", "transcribe", "validate")

BENCHMARK = Benchmark(
    name="dataset",
    about="Recordings of known truth to clips, beside the rule and the way of the studios before.",
    figures=(
        Figure("recordings", "voices, noise at 30, 20 and 10 dB, music, two speakers"),
        Figure("sentences", "spoken in them, 0.1 to 2 s apart"),
        Figure("words", "truly said"),
        Figure("clips", "made of them"),
        *(Figure(*figure) for figure in _CLIP_FIGURES),
        Figure("words_cut_unheard", "of the words that are cut, never recognised by the model"),
        Figure("words_unheard", "true words that the model did not recognise and no clip has"),
        *(
            Figure(f"baseline_{name}", f"{about}, by the rule of xtts-finetune-webui")
            for name, about, _ in _CLIP_FIGURES
        ),
        Figure("sound_s", "seconds of sound that were built"),
        Figure("build_s", "how long the whole build took"),
        Figure("sound_per_s", "seconds of sound a second"),
        Figure("baseline_sound_per_s", "the same, a call for each part and a second pass"),
        Figure("speedup", "how many times as fast as that", ">= 3"),
        *(Figure(f"baseline_{phase}_s", f"of the old way, to {phase}") for phase in _PHASES),
    ),
    measure=measure,
    parts=("clips", "speed"),
)
