"""Where somebody speaks, in stretches that divide no speech, and the windows made of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from engines.errors import AudioError
from finetune.hearing.speech import RATE, Stretch, spread, stretches, windows
from finetune.media import reading
from tests import speech

ABOUT = 12.0


@pytest.fixture(scope="module")
def bundled():
    return speech.bundled()


@pytest.fixture(scope="module")
def spoken(bundled):
    """Twenty sentences with pauses, some of them long."""
    return speech.joined(bundled[:20], gaps=[0.6, 1.2, 6.0, 0.9])


@pytest.fixture(scope="module")
def copy(spoken, tmp_path_factory):
    return saved(tmp_path_factory.mktemp("copies") / "copy.flac", spoken[0])


@pytest.fixture(scope="module")
def found(copy):
    return [*stretches(copy, about_seconds=ABOUT)]


def saved(path, samples, rate=RATE):
    soundfile.write(path, samples, rate, subtype="PCM_16")
    return path


def words_of(truth):
    return [word for sentence in truth for word in sentence.words]


def edges_of(found):
    return [(each.start, each.end, each.spans) for each in found]


def test_the_stretches_of_a_recording_are_adjacent_and_hold_every_sample(copy, spoken, found):
    assert len(found) >= 6
    assert found[0].start == 0 and found[-1].end == reading.seconds(copy)
    assert all(a.end == b.start == round(a.end, 2) for a, b in itertools.pairwise(found))
    together = np.concatenate([each.samples for each in found])
    assert np.array_equal(together, reading.read(copy, 0, 1e9).samples)
    assert all(len(each.samples) == round((each.end - each.start) * RATE) for each in found)


def test_a_stretch_ends_where_nobody_speaks(spoken, found):
    words = words_of(spoken[1])

    for each in found[:-1]:
        nearest = min(abs(edge - each.end) for word in words for edge in (word.start, word.end))
        assert not any(word.start < each.end < word.end for word in words)
        assert nearest >= 0.1


def test_every_sentence_is_in_a_span_of_its_own(spoken, found):
    spans = [span for each in found for span in each.spans]

    assert len(spans) == len(spoken[1])
    for (start, end), sentence in zip(spans, spoken[1], strict=True):
        assert start <= sentence.start + 0.05 and sentence.end - 0.05 <= end
        assert end - start <= sentence.end - sentence.start + 0.6


def test_beginning_anew_at_the_end_of_any_stretch_gives_the_same_stretches(copy, found):
    for at, each in enumerate(found):
        again = [*stretches(copy, each.end, ABOUT)]

        assert edges_of(again) == edges_of(found[at + 1 :])
        assert all(
            np.array_equal(new.samples, old.samples)
            for new, old in zip(again, found[at + 1 :], strict=True)
        )


def test_a_working_copy_of_any_rate_has_the_same_stretches(spoken, found, tmp_path):
    import soxr

    samples = soxr.resample(spoken[0], RATE, 44100)

    others = [*stretches(saved(tmp_path / "copy.flac", samples, 44100), about_seconds=ABOUT)]

    assert len(others) == len(found)
    for other, each in zip(others, found, strict=True):
        assert other.end == pytest.approx(each.end, abs=0.1)
        assert np.array(other.spans) == pytest.approx(np.array(each.spans), abs=0.1)
        assert len(other.samples) == pytest.approx(RATE * (other.end - other.start), abs=1)


def test_speech_without_a_pause_is_divided_between_words(bundled, tmp_path):
    samples, truth = speech.joined(bundled[:20], gaps=[0.2])

    found = [*stretches(saved(tmp_path / "copy.flac", samples), about_seconds=8)]

    assert len(found) >= 6
    assert all(each.end - each.start <= 10 for each in found)
    for each in found:
        assert all(each.start <= start < end <= each.end for start, end in each.spans)
    # What is divided goes on in the next stretch, with next to nothing lost.
    for left, right in itertools.pairwise(found):
        assert left.spans[-1][1] == left.end
        assert right.spans[0][0] <= right.start + 0.1
    for each in found[:-1]:
        assert not any(word.start < each.end < word.end for word in words_of(truth))


def test_a_stretch_begins_anew_the_same_without_a_pause(bundled, tmp_path):
    samples, _ = speech.joined(bundled[:10], gaps=[0.2])
    path = saved(tmp_path / "copy.flac", samples)
    found = [*stretches(path, about_seconds=7.3)]

    for at, each in enumerate(found):
        assert edges_of(stretches(path, each.end, 7.3)) == edges_of(found[at + 1 :])


@pytest.mark.parametrize("seconds", [0.001, 0.02, 0.5, 30])
def test_where_nobody_speaks_there_are_stretches_without_spans(seconds, tmp_path):
    noise = 0.01 * np.random.default_rng(0).standard_normal(round(seconds * RATE))

    found = [*stretches(saved(tmp_path / "copy.flac", noise), about_seconds=8)]

    assert not any(each.spans for each in found)
    assert sum(len(each.samples) for each in found) == len(noise)


def test_a_long_recording_is_read_in_parts_and_hardly_anything_twice(
    bundled, tmp_path, monkeypatch
):
    samples, _ = speech.joined(bundled, gaps=[0.6, 1.2, 50])
    path = saved(tmp_path / "copy.flac", samples)
    asked, read = [], reading.read
    monkeypatch.setattr(
        reading,
        "read",
        lambda path, start, end, rate: asked.append(end - start) or read(path, start, end, rate),
    )

    held = [len(each.samples) for each in stretches(path, about_seconds=40)]

    assert len(held) >= 10
    assert max(asked) <= 1.25 * 40
    assert sum(asked) <= 1.1 * len(samples) / RATE


def test_nothing_is_read_before_it_is_asked_for(copy, monkeypatch):
    asked, read = [], reading.read
    monkeypatch.setattr(reading, "read", lambda *given: asked.append(given) or read(*given))

    several = stretches(copy, about_seconds=ABOUT)
    next(several)

    assert len(asked) == 1


def test_a_damaged_copy_is_said_to_be_damaged(copy, tmp_path):
    path = tmp_path / "copy.flac"
    path.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2])

    with pytest.raises(AudioError, match="damaged"):
        list(stretches(path, about_seconds=ABOUT))


lengths = st.floats(0.05, 70)
gaps = st.floats(0, 9)


@given(st.lists(st.tuples(gaps, lengths), max_size=40), st.floats(1, 30), st.floats(0, 5))
def test_windows_hold_all_speech_and_are_neither_too_long_nor_silent_for_long(
    laid, longest, longest_gap
):
    spans, at = [], 0.0
    for gap, length in laid:
        spans.append((at + gap, at + gap + length))
        at = spans[-1][1]

    found = windows(spans, longest, longest_gap)

    assert all(0 < end - start <= longest + 1e-6 for start, end in found)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(found))
    pieces = [
        (max(start, left), min(end, right))
        for start, end in found
        for left, right in spans
        if max(start, left) < min(end, right)
    ]
    assert sum(b - a for a, b in pieces) == pytest.approx(sum(b - a for a, b in spans))
    for start, end in found:
        inside = [piece for piece in pieces if start <= piece[0] and piece[1] <= end]
        assert (start, end) == (inside[0][0], inside[-1][1])
        assert all(b[0] - a[1] <= longest_gap for a, b in itertools.pairwise(inside))


@given(st.lists(st.tuples(gaps, st.floats(0.05, 20)), min_size=2, max_size=40))
def test_windows_are_as_full_as_they_can_be(laid):
    spans, at = [], 0.0
    for gap, length in laid:
        spans.append((at + gap, at + gap + length))
        at = spans[-1][1]

    found = windows(spans, 30, longest_gap=5)

    for left, right in itertools.pairwise(found):
        following = next(span for span in spans if span[0] == right[0])
        assert following[1] - left[0] > 30 or right[0] - left[1] > 5


@given(st.floats(0.1, 200), st.integers(0, 2**32))
def test_a_span_that_is_too_long_leaves_no_scrap_wherever_it_is_divided(length, seed):
    rng = np.random.default_rng(seed)

    found = windows([(3.0, 3.0 + length)], 10, divide=lambda a, b: rng.uniform(a, b))

    assert found[0][0] == 3 and found[-1][1] == 3 + length
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
    assert all(end - start <= 10 + 1e-9 for start, end in found)
    assert length <= 10 or all(end - start >= 2.5 - 1e-9 for start, end in found)


def test_a_span_that_is_too_long_is_divided_between_words(bundled):
    samples, truth = speech.joined(bundled[:20], gaps=[0.15])
    stretch = Stretch(100.0, 100 + len(samples) / RATE, (), samples)

    found = windows([(100.0, stretch.end)], 8, divide=stretch.quietest)

    assert len(found) >= 6
    for _, end in found[:-1]:
        assert not any(word.start < end - 100 < word.end for word in words_of(truth))


def test_the_quietest_place_is_not_the_stop_inside_a_word():
    """A "t" is silent for 60 ms; between two words it is not so quiet, for longer."""
    rng = np.random.default_rng(0)
    samples = 0.1 * rng.standard_normal(4 * RATE).astype(np.float32)
    samples[RATE : RATE + 960] = 0
    samples[3 * RATE : 3 * RATE + 3200] *= 0.003
    stretch = Stretch(7.0, 11.0, (), samples)

    assert stretch.quietest(7, 11) == pytest.approx(10.1, abs=0.05)


def test_a_part_of_a_stretch_is_what_lies_between_two_seconds_of_the_recording(found):
    stretch = found[2]
    start, end = stretch.spans[0]

    part = stretch.part((start, end))

    first = round((start - stretch.start) * RATE)
    assert np.array_equal(part, stretch.samples[first : first + len(part)])
    assert len(part) == pytest.approx((end - start) * RATE, abs=1)


@given(st.integers(0, 60), st.integers(1, 8))
def test_a_few_are_chosen_evenly_from_first_to_last(many, few):
    spans = [(float(at), at + 0.5) for at in range(many)]

    chosen = spread(spans, few)

    assert len(chosen) == min(many, few)
    assert chosen == sorted(set(chosen))
    if many > few:
        steps = [b[0] - a[0] for a, b in itertools.pairwise(chosen)]
        assert not steps or max(steps) - min(steps) <= 1
        assert abs(chosen[0][0] - (many - 1 - chosen[-1][0])) <= 1
