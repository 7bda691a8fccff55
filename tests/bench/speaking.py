"""Speaking: voices that say the same elsewhere, long texts without a click, bad sentences found."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench import speaking_failures, speaking_stops, speaking_text, speaking_travel
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, Figure, Measured, Settings, together


def measure(settings: Settings, progress: Progress) -> Measured:
    """Measure each part; `--rounds` is how many voices travel, and how often a job is stopped."""
    parts = {
        "travel": speaking_travel.measure,
        "text": speaking_text.measure,
        "stop": speaking_stops.measure,
        "failures": speaking_failures.measure,
    }
    wanted = [(name, part) for name, part in parts.items() if settings.wants(name)]
    measured = []
    for name, part in progress.through(wanted, "parts"):
        with tempfile.TemporaryDirectory(
            prefix="timbre-bench-", ignore_cleanup_errors=True
        ) as folder:
            work = Path(folder, name)
            work.mkdir()
            measured.append(part(work, settings, progress))
    return together(measured)


BENCHMARK = Benchmark(
    name="speaking",
    about="Speaking: the same elsewhere, long texts without a click, bad sentences found.",
    figures=(
        Figure("rounds", "voices out of one library and into another, in one file each"),
        Figure("different_audio", "sounds that they made: no two are alike", "== rounds"),
        Figure("same_audio", "of them the same there, hash for hash, same seed", "== rounds"),
        Figure("characters", "of the text that is spoken", ">= 10000"),
        Figure("sentences", "that it is"),
        Figure("spoken_s", "seconds of speech that it became"),
        Figure("speaking_rtf", "seconds for each of them: spoken, judged, joined, written"),
        Figure("said_again", "sentences that were judged to have come out wrong"),
        Figure("first_sound_ratio", "until the first sound, to the first sentence alone", "<= 1.2"),
        Figure("memory_growth_mb", "held at most after the first tenth, more than in it", "<= 40"),
        Figure("memory_peak_mb", "that the process held at most"),
        Figure("joins", "from one sentence to the next, and to the silence between them"),
        Figure("clicks", "of them with a step above 99.9 % of those in sentences", "== 0"),
        Figure("stop_s", "until a narrator asked in a sentence is silent, the longest", "< 1"),
        Figure("job_stop_s", "until a job that speaks has ended, the longest", "< 1"),
        Figure("job_stop_writing_s", "and one that has spoken, and writes its file"),
        Figure("job_stops", "how often that was asked"),
        Figure("failures", "sentences of five synthesisers, spoilt: cut, silent, looped, babble"),
        Figure("bad_found_share", "of them found", ">= 0.95"),
        Figure("false_alarm_share", "of as many good ones suspected", "<= 0.02"),
        Figure("pocket_failures", "sentences of Pocket, spoilt in the same ways"),
        Figure("pocket_bad_found_share", "of them found", ">= 0.95"),
        Figure("pocket_false_alarm_share", "of as many as it says them suspected", "<= 0.02"),
    ),
    measure=measure,
    parts=("travel", "text", "stop", "failures"),
)
