"""A project of 20,000 clips: how fast it opens and saves, and whether a thousand edits undo."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from finetune import editing
from finetune.editing import Proposal
from finetune.transcript import Clip, Transcript, Values
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, Figure, Measured, Settings
from tests.bench.timing import spread
from tests.stores import OpenTranscript

CLIPS = 20_000
EDITS = 1_000
OPENINGS = 7
RECORDINGS = 10
CLIP_S = 6.0
PAGE = 50
SEED = 5
_KINDS = ("text", "text", "text", "trim", "split", "merge", "page")


def measure(settings: Settings, progress: Progress) -> Measured:
    """Fill a project, open it several times, edit it, undo it all and redo it all."""
    with tempfile.TemporaryDirectory(prefix="timbre-bench-", ignore_cleanup_errors=True) as work:
        path = Path(work) / "project.db"
        fill(path, CLIPS)
        opened = spread([_opening(path) for _ in progress.through(range(OPENINGS), "openings")])
        with closing(OpenTranscript(path)) as transcript:
            edited = measure_edits(transcript, settings.rounds or EDITS, progress)
        figures = {"clips": CLIPS, "open_s": opened.median, "open_s_high": opened.high, **edited}
        return Measured({**figures, "store_mb": path.stat().st_size / 1e6})


def fill(path: Path, clips: int) -> None:
    """Write a project with so many clips of several recordings."""
    each, chance = clips // RECORDINGS, Random(SEED)
    with closing(OpenTranscript(path)) as transcript:
        for number in range(RECORDINGS):
            recording = f"{number:012d}"
            transcript.add_recording(recording, f"{number}.wav", each * CLIP_S)
            spans = [(at * CLIP_S, at * CLIP_S + chance.uniform(2, CLIP_S)) for at in range(each)]
            new = [Values(recording, *span, _text(chance)) for span in spans]
            transcript.edit(f"Cut {number}.wav", new=new)


def _opening(path: Path) -> float:
    """How long until every clip can be shown."""
    began = time.perf_counter()
    with closing(OpenTranscript(path)) as transcript:
        transcript.clips()
        return time.perf_counter() - began


# ---- Edits ---------------------------------------------------------------------------------------


def measure_edits(transcript: Transcript, count: int, progress: Progress) -> dict[str, float]:
    """Do, undo and redo so many actions; count the clips that are not exactly as they were."""
    before = shown(transcript)
    person = _Person(transcript, sorted(before), Random(SEED))
    edits, undos, redos = [], [], []
    for _ in progress.through(range(count), "edits"):
        edits.append(_saved(transcript, person.wish()))
    after = shown(transcript)
    for _ in progress.through(range(count), "undone"):
        undos.append(_ms(transcript.undo))
    undone = differences(before, shown(transcript))
    for _ in progress.through(range(count), "redone"):
        redos.append(_ms(transcript.redo))
    return {
        "edits": count,
        "clips_changed": differences(before, after),
        "edit_ms_p50": _share(edits, 0.5),
        "edit_ms_p95": _share(edits, 0.95),
        "undo_ms_p95": _share(undos, 0.95),
        "redo_ms_p95": _share(redos, 0.95),
        "undo_differences": undone,
        "redo_differences": differences(after, shown(transcript)),
    }


def shown(transcript: Transcript) -> dict[int, Values]:
    """What a person sees: every clip that is there, without the count of its changes."""
    return {clip.id: clip.values for clip in transcript.clips()}


def differences(left: dict[int, Values], right: dict[int, Values]) -> int:
    """How many clips are in one only, or not the same in both."""
    return sum(left.get(clip_id) != right.get(clip_id) for clip_id in left.keys() | right.keys())


@dataclass
class _Person:
    """Somebody who corrects clips here and there."""

    transcript: Transcript
    ids: list[int]
    chance: Random

    def wish(self) -> Proposal:
        """Another text, trim, split, merge, or a whole page left out."""
        clip, kind = self._some(), self.chance.choice(_KINDS)
        start, end = clip.values.start, clip.values.end
        if kind == "trim":
            return editing.trim(clip, start, end - (end - start) / 10, end)
        if kind == "split":
            return editing.split(clip, (start + end) / 2, "before", clip.values.text)
        if kind == "merge":
            return editing.merge(clip, self._neighbour(clip))
        if kind == "page":
            page = {each.id: each for each in (self._some() for _ in range(PAGE))}
            return editing.leave_out(page.values(), "too quiet")
        return editing.retype(clip, _text(self.chance))

    def _some(self) -> Clip:
        while True:
            clip = self.transcript.clip(self.chance.choice(self.ids))
            if not clip.values.gone:
                return clip

    def _neighbour(self, clip: Clip) -> Clip:
        while True:
            other = self._some()
            if other.id != clip.id and other.values.recording == clip.values.recording:
                return other


def _text(chance: Random) -> str:
    words = ("the", "captain", "Überraschung", "слово", "言葉", "bridge", "3.5", "miles")
    return " ".join(chance.choices(words, k=chance.randint(4, 20)))


def _saved(transcript: Transcript, proposal: Proposal) -> float:
    """How long until an action is on the disk."""
    return _ms(lambda: transcript.edit(proposal.label, proposal.edits, proposal.new))


def _ms(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def _share(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


BENCHMARK = Benchmark(
    name="store",
    about="A project of 20,000 clips: opening it, saving edits, and undoing a thousand of them.",
    figures=(
        Figure("clips", "in the project"),
        Figure("open_s", "to open it and read every clip, the middle of seven", "< 1"),
        Figure("open_s_high", "the upper quarter of these"),
        Figure("edits", "texts, trims, splits, merges, and pages of fifty left out at once"),
        Figure("clips_changed", "by these, seen from before"),
        Figure("edit_ms_p50", "until half of the edits are on the disk, each"),
        Figure("edit_ms_p95", "and nineteen of twenty", "< 20"),
        Figure("undo_ms_p95", "to undo one, for nineteen of twenty"),
        Figure("redo_ms_p95", "to redo one, for nineteen of twenty"),
        Figure("undo_differences", "clips not exactly as before, after undoing all", "== 0"),
        Figure("redo_differences", "clips not exactly as after, after redoing all", "== 0"),
        Figure("store_mb", "the store on the disk at the end"),
    ),
    measure=measure,
)
