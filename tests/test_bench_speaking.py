"""What is measured of speaking: each count finds what it is meant to, and nothing where all is well."""

from __future__ import annotations

import numpy as np
import pytest

from engines.base import Sound
from tests.bench import speaking_scores as scores
from tests.bench.speaking_failures import shares
from tests.bench.speaking_travel import compared
from tests.voices.speaking.corpus import Case, bundle
from voices.speaking.joining import bounded
from voices.speaking.pace import Pace

RATE = 16000
SILENCE = np.zeros(RATE // 4, np.float32)


def tone(phase=0.0):
    t = np.arange(RATE) / RATE
    return (0.3 * np.sin(2 * np.pi * 200 * t + phase)).astype(np.float32)


# ---- Clicks ----


def test_a_wave_that_goes_on_over_a_join_has_no_click_and_one_that_breaks_off_has():
    whole = tone()

    assert scores.clicks([whole[:8040], whole[8040:], SILENCE], RATE) == 0
    assert scores.clicks([whole[:8020], SILENCE, tone(1.5)], RATE) == 2


def test_a_step_inside_a_sentence_is_no_click_of_a_join():
    stepped = tone()
    stepped[8000:] *= -1

    assert scores.clicks([stepped, SILENCE, stepped], RATE) == 0


@pytest.mark.parametrize(("off", "found"), [(-60, 1), (60, 1), (-200, 0), (200, 0)])
def test_a_click_counts_near_a_join_on_both_sides(off, found):
    one, other = tone(), tone()
    (one if off < 0 else other)[off] += 0.5

    assert scores.clicks([one, other], RATE) == found


# ---- Memory ----


def test_growth_is_what_is_held_after_the_first_tenth_beyond_the_most_within_it():
    flat = [100.0, 130.0, *[120.0] * 18]

    assert scores.growth(flat) == 0
    assert scores.growth([*flat, 150.0]) == 20
    assert scores.growth([100.0]) == 0


# ---- Voices ----


def test_a_voice_that_says_something_else_there_is_counted_and_named():
    found = compared([("Ada", "a", "a"), ("Ben", "b", "x"), ("Cem", "a", "a")])

    assert found.figures == {"rounds": 3, "different_audio": 2, "same_audio": 2}
    assert found.notes == ("'Ben' says something else there.",)


# ---- Failures ----


def test_what_is_found_and_what_is_suspected_are_shares_with_their_kinds():
    good = bundle()[0]
    gone = Case(good.text, good.voice, Sound(np.zeros(RATE, np.float32), RATE), "silent")
    usual = {good.voice: Pace.of([(good.text, Sound(bounded(good.sound), RATE))])}

    found = shares([gone, gone, gone, good], [good, good, gone, good], usual)

    assert found.figures == {
        "failures": 4,
        "bad_found_share": 0.75,
        "false_alarm_share": 0.25,
    }
    assert "alarm: 1 silent" in found.notes
