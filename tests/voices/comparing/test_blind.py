"""Blind comparisons: fair draws, answers counted, and words that do not say more than they know."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import pytest

from engines.errors import ConflictError, NotFoundError, SettingsError
from voices.comparing import blind, chance
from voices.comparing.blind import Comparison, Pair, Undo

PAIRS = tuple(Pair(f"Sentence {n}.", f"400/{n}.flac", f"800/{n}.flac") for n in range(3))
AB = Comparison("a", "ab", "step 400", "step 800", PAIRS, 10, seed=1)
ABX = replace(AB, kind="abx", seed=2)


def play(comparison, choose):
    """Answer every trial; `choose` sees only what a person does."""
    events = []
    while trial := blind.next_trial(comparison, events):
        events.append(blind.answered(comparison, events, trial.number, choose(trial)))
    return events


def liking(place):
    return lambda trial: "left" if trial.left.startswith(place) else "right"


def hearing(trial):
    return "left" if trial.x == trial.left else "right"


def mistaken(times, choose):
    """Answer otherwise in the first trials."""
    return lambda trial: (
        choose(trial)
        if trial.number >= times
        else {"left": "right", "right": "left"}[choose(trial)]
    )


# ---- The draws ----


def test_in_ab_the_sides_change_and_both_are_there():
    seen = [
        blind.next_trial(AB, [blind.Answer(n, "left", False) for n in range(done)])
        for done in range(10)
    ]

    assert {trial.left[:3] for trial in seen} == {"400", "800"}
    for trial in seen:
        pair = PAIRS[trial.number % 3]
        assert {trial.left, trial.right} == {pair.one, pair.other} and trial.x is None
        assert (trial.left == pair.other) == trial.swapped and trial.text == pair.text


def test_a_trial_is_the_same_until_it_is_answered():
    assert blind.next_trial(AB, []) == blind.next_trial(AB, [])


def test_each_draw_is_a_fair_coin_that_knows_nothing_of_the_one_before():
    drawn = [
        [answer.swapped for answer in play(replace(ABX, seed=seed), hearing)] for seed in range(400)
    ]
    heads = sum(map(sum, drawn))
    alike = sum(left == right for row in drawn for left, right in itertools.pairwise(row))

    # Four standard deviations: wrong one time in 16,000, and the seeds are always the same.
    for count, of in ((heads, 4000), (alike, 3600)):
        assert abs(count - of / 2) < 4 * (of / 4) ** 0.5


def test_x_is_one_of_the_two_and_the_two_stay_where_they_are():
    events = play(ABX, hearing)

    assert {answer.swapped for answer in events} == {True, False}
    trial = blind.next_trial(ABX, [])
    assert trial.left.startswith("400") and trial.x in (trial.left, trial.right)


# ---- Answers ----


def test_a_trial_that_was_answered_elsewhere_is_not_answered_twice():
    first = blind.answered(AB, [], 0, "left")

    with pytest.raises(ConflictError, match="another window"):
        blind.answered(AB, [first], 0, "right")


@pytest.mark.parametrize(("comparison", "choice"), [(AB, "maybe"), (ABX, "neither")])
def test_what_is_no_answer_is_refused(comparison, choice):
    with pytest.raises(SettingsError, match="no answer here"):
        blind.answered(comparison, [], 0, choice)


def test_the_last_answer_is_taken_back_and_its_trial_comes_again_drawn_anew():
    drawn = set()
    for seed in range(20):
        comparison = replace(AB, seed=seed)
        events = play(comparison, liking("400"))[:4]
        before = blind.next_trial(comparison, events[:3])
        events.append(blind.undone(events))
        again = blind.next_trial(comparison, events)
        assert again.number == before.number == 3
        drawn.add(again.swapped == before.swapped)

    assert drawn == {True, False}


def test_where_nothing_was_said_nothing_is_taken_back():
    answer = blind.answered(AB, [], 0, "left")

    for events in ([], [answer, Undo()]):
        with pytest.raises(NotFoundError, match="no answer to take back"):
            blind.undone(events)


def test_an_answer_that_was_lost_is_asked_again():
    events = play(AB, liking("400"))
    del events[4]

    assert blind.next_trial(AB, events).number == 4


def test_what_was_picked_is_the_voice_whichever_side_it_was_on():
    assert {blind.picked(AB, answer) for answer in play(AB, liking("800"))} == {"step 800"}
    assert blind.picked(AB, blind.Answer(0, "neither", True)) == ""
    for swapped in (False, True):  # in ABX the two stay where they are
        assert blind.picked(ABX, blind.Answer(0, "right", swapped)) == "step 800"


# ---- What came of it ----


def test_chance_is_the_exact_sum_over_every_way_the_coins_can_fall():
    for of in (1, 5, 8, 11):
        falls = [sum(fall) for fall in itertools.product((0, 1), repeat=of)]
        for hits in range(of + 1):
            more = Fraction(sum(each >= hits for each in falls), 2**of)
            apart = abs(2 * hits - of)
            uneven = Fraction(sum(abs(2 * each - of) >= apart for each in falls), 2**of)
            assert chance.at_least(hits, of) == pytest.approx(float(more), abs=1e-15)
            assert chance.as_uneven(hits, of) == pytest.approx(float(uneven), abs=1e-15)


def test_many_answers_agree_with_the_normal_distribution():
    assert chance.at_least(560, 1000) == pytest.approx(
        1 - NormalDist(500, 250**0.5).cdf(559.5), rel=0.02
    )


def test_eight_of_ten_in_ab_are_said_with_both_tails():
    result = blind.result(AB, play(AB, mistaken(2, liking("400"))))

    assert (result.one, result.other, result.neither) == (8, 2, 0)
    assert result.chance == pytest.approx(112 / 1024)
    assert result.words == (
        "8 of 10 times the one of step 400; chance alone is as uneven 1 time in 9."
        " That may well be chance: more trials would tell."
    )


def test_eight_of_ten_in_abx_are_said_with_one():
    result = blind.result(ABX, play(ABX, mistaken(2, hearing)))

    assert result.chance == pytest.approx(56 / 1024) and (result.one, result.other) == (8, 2)
    assert result.words.startswith(
        "8 of 10 right; by guessing alone that, or better, happens 1 time in 18."
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (0, "You hear the difference."),
        (1, "You very likely hear the difference."),
        (2, "No difference is shown; that does not prove that there is none."),
        (8, "No difference is shown"),
    ],
)
def test_abx_says_no_more_than_it_knows(wrong, said):
    eight = replace(ABX, trials=8)

    result = blind.result(eight, play(eight, mistaken(wrong, hearing)))

    # 8 of 8 is 1 in 256, 7 of 8 is 1 in 28, 6 of 8 is 1 in 7.
    assert said in result.words


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (0, "You like step 400 better."),
        (1, "You very likely like step 400 better."),
        (4, "4 of 8 times the one of step 400; that is even."),
        (7, "7 of 8 times the one of step 800"),
    ],
)
def test_ab_names_the_one_that_is_ahead(wrong, said):
    of = 9 if wrong == 1 else 8  # 8 of 9 is 1 in 26, with both tails
    comparison = replace(AB, trials=of)

    result = blind.result(comparison, play(comparison, mistaken(wrong, liking("400"))))

    assert said in result.words


def test_neither_counts_for_nobody():
    often = blind.result(
        AB, play(AB, lambda trial: "neither" if trial.number < 4 else liking("800")(trial))
    )
    always = blind.result(AB, play(AB, lambda trial: "neither"))

    assert (often.one, often.other, often.neither) == (0, 6, 4)
    assert "6 of 6 times the one of step 800 (4 times neither)" in often.words
    assert often.chance == pytest.approx(2 / 64)
    assert always.words == "None of 10 times was one liked better: both are as good to you."
    assert always.chance == 1


@pytest.mark.parametrize("comparison", [AB, ABX])
def test_no_result_is_seen_before_the_last_answer(comparison):
    choose = hearing if comparison.kind == "abx" else liking("400")
    events = play(comparison, choose)

    before = blind.result(comparison, events[:9])

    assert (before.answered, before.one, before.other, before.chance) == (9, 0, 0, None)
    assert before.words.startswith("9 of 10 answered. The result is shown after 1 more")
    assert blind.result(comparison, events).chance is not None


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (1.0, "nearly always"),
        (0.75, "8 times in 10"),
        (0.26, "1 time in 4"),
        (56 / 1024, "1 time in 18"),
        (2**-16, "1 time in 65,536"),
    ],
)
def test_odds_are_said_as_people_say_them(probability, said):
    assert chance.odds(probability) == said


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"kind": "abc"}, "no comparison"),
        ({"kind": "abx", "trials": 7}, "from 8 to 16"),
        ({"kind": "abx", "trials": 17}, "from 8 to 16"),
        ({"trials": 0}, "from 1 to 64"),
        ({"pairs": ()}, "no sentence"),
        ({"other": "step 400"}, "takes two"),
    ],
)
def test_what_cannot_be_compared_is_refused(other, said):
    with pytest.raises(SettingsError, match=said):
        replace(AB, **other)
