"""Which weights are the best, and when it is time to stop."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.best import (
    ERRORS_NOISE,
    LOSS_NOISE,
    PATIENCE,
    SIMILARITY_NOISE,
    Heard,
    choose,
    early_stop_offered,
    why_now,
)

numbers = st.none() | st.floats(0, 1)
losses = st.none() | st.floats(0.1, 9)
steps = st.integers(0, 500)
hearings = st.lists(st.builds(Heard, steps, losses, numbers, numbers), min_size=1, max_size=12)
whole = st.lists(
    st.builds(Heard, steps, st.floats(0.1, 9), st.floats(0, 1), st.floats(0, 1)),
    min_size=1,
    max_size=12,
    unique_by=lambda each: each.step,
)
NAN = float("nan")


def score(heard):
    return heard.similarity - heard.character_errors


def test_the_samples_lead_where_check_loss_alone_would_choose_too_early():
    heard = [Heard(0, 3.0, 0.70, 0.02), Heard(100, 2.0, 0.80, 0.02), Heard(500, 2.6, 0.90, 0.02)]

    assert choose(heard).step == 500


def test_errors_count_as_much_as_likeness():
    heard = [Heard(100, 2.0, 0.88, 0.02), Heard(200, 1.9, 0.92, 0.30)]

    assert choose(heard).step == 100


def test_of_samples_that_are_equal_within_noise_the_check_loss_decides():
    heard = [Heard(100, 2.5, 0.88), Heard(200, 2.0, 0.88 - SIMILARITY_NOISE / 2)]

    assert choose(heard).step == 200


def test_of_those_that_are_equal_in_all_the_earlier_one_is_chosen():
    heard = [Heard(100, 2.5), Heard(200, 2.0 * (1 + LOSS_NOISE / 2)), Heard(300, 2.0)]

    assert choose(heard).step == 200


def test_without_samples_the_check_loss_decides():
    assert choose([Heard(0, 3.0), Heard(100, 2.0), Heard(200, 2.5)]).step == 100


def test_a_measure_that_only_few_hearings_have_does_not_lead():
    """The judge gave up after the base."""
    heard = [Heard(0, 3.0, 0.7), Heard(100, 2.5), Heard(200, 2.0)]

    assert choose(heard).step == 200


def test_a_hearing_whose_samples_failed_is_not_chosen_over_those_heard():
    heard = [Heard(0, 3.0, 0.7), Heard(100, 2.5, 0.8), Heard(200, 1.0)]

    assert choose(heard).step == 100


@pytest.mark.parametrize("broken", [NAN, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["check_loss", "similarity", "character_errors"])
def test_what_is_no_number_is_never_chosen_over_one(broken, field):
    good = Heard(0, 9.0, 0.1, 0.9)
    bad = Heard(
        100, **{"check_loss": 1.0, "similarity": 0.9, "character_errors": 0.0, field: broken}
    )

    assert choose([good, bad]).step == 0
    assert choose([bad]).step == 100


def test_a_step_heard_again_after_a_resume_counts_as_the_later_one():
    assert choose([Heard(100, 1.0), Heard(200, 1.5), Heard(100, 2.0)]).step == 200


def test_nothing_heard_is_nothing_to_choose_from():
    with pytest.raises(ValueError, match="nothing"):
        choose([])


@given(hearings)
def test_the_choice_is_one_of_the_steps_with_a_reason_whatever_is_missing(heard):
    found = choose(heard)

    assert found.step in {each.step for each in heard}
    assert "nan" not in found.reason and found.reason


@given(whole)
def test_nothing_else_is_better_by_more_than_noise(heard):
    found = next(each for each in heard if each.step == choose(heard).step)
    noise = math.hypot(SIMILARITY_NOISE, ERRORS_NOISE)

    if len(heard) > 1:
        assert all(score(each) <= score(found) + noise + 1e-9 for each in heard)


@given(whole)
def test_nothing_is_chosen_that_the_base_beats_in_all(heard):
    base = next((each for each in heard if each.step == 0), None)
    found = next(each for each in heard if each.step == choose(heard).step)

    if base and found is not base and len(heard) > 1:
        assert score(found) >= score(base) or found.check_loss < base.check_loss


@given(whole)
def test_the_order_of_hearing_does_not_matter(heard):
    assert choose(heard) == choose(heard[::-1])


@given(whole, st.floats(0.1, 9))
def test_what_is_no_number_changes_no_choice(heard, loss):
    assert choose([*heard, Heard(501, loss, NAN, 0.0)]) == choose(heard)


def test_the_reason_is_in_words():
    heard = [Heard(0, 3.0, 0.7, 0.02), Heard(100, 2.29, 0.84, 0.0), Heard(200, 2.31, 0.87, 0.01)]

    found = choose(heard)

    assert found.step == 100  # equal within noise, and earlier
    assert choose([heard[0], heard[2], Heard(300, 2.29, 0.7, 0.02)]).reason == (
        "Best so far: sounds most like the voice (0.87), 1.0% of its characters are heard"
        " otherwise, the fewest and the check loss 2.31 is within 2% of the lowest."
    )


def test_the_reason_keeps_to_what_was_heard_since():
    first = [Heard(0, 3.0, 0.5), Heard(50, 1.01, 0.90)]
    then = choose(first).reason
    since = [*first, Heard(100, 1.00, 0.88)]

    assert "1.01 is the lowest" in then
    assert "1.01 is within 2% of the lowest" in why_now(50, then, since)
    assert why_now(100, "as said then", since) == "as said then"
    assert why_now(50, then, []) == then


def test_the_base_is_chosen_only_when_nothing_is_better_and_said_to_be_it():
    worse = [Heard(0, 2.0, 0.9), Heard(100, 2.5, 0.7)]
    hardly_better = [Heard(0, 2.0, 0.9), Heard(100, 2.0, 0.899), Heard(200, 2.0, 0.901)]

    assert choose(worse).reason.startswith("The base is the best")
    assert choose(worse).step == 0
    assert choose(hardly_better).step == 200


def test_stopping_is_offered_when_nothing_got_better_for_some_hearings():
    good = [Heard(0, 3.0, 0.7), Heard(100, 2.0, 0.9)]
    flat = [Heard(200 + 100 * at, 2.0 + at / 10, 0.9) for at in range(PATIENCE)]

    assert early_stop_offered([*good, *flat[:-1]]) == ""
    assert "step 100" in early_stop_offered([*good, *flat])
    assert str(PATIENCE) in early_stop_offered([*good, *flat])


def test_stopping_is_not_offered_while_the_samples_get_better_though_the_loss_rises():
    heard = [Heard(100 * at, 2.0 + at / 10, 0.6 + at * 0.03) for at in range(10)]

    assert early_stop_offered(heard) == ""


def test_many_small_gains_are_a_gain():
    heard = [Heard(100 * at, None, 0.7 + at * 0.9 * SIMILARITY_NOISE) for at in range(10)]

    assert early_stop_offered(heard) == ""


def test_what_is_within_noise_is_no_gain():
    heard = [Heard(100 * at, 2.0 - at / 1000, 0.7 + at / 1000) for at in range(PATIENCE + 1)]

    assert early_stop_offered(heard) != ""


def test_hearings_that_are_no_number_are_no_gain():
    heard = [Heard(0, 3.0), *(Heard(100 * at, NAN) for at in range(1, PATIENCE + 1))]

    assert "the base" in early_stop_offered(heard)


def test_where_nothing_was_measured_nothing_is_offered():
    assert early_stop_offered([Heard(100 * at) for at in range(9)]) == ""


@given(hearings)
def test_stopping_is_never_offered_before_there_was_patience(heard):
    if len(heard) <= PATIENCE:
        assert early_stop_offered(heard) == ""


@given(hearings, st.integers(1, 3))
def test_a_clear_gain_takes_the_offer_back(heard, times):
    sound = [Heard(each.step, each.check_loss) for each in heard]
    lowest = min((each.check_loss for each in sound if each.check_loss is not None), default=9)

    assert early_stop_offered([*sound, Heard(501, lowest * 0.9)]) == ""
