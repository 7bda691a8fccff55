"""Which clip is the example of a voice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.base import Sound
from engines.errors import AudioError
from finetune.datasets import Example
from finetune.references import (
    Facts,
    choose_reference,
    find_reference,
    likely,
    measure,
    score,
    with_likeness,
)

GOOD = Facts(8.0, -20, -65, 0.0, 0.2, 90, 0.93)
any_number = st.floats(allow_nan=True, allow_infinity=True)
any_facts = st.builds(
    Facts,
    seconds=st.floats(0, 1000),
    speech_db=any_number,
    noise_db=any_number,
    clipped=any_number,
    pauses=any_number,
    characters=st.integers(0, 10_000),
    similarity=st.none() | any_number,
)


def clip(seconds=8.0, noise=0.0, gain=0.3, clipped=False, rate=22050, pause=0.3):
    """Syllables of a hum with pauses between them, over noise."""
    time = np.arange(int(seconds * rate)) / rate
    speaks = (time % 1.0) >= pause
    samples = gain * np.sin(2 * np.pi * 150 * time) * speaks
    samples = samples + np.random.default_rng(1).normal(0, noise, len(time))
    return Sound(np.clip(samples * (9 if clipped else 1), -1, 1).astype(np.float32), rate)


def example(at, seconds=8.0, recording="a", text="What was said in this clip, word by word."):
    return Example(at, recording, 20.0 * at, 20.0 * at + seconds, text)


@given(any_facts)
def test_a_score_lies_between_0_and_1_whatever_was_measured(facts):
    assert 0 <= score(facts) <= 1


@pytest.mark.parametrize(
    "worse",
    [
        {"seconds": 2.0},
        {"seconds": 25.0},
        {"noise_db": -35},
        {"clipped": 0.001},
        {"pauses": 0.6},
        {"similarity": 0.75},
        {"speech_db": -45, "noise_db": -90},
        {"characters": 3},
        {"similarity": float("nan")},
        {"speech_db": float("inf")},
    ],
)
def test_each_fact_counts(worse):
    bad = replace(GOOD, **worse)

    assert score(bad) < score(GOOD) == 1
    assert choose_reference([bad, GOOD, bad])[0] == 1


def test_no_virtue_makes_up_for_clipping_or_another_voice():
    modest = Facts(4.5, -28, -60, 0.0, 0.4, 40, 0.88)

    assert score(modest) > score(replace(GOOD, clipped=0.01))
    assert score(modest) > score(replace(GOOD, similarity=0.55))


def test_six_to_twelve_seconds_are_ideal_and_longer_is_better_than_much_shorter():
    by_length = {each: score(replace(GOOD, seconds=each)) for each in (2, 4, 6, 9, 12, 20, 40)}

    assert by_length[6] == by_length[9] == by_length[12] == 1
    assert by_length[2] < by_length[40] <= by_length[20] < 1
    assert by_length[2] < by_length[4] < by_length[6]


def test_where_all_are_short_the_best_of_them_is_taken_and_that_is_said():
    short = [replace(GOOD, seconds=each) for each in (2.0, 4.0, 3.0)]

    assert choose_reference(short)[0] == 1
    assert "shorter than 6 s" in choose_reference(short)[1]
    assert "shorter" not in choose_reference([*short, GOOD])[1]


def test_the_reason_names_what_was_measured():
    assert choose_reference([GOOD])[1] == (
        "The best of the clips as an example of the voice: 8.0 s, the noise 45 dB below the"
        " voice, nothing clipped, like the other clips (0.93)."
    )


def test_without_a_clip_it_says_what_to_do():
    with pytest.raises(AudioError, match="Add recordings"):
        choose_reference([])


@pytest.mark.parametrize("rate", [16000, 22050, 48000])
def test_noise_pauses_and_clipping_are_measured(rate):
    clean, noisy = measure(clip(rate=rate), "abc def"), measure(clip(noise=0.02, rate=rate), "")

    assert clean.seconds == pytest.approx(8)
    assert clean.speech_db == pytest.approx(-13.5, abs=0.5)
    assert clean.pauses == pytest.approx(0.3, abs=0.05)
    assert clean.characters == 6
    assert noisy.noise_db == pytest.approx(-34, abs=1.5)
    assert noisy.pauses == pytest.approx(0.3, abs=0.05)
    assert clean.clipped == 0 < measure(clip(clipped=True, rate=rate), "").clipped


@pytest.mark.parametrize("samples", [[], [0.0] * 9000, [np.nan] * 9000])
def test_nothing_silence_and_what_is_no_number_are_measured_and_bad(samples):
    facts = measure(Sound(np.array(samples, np.float32), 22050), "text")

    assert score(facts) < score(GOOD) / 4


def test_the_cleanest_clip_of_the_voice_is_found_by_listening():
    sounds = [clip(noise=0.03), clip(3.0), clip(clipped=True), clip(), clip(7.0)]
    prints = np.eye(8, dtype=np.float32)[[0, 0, 0, 1, 0]]
    by_length = {id(sound.samples): print_ for sound, print_ in zip(sounds, prints, strict=True)}

    found = find_reference(
        [example(at, sound.seconds) for at, sound in enumerate(sounds)],
        lambda each: sounds[each.clip_id],
        lambda sound: by_length[id(sound.samples)],
    )

    assert found.example.clip_id == 4  # clip 3 is another voice
    assert found.sound is sounds[4]
    assert find_reference([example(0)], lambda each: sounds[0]).example.clip_id == 0


def test_likeness_is_told_by_the_mean_of_all():
    prints = np.eye(4, dtype=np.float32)[[0, 0, 0, 1]]

    found = with_likeness([GOOD] * 4, list(prints))

    assert found[0].similarity > 0.9 and found[3].similarity < 0.4


def test_of_many_examples_only_some_are_heard_of_the_best_lengths_from_all_over():
    examples = [example(at, 3.0) for at in range(50)] + [example(at) for at in range(50, 1000)]

    found = likely(examples, 60)

    assert len({each.clip_id for each in found}) == 60
    assert {each.seconds for each in found} == {8.0}
    assert min(each.clip_id for each in found) == 50
    assert max(each.clip_id for each in found) == 999


@given(st.lists(st.floats(0.5, 40), max_size=30), st.integers(1, 40))
def test_those_heard_are_never_more_than_wanted_and_none_twice(lengths, most):
    found = likely([example(at, each) for at, each in enumerate(lengths)], most)

    assert len({each.clip_id for each in found}) == len(found) == min(most, len(lengths))
