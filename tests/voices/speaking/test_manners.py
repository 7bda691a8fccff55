"""One dial from stable to lively, within what each engine allows."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from engines.base import chosen
from engines.errors import SettingsError
from engines.pocket import speaking as pocket
from engines.xtts import facts
from engines.xtts.facts import manners as manners_of_xtts
from voices.speaking import manners

# What the published v2 says.
XTTS = manners_of_xtts({"temperature": 0.75, "repetition_penalty": 5.0, "top_k": 50, "top_p": 0.85})
POCKET = pocket.Voice.manners
PIPER = {"noise_scale": (0.0, 0.667, 2.0), "noise_w": (0.0, 0.8, 2.0), "speed": (0.5, 1.0, 2.0)}
DIAL = np.linspace(manners.STABLEST, manners.LIVELIEST, 41)


@pytest.mark.parametrize("table", [XTTS, POCKET, PIPER, {"top_k": (1, 33.4, 200)}])
def test_in_the_middle_a_voice_speaks_as_it_usually_does(table):
    assert chosen(table, manners.at(0, table)) == chosen(table, {})


def test_xtts_at_both_ends_is_what_the_table_promises():
    stable, lively = (manners.at(dial, XTTS) for dial in (-2, 2))

    assert stable == pytest.approx(
        {"temperature": 0.3, "top_k": 10, "top_p": 0.51, "repetition_penalty": 10}
    )
    assert lively == pytest.approx(
        {"temperature": 1.0, "top_k": 100, "top_p": 1.0, "repetition_penalty": 5}
    )


@pytest.mark.parametrize("table", [XTTS, PIPER])
def test_every_manner_goes_one_way_and_the_dial_is_felt_at_every_step(table):
    rows = [manners.at(float(dial), table) for dial in DIAL]

    for name in manners.moved(table):
        steps = [right[name] - left[name] for left, right in pairwise(rows)]
        assert min(steps) >= 0 or max(steps) <= 0, name
    assert all(left != right for left, right in pairwise(rows))


def test_what_it_gives_is_within_the_limits_of_any_voice():
    chance = random.Random(4)
    for _ in range(500):
        table = {}
        for name, (low, high) in facts.MANNERS.items():
            usual = chance.uniform(low / 2, high * 1.5)
            table[name] = min(low, usual), usual, max(high, usual)
        given = manners.at(chance.uniform(-2, 2), table)

        chosen(table, given)
        assert given["top_k"] == round(given["top_k"]) or given["top_k"] == table["top_k"][1]


def test_a_voice_that_leaves_no_code_out_goes_on_so():
    open_to_all = {"top_k": (0.0, 0.0, 200.0)}

    assert [manners.at(dial, open_to_all)["top_k"] for dial in (-2, 0, 2)] == [0, 0, 0]


def test_speed_is_no_question_of_being_lively():
    assert "speed" not in manners.moved(XTTS)
    assert manners.moved(POCKET) == () and manners.at(2, POCKET) == {}


@pytest.mark.parametrize("dial", [-2.1, 3, float("nan"), float("inf")])
def test_a_dial_turned_too_far_is_refused(dial):
    with pytest.raises(SettingsError, match="The dial is at"):
        manners.at(dial, XTTS)


def test_every_mark_of_the_dial_has_words():
    assert sorted(manners.WORDS) == list(range(int(manners.STABLEST), int(manners.LIVELIEST) + 1))
