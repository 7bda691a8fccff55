"""Why a training computes as it does, in sentences with the numbers behind them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from finetune.fitting import choice
from finetune.fitting.budget import GIB, Room, memory, of_card
from finetune.fitting.choice import Task, Way
from finetune.fitting.peaks import Growth
from finetune.fitting.reasons import peak_of, reasons
from tests.finetune.fitting.laws import GB, an_option, candidate, steady

ROOM = Room(12 * GB, 10 * GB, GB)
KEPT = an_option()
AGAIN = an_option(recompute=True, micro_batch=8, accumulation=1, clips_per_second=15.6)
LACKING = an_option(over=int(2.5 * GB), taken=int(11.5 * GB))


def faults(sentence):
    """What is wrong with how a sentence is written."""
    found = [fault for fault in ("  ", " ,", " .", "..", "()", "None", "nan", "inf ", " 0 MB")
             if fault in sentence]  # fmt: skip
    found += ["brackets"] * (sentence.count("(") != sentence.count(")"))
    found += ["no capital"] * (not sentence[0].isupper())
    found += ["no end"] * (not sentence.endswith("."))
    found += re.findall(r"(?<![\d.])1 clips|\b(?!1\b)\d+ clip\b|-\d+ [kMG]B", sentence)
    return found


def random_plans(count=1000):
    """Whatever may come out: every way, timed or not, with room and without."""
    luck = np.random.default_rng(1)
    for _ in range(count):
        fits = [_random_fit(luck) for _ in range(4)]
        timed = bool(luck.integers(2))
        fits = fits if timed else [replace(each, pace=Growth(0.0)) for each in fits]
        ways = ({}, {"recompute": True}, {"optimizer": "adamw_8bit"}, {"lora_rank": 16})
        known = [candidate(fit, **way) for fit, way in zip(fits, ways, strict=True)]
        known = known[: int(luck.integers(1, 5))]
        total = int(luck.uniform(0.5, 24) * GIB)
        room = of_card(total, int(total * luck.uniform(0, 1)))
        task = Task(int(luck.integers(1, 33)), 1, 1, int(luck.integers(1, 3)))
        option = choice.best_or_nearest(known, task, room)
        yield option, choice.best_of_each(known, task, room), room


def _random_fit(luck):
    base, clip = 10 ** luck.uniform(6, 10), 10 ** luck.uniform(5, 9.5)
    return steady(clip, base=int(base), gradients=int(base), per_clip=luck.uniform(0.01, 2))


def test_whatever_comes_out_each_sentence_is_well_written_and_the_first_has_numbers():
    for option, others, room in random_plans():
        said = reasons(option, others, room)

        assert [faults(sentence) for sentence in said] == [[]] * len(said), said
        assert re.search(r"\d", said[0])


def test_the_first_sentence_says_how_many_clips_how_much_of_the_room_and_in_which_phase():
    said = reasons(KEPT, [KEPT], ROOM)[0]

    assert said == (
        "It computes 4 clips at once, 2 times a step: 7.5 GB of the 9.0 GB that may be taken"
        " (10.0 GB are free), most of it in a forward and backward pass"
        " beside the gradients of earlier ones."
    )


def test_one_clip_is_one_and_a_whole_step_is_named_so():
    option = an_option(micro_batch=1, accumulation=1)

    assert "1 clip at once, the whole step:" in reasons(option, [option], ROOM)[0]


def test_the_phase_that_decides_is_the_one_that_takes_most():
    assert peak_of(KEPT) == "a forward and backward pass beside the gradients of earlier ones"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("model change", "the optimizer"),
        ("generator first", "the first forward and backward pass of the generator"),
        ("speaking", "speaking"),
    ],
)
def test_every_phase_has_words(name, words):
    assert peak_of(an_option(peaks={name: 10, "model more": 5})) == words


# ---- Activations ----


def test_activations_are_kept_where_there_is_room_for_a_whole_step():
    option = an_option(accumulation=1)

    assert "there is room for all of a step" in reasons(option, [option], ROOM)[1]


def test_activations_are_kept_where_computing_them_again_would_be_slower_and_by_how_much():
    slower = an_option(recompute=True, clips_per_second=9.87)

    said = reasons(KEPT, [KEPT, slower], ROOM)[1]

    assert "would not be faster (9.87 clips a second instead of 12.3)" in said


def test_a_way_that_does_not_fit_is_not_compared_by_its_speed():
    huge = an_option(recompute=True, over=1)

    said = reasons(KEPT, [KEPT, huge], ROOM)[1]

    assert said == "Activations are kept: computing them again would not be faster."


def test_activations_are_computed_again_where_that_is_faster_and_by_how_much():
    said = reasons(AGAIN, [AGAIN, KEPT], ROOM)[1]

    assert said == "Activations are computed again: 15.6 clips a second instead of 12.3."


def test_activations_are_computed_again_where_kept_they_do_not_fit_and_by_how_much():
    said = reasons(AGAIN, [AGAIN, LACKING], ROOM)[1]

    assert said == "Activations are computed again: kept, 2.5 GB would be missing."


def test_where_nothing_was_timed_clips_at_once_are_compared():
    kept, again = (replace(each, clips_per_second=None) for each in (KEPT, AGAIN))

    assert "again: 8 clips at once instead of 4." in reasons(again, [again, kept], ROOM)[1]


def test_activations_are_compared_with_those_of_the_same_way_only():
    lora = an_option(recompute=True, lora_rank=16)
    kept = an_option(lora_rank=16, over=700 * 2**20)

    assert "kept, 700 MB" in reasons(lora, [lora, LACKING, kept], ROOM)[1]


# ---- What is given up ----


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ({"lora_rank": 16}, "LoRA of rank 16): for all weights, 2.5 GB would be missing."),
        ({"optimizer": "adamw_8bit"}, "in 8 bits: in full, 2.5 GB would be missing."),
    ],
)
def test_what_is_given_up_comes_with_what_was_missing(way, said):
    option = an_option(accumulation=1, **way)

    assert reasons(option, [option, LACKING], ROOM)[-1].endswith(said)


def test_what_was_missing_is_the_least_of_all_that_gives_up_less():
    option, larger = an_option(lora_rank=16), an_option(recompute=True, over=9 * GB)

    assert "2.5 GB would be missing" in reasons(option, [option, larger, LACKING], ROOM)[-1]


def test_of_a_way_that_gives_up_nothing_or_was_wished_for_no_lack_is_told():
    wished = an_option(lora_rank=16)

    for option in (KEPT, wished):
        assert not any("missing" in each for each in reasons(option, [option], ROOM))


# ---- Where nothing fits ----


def test_where_nothing_fits_it_says_how_much_is_missing_and_what_would_help():
    [said] = reasons(LACKING, [LACKING], ROOM)

    assert said.startswith(
        "Even with 4 clips at a time it takes 11.5 GB, and 9.0 GB may be taken (10.0 GB are free):"
        " 2.5 GB are missing."
    )
    for help in ("Close other programs", "longest clips", "8-bit", "LoRA"):
        assert help in said


def test_a_card_that_is_full_offers_nothing_and_no_less_than_nothing():
    said = reasons(LACKING, [LACKING], of_card(8 * GIB, 0))[0]

    assert "nothing may be taken (0 kB are free)" in said


def test_of_what_could_not_be_measured_the_room_is_told_and_what_would_help():
    option = choice.unmeasured(Way("bf16"), Task(8, 1, 1))

    [said] = reasons(option, [], ROOM)

    assert said.startswith("Not even one clip at a time fits: 9.0 GB may be taken. Close other")


# ---- Sizes ----


@pytest.mark.parametrize(
    ("count", "said"),
    [
        *((2**10, "1 kB"), (300 * 2**10, "300 kB"), (999.6 * 2**10, "1 MB"), (7.4e6, "7 MB")),
        *((949 * 2**20, "949 MB"), (999.4 * 2**20, "999 MB"), (999.6 * 2**20, "1.0 GB")),
        (12_288 * 2**20, "12.0 GB"),
    ],
)
def test_sizes_are_said_in_the_unit_that_suits_them(count, said):
    assert memory(count) == said
