"""
Sentences spoken well and wrongly, hundreds of each: which are suspected?

`python -m tests.bench.speaking_failures VOICE TOLD.json`: a process in which Pocket says them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tests import finished
from tests.bench.progress import Progress
from tests.bench.record import Measured, Settings
from tests.bench.speaking_text import TEXT
from tests.bench.speaking_travel import SENTENCES, in_process
from tests.voices.speaking import corpus
from tests.voices.speaking.corpus import Case
from voices.library import FACTS
from voices.speaking.judging import judge
from voices.speaking.narrator import Narrator
from voices.speaking.pace import Pace, voiced_seconds

POCKET = "Pocket"
_COUNT = 200
# A narrator knows a voice's pace from its first sentences.
_PACE_FROM = 50


def measure(work: Path, settings: Settings, progress: Progress) -> Measured:
    """Judge what is kept with the tests, then what Pocket says."""
    found = shares(corpus.bad(), corpus.good(), corpus.paces())
    told = work / "told.json"
    in_process("tests.bench.speaking_failures", finished.voice(work / "made"), told)
    own = json.loads(told.read_bytes())
    figures = {
        **found.figures,
        **{f"pocket_{name}": own["figures"][name] for name in own["figures"]},
    }
    return Measured(figures, (*found.notes, *(f"Pocket: {note}" for note in own["notes"])))


def shares(bad: Sequence[Case], good: Sequence[Case], usual: Mapping[str, Pace]) -> Measured:
    """Which share of failures is found and of good sentences suspected; which kinds are missed."""
    missed = Counter(case.wrong for case in bad if not _kinds(case, usual))
    alarms = Counter(kind for case in good for kind in _kinds(case, usual)[:1])
    figures = {
        "failures": len(bad),
        "bad_found_share": 1 - missed.total() / len(bad),
        "false_alarm_share": alarms.total() / len(good),
    }
    notes = [f"not found: {count} {kind}" for kind, count in missed.items()]
    return Measured(
        figures, (*notes, *(f"alarm: {count} {kind}" for kind, count in alarms.items()))
    )


def _kinds(case: Case, usual: Mapping[str, Pace]) -> list[str]:
    return [fault.kind for fault in judge(case.text, case.sound, usual[case.voice])]


# ---- In the process ------------------------------------------------------------------------------


def main(folder: Path, told: Path) -> int:
    """Say sentences with Pocket, spoil them, and judge both as a narrator does."""
    good = _said(Narrator(folder, json.loads((folder / FACTS).read_bytes())))
    early = [(case.text, voiced_seconds(case.sound)) for case in good[:_PACE_FROM]]
    luck, ways = np.random.default_rng(3), corpus.every_way()
    bad = [
        corpus.spoilt(case, ways[at % len(ways)], luck, among=good) for at, case in enumerate(good)
    ]
    found = shares(bad, good, {POCKET: Pace.of_seconds(early)})
    said: dict[str, Any] = {"figures": dict(found.figures), "notes": found.notes}
    told.write_text(json.dumps(said), encoding="utf-8")
    return 0


def _said(narrator: Narrator) -> list[Case]:
    """So many sentences, no two alike, as Pocket says them at the first try."""
    text = f"{TEXT.read_text(encoding='utf-8')}\n\n{SENTENCES.read_text(encoding='utf-8')}"
    spoken = dict.fromkeys(each.spoken for each in narrator.sentences(text))
    return [Case(each, POCKET, narrator._speak(each, 0)) for each in islice(spoken, _COUNT)]


if __name__ == "__main__":
    raise SystemExit(main(*map(Path, sys.argv[1:])))
