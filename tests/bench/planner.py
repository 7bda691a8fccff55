"""
The planner: how near its numbers are, and how it fares beside the rules of other programs.

    planner_engines.py   trainings whose memory is measured
    planner_cases.py     cards, datasets and trainings that are known exactly
    planner_rules.py     the rules of other programs; planner_ours.py is ours
    planner_table.py     what each rule comes to
    planner_gpu.py       the same on a GPU, against its own allocator
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engines.base import Item
from finetune.fitting.peaks import CHANGE, FIRST, MORE, Fit, Held, Point, fit
from finetune.settings import TrainSettings
from finetune.training import devices
from finetune.training.gauge import Counted
from finetune.training.prior import Imagined, imagine
from finetune.training.recompute import forget_activations
from finetune.training.rehearsal import Rehearsal
from finetune.training.turns import trained_of
from tests.bench import planner_engines, planner_gpu, planner_table
from tests.bench.planner_cases import TRUTHS, Case, random_cases, standard_cases
from tests.bench.planner_engines import Subject
from tests.bench.planner_ours import ours, room_of
from tests.bench.planner_table import Row
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, Figure, Measured, Settings, together

TABLE = Path(__file__).parents[2] / "docs" / "planner.md"
SETTINGS = TrainSettings(device="cpu")
RANDOM_CASES = 1000
# Three clips of XTTS at its full size take 15 GB.
XTTS = planner_engines.xtts(
    "xtts",
    *(1024, 30, 16),
    lengths=(390, 240, 120),
    counts=(1, 2),
    held_out=((1, 310), (2, 180), (3, 240), (3, 340), (4, 120)),
    # As on a GPU; where a processor only pretends to, it takes longer than anybody waits.
    precision="bf16" if devices.computes_half() else "fp32",
)
POCKET = planner_engines.pocket(
    lengths=(620, 320, 120),
    counts=(1, 4),
    held_out=((2, 500), (3, 620), (6, 250), (8, 620), (8, 400), (12, 180), (16, 320), (5, 100)),
)
TURNS = planner_engines.rivals(
    lengths=(1000, 500, 100),
    counts=(1, 8),
    held_out=((2, 700), (4, 1000), (16, 1000), (32, 300), (24, 600), (6, 150)),
)


def measure(settings: Settings, progress: Progress) -> Measured:
    if settings.gpu:
        return planner_gpu.measure(settings, progress)
    subjects = {"xtts": XTTS, "pocket": POCKET, "turns": TURNS}
    wanted = [each for name, each in subjects.items() if settings.wants(name)]
    compared = [compare(each) for each in progress.through(wanted, "engines")]
    found = [_figures(each) for each in compared]
    if settings.wants("rules"):
        truths = {each.subject.name: each.truth for each in compared if each.subject.name in TRUTHS}
        found.append(rules(truths, settings.rounds or RANDOM_CASES))
    if not settings.parts:
        found.append(_together(compared))
    return together(found)


# ---- How near the numbers are ----


@dataclass
class Compared:
    """What was told of one training and what was measured, as relative errors."""

    subject: Subject
    truth: Fit
    """Of all weights in full precision, activations kept."""
    fit_errors: list[float]
    prior_errors: list[float]


def compare(subject: Subject) -> Compared:
    """Tell peaks that were not probed, in two ways, and measure them."""
    fits, fit_errors, prior_errors = [], [], []
    for recompute in (False, True):
        trainable = subject.trainable()
        clips = subject.items(trainable, subject.lengths)
        prior = fit(
            *imagine(trainable, SETTINGS, subject.precision, recompute, clips, subject.counts)
        )
        if recompute:
            forget_activations(trainable.blocks())
        with _Measuring(subject, trainable) as measuring:
            points = [p for count in subject.counts for p in measuring.probe(clips, count)]
            fitted = fit(measuring.held, points)
            fits.append(fitted)
            for count, length in subject.held_out:
                truth = measuring.probe(subject.items(trainable, (length,)), count)
                fit_errors += _errors(fitted, truth)
                prior_errors += _errors(prior, truth)
    return Compared(subject, fits[0], fit_errors, prior_errors)


class _Measuring:
    """Probes of one training on the processor, every tensor counted."""

    def __init__(self, subject: Subject, trainable: Any) -> None:
        network = trainable.network
        self._gauge = Counted()
        self._gauge.begin_with([*network.parameters(), *network.buffers()])
        self._rehearsal = Rehearsal(
            *(trainable, network, trained_of(trainable)),
            *(SETTINGS, Imagined(subject.precision), self._gauge),
        )
        self._short = subject.items(trainable, subject.lengths[-1:])

    def __enter__(self) -> _Measuring:
        self._gauge.__enter__()
        # The optimizer makes its memory.
        self.probe(self._short, 1)
        return self

    def __exit__(self, *raised: Any) -> None:
        self._gauge.__exit__(*raised)

    def probe(self, clips: Sequence[Item], count: int) -> list[Point]:
        return self._rehearsal.probe(clips, count, warm=False)

    @property
    def held(self) -> Held:
        return self._rehearsal.held()


def _errors(found: Fit, truth: Sequence[Point]) -> Iterator[float]:
    """How far the peak of a step is off, without and with later micro-batches."""
    count, length = truth[0].clips, truth[0].length
    for accumulates in (False, True):
        stages = {FIRST, CHANGE, MORE} if accumulates else {FIRST, CHANGE}
        real = max(each.bytes for each in truth if each.stage in stages)
        yield abs(found.peak(count, length, accumulates=accumulates) / real - 1)


def _figures(compared: Compared) -> Measured:
    name = compared.subject.name.replace(" ", "_")
    return Measured(
        {
            f"{name}_fit_error_p95": _share(compared.fit_errors, 0.95),
            f"{name}_prior_error_p95": _share(compared.prior_errors, 0.95),
        }
    )


def _together(compared: Sequence[Compared]) -> Measured:
    fits = [error for each in compared for error in each.fit_errors]
    priors = [error for each in compared for error in each.prior_errors]
    return Measured(
        {
            "held_out": len(fits),
            "fit_error_p50": _share(fits, 0.5),
            "fit_error_p95": _share(fits, 0.95),
            "prior_error_p50": _share(priors, 0.5),
            "prior_error_p95": _share(priors, 0.95),
        }
    )


def _share(errors: Sequence[float], share: float) -> float:
    return round(float(np.quantile(errors, share)), 4)


# ---- Beside other programs ----


def rules(truths: Mapping[str, Fit], count: int) -> Measured:
    """Let every rule choose in the same cases; write the table."""
    cases = random_cases(1, count)
    standard = planner_table.table(standard_cases({**TRUTHS, **truths}), ours)
    random = planner_table.table(cases, ours)
    TABLE.write_text(_page(standard, random, count), encoding="utf-8")
    mine = _ours(random)
    within = _ours(planner_table.table([each for each in cases if _fits_room(each)], ours))
    return Measured(
        {
            "ours_out_of_memory": within.out_of_memory,
            "ours_out_of_memory_beyond": mine.out_of_memory - within.out_of_memory,
            "ours_trials": round(mine.trials, 2),
            "ours_speed": round(mine.speed, 4),
            "ours_speed_worst": round(mine.slowest, 4),
            "others_out_of_memory_least": min(
                each.out_of_memory for each in random if each.rule != planner_table.OURS
            ),
        },
        (f"The whole table is in {TABLE.parent.name}/{TABLE.name}.",),
    )


def _ours(rows: Sequence[Row]) -> Row:
    return next(each for each in rows if each.rule == planner_table.OURS)


def _fits_room(case: Case) -> bool:
    """Whether a step fits into what may be taken, when some is left to others."""
    room = case.free_bytes - room_of(case).headroom
    return any(case.used(micro) <= room for micro in range(1, case.wanted + 1))


def _page(standard: Sequence[Row], random: Sequence[Row], count: int) -> str:
    return f"""# How many clips at once: the planner beside the rules of other programs

`python launch.py bench planner --only rules` makes this page again. Nothing here ran on a GPU: cards are simulated, with the memory of trainings known exactly and speeds that are plausible. Each rule was written anew from its description (`tests/bench/planner_rules.py`); where a rule only names a number, people halve it until it runs.

## Cards of 8 to 48 GB, for XTTS, Pocket and a GAN

{planner_table.as_markdown(standard)}

## {count:,} random cards, datasets and wishes

{planner_table.as_markdown(random)}
"""


BENCHMARK = Benchmark(
    name="planner",
    about="What the planner tells of memory beside what is measured, and beside other rules.",
    figures=(
        Figure("held_out", "peaks of XTTS at full size, Pocket and two turns, told and measured"),
        Figure("fit_error_p50", "how far off two probes tell them, in the middle", "<= 0.02"),
        Figure("fit_error_p95", "and for nineteen of twenty", "<= 0.05"),
        Figure("prior_error_p50", "how far off tensors without content tell them", "<= 0.1"),
        Figure("prior_error_p95", "and for nineteen of twenty", "<= 0.2"),
        Figure("xtts_fit_error_p95", "of these, XTTS by probes"),
        Figure("xtts_prior_error_p95", "XTTS by tensors without content"),
        Figure("pocket_fit_error_p95", "Pocket by probes"),
        Figure("pocket_prior_error_p95", "Pocket by tensors without content"),
        Figure("two_turns_fit_error_p95", "two turns by probes"),
        Figure("two_turns_prior_error_p95", "two turns by tensors without content"),
        Figure("ours_out_of_memory", "failures of the planner where a step fits", "== 0"),
        Figure(
            "ours_out_of_memory_beyond", "and where it fits only without headroom, or not at all"
        ),
        Figure("ours_trials", "steps that it tries, in the mean"),
        Figure("ours_speed", "clips a second, of the most possible, in the mean", ">= 0.95"),
        Figure("ours_speed_worst", "and in the worst case"),
        Figure("others_out_of_memory_least", "failures of the rule with the fewest"),
        *(
            Figure(f"gpu_{gib}_speed", f"of the best in the grid, held to {gib} GB", ">= 0.95")
            for gib in planner_gpu.CAPS_GIB
        ),
        Figure("gpu_fit_error_p50", "of what is taken on a GPU, by probes", "<= 0.02"),
        Figure("gpu_fit_error_p95", "and for nineteen of twenty", "<= 0.05"),
        Figure("gpu_prior_error_p50", "of what tensors hold on it, without content", "<= 0.1"),
        Figure("gpu_prior_error_p95", "and for nineteen of twenty", "<= 0.2"),
        Figure("gpu_out_of_memory", "failures while it searched", "== 0"),
        Figure("gpu_probes_cold", "of a first run", "<= 2"),
        Figure("gpu_probes_warm", "of a second", "<= 1"),
        Figure("gpu_search_s", "the longest search", "<= 60"),
    ),
    measure=measure,
    parts=("xtts", "pocket", "turns", "rules"),
    for_gpu=True,
)
