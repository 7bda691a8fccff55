"""What each rule comes to over many cases: failures, trials and speed, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.bench.planner_cases import Case
from tests.bench.planner_rules import RULES, Rule

OURS = "Timbre"
_HEADS = [
    *("Rule", "Trains", "Out of memory", "Trials", "Speed, mean", "Speed, worst", "Memory used"),
]
_LEGEND = (
    "Trains: of the cases in which something fits, how often training ran in the end."
    " Out of memory: how often in all cases, searching and training."
    " Trials: of a case, the first step of the training among them."
    " Speed: clips a second, of the most that any micro-batch reaches; 0 where it never ran."
    " Memory used: of what was free, where it ran."
)


@dataclass(frozen=True, slots=True)
class Row:
    """What one rule came to."""

    rule: str
    cases: int
    """In which something fits; of the others only failures and trials are counted."""
    trained: int
    """In how many of them training ran in the end."""
    out_of_memory: int
    trials: float
    """The mean of a case, with the first step of the training."""
    speed: float
    """Clips a second, as a share of the most any micro-batch reaches; 0 where it never ran."""
    slowest: float
    """The same in the worst case."""
    used: float
    """Of the free memory, where it ran."""


@dataclass(slots=True)
class _Trials:
    """Runs the steps that a rule asks for, and counts."""

    case: Case
    made: int = 0
    failed: int = 0
    _trained: set[int] = field(default_factory=set)

    def __call__(
        self, clips: int, *, length: int | None = None, alone: bool = False, share: float = 1.0
    ) -> bool:
        accumulates = clips < self.case.wanted and not alone
        reserved = self.case.reserved(clips, length, accumulates=accumulates)
        room = self.case.free_bytes - self.case.context_bytes
        ran = self._count(reserved <= min(room, share * self.case.total_bytes))
        if ran and length is None and not alone:
            self._trained.add(min(clips, self.case.wanted))
        return ran

    def trains(self, micro: int) -> bool:
        """Whether training runs with what was chosen: its first step, if no trial was one."""
        return micro in self._trained or self._count(self.case.fits(micro))

    def _count(self, ran: bool) -> bool:
        self.made += 1
        self.failed += not ran
        return ran


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How one rule fared in one case."""

    possible: bool
    trained: bool
    made: int
    failed: int
    speed: float
    used: float


def table(cases: Iterable[Case], ours: Rule) -> list[Row]:
    """Try every rule on the same cases, ours last."""
    known = [(case, case.best()) for case in cases]
    rules = {**RULES, OURS: ours}
    return [_row(name, [_outcome(rule, *each) for each in known]) for name, rule in rules.items()]


def as_markdown(rows: Iterable[Row]) -> str:
    """Draw the rows as a table, and say what its columns are."""
    lines = [_HEADS, ["---", *["---:"] * (len(_HEADS) - 1)], *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{_LEGEND}\n"


def _outcome(rule: Rule, case: Case, best: float) -> _Outcome:
    trials = _Trials(case)
    micro = rule(case, trials)
    if micro is None or not trials.trains(micro):
        return _Outcome(best > 0, False, trials.made, trials.failed, 0.0, 0.0)
    speed, used = case.clips_per_second(micro) / best, case.used(micro) / case.free_bytes
    return _Outcome(True, True, trials.made, trials.failed, speed, used)


def _row(name: str, outcomes: Sequence[_Outcome]) -> Row:
    possible = [each for each in outcomes if each.possible]
    return Row(
        name,
        cases=len(possible),
        trained=sum(each.trained for each in possible),
        out_of_memory=sum(each.failed for each in outcomes),
        trials=_mean([each.made for each in outcomes]),
        speed=_mean([each.speed for each in possible]),
        slowest=min((each.speed for each in possible), default=math.nan),
        used=_mean([each.used for each in possible if each.trained]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _cells(row: Row) -> list[str]:
    shares = [_percent(share) for share in (row.speed, row.slowest, row.used)]
    trained, failed = f"{row.trained:,} of {row.cases:,}", f"{row.out_of_memory:,}"
    return [row.rule, trained, failed, f"{row.trials:.1f}", *shares]


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"
