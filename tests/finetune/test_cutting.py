from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finetune.cutting import Piece, cut
from finetune.quiet import Levels
from finetune.settings import CutSettings
from finetune.words import Word, put_in_order
from tests.bench.baseline_cut import baseline_cut
from tests.finetune.spoken import Spoken, speak

NOTHING = np.zeros(0, np.float32)
SETTINGS = CutSettings()
# A boundary this far inside a word takes nothing of it that can be heard.
HARMLESS_S = 0.03


def sentence(text: str, start: float = 0.0, each: float = 0.4, gap: float = 0.05) -> list[Word]:
    """Words said evenly, one after the other."""
    return [
        Word(f" {word}", start + place * (each + gap), start + place * (each + gap) + each)
        for place, word in enumerate(text.split())
    ]


def heard_of(words: list[Word], seconds: float) -> Levels:
    """The levels of words as loud as each other over a quiet room."""
    heard = np.full(round(seconds * 100), -70, np.float32)
    for word in words:
        heard[round(word.start * 100) : round(word.end * 100)] = -20
    return heard


def assert_promises(
    words: list[Word], pieces: list[Piece], seconds: float, chosen: CutSettings
) -> None:
    """No word lost, repeated or changed; no overlap; inside the recording; within the limit."""
    kept = [word for piece in pieces for word in piece.words]
    assert [(w.text, w.probability) for w in kept] == [(w.text, w.probability) for w in words]
    for left, right in pairwise(pieces):
        assert left.end <= right.start
    for piece in pieces:
        assert 0 <= piece.start <= piece.end <= seconds
        assert piece.why_cut
        if piece.end - piece.start > chosen.max_seconds:
            assert len(piece.words) == 1
            assert "one word" in piece.why_cut
        for word in piece.words:
            assert piece.start <= word.end
            assert word.start <= piece.end


# ---- What a person would expect ----


def test_two_sentences_with_a_pause_become_a_clip_that_ends_in_silence():
    words = sentence("one two three four five six. seven eight.", 1.0)
    later = sentence("Nine ten eleven twelve. Thirteen fourteen fifteen sixteen seventeen.", 5.3)
    seconds = later[-1].end + 2

    first, second = cut([*words, *later], SETTINGS, heard_of([*words, *later], seconds), seconds)

    assert first.text == "one two three four five six. seven eight."
    assert first.why_cut == "the end of a sentence"
    assert first.start == pytest.approx(0.9, abs=0.02)
    assert words[-1].end < first.end < second.start < later[0].start
    # The pad of 0.1 s, and 0.05 for what fades.
    assert second.end == pytest.approx(later[-1].end + 0.15, abs=0.02)


def test_a_sentence_too_long_is_cut_at_its_best_pause_each_part_with_its_own_words():
    words = sentence("a b c d e f g h i j k l")
    words += sentence("m n o p q r s t u v w x", words[-1].end + 0.5)
    seconds = words[-1].end + 0.5

    first, second = cut(words, SETTINGS, heard_of(words, seconds), seconds)

    assert (first.text, second.text) == ("a b c d e f g h i j k l", "m n o p q r s t u v w x")
    assert first.why_cut.startswith("a pause of 0.50 s, in a sentence too long")


def test_a_long_pause_ends_the_clip_even_inside_a_sentence():
    words = [*sentence("one two three four five"), *sentence("six seven eight nine.", 5)]

    first, second = cut(words, SETTINGS, heard_of(words, 8), 8)

    assert first.why_cut == "a pause of 2.8 s"
    assert (first.text, second.text) == ("one two three four five", "six seven eight nine.")
    assert first.end < 2.7 < 4.6 < second.start


def test_very_short_sentences_stay_together():
    words = sentence("Yes. No. Why? Because.", gap=0.1)

    assert [piece.text for piece in cut(words, SETTINGS, heard_of(words, 3), 3)] == [
        "Yes. No. Why? Because."
    ]


def test_pads_never_reach_into_a_neighbour():
    words = sentence("One two three four five six seven eight. Nine ten eleven.", gap=0.08)
    chosen = CutSettings(max_seconds=4, target_seconds=3, pad_ms=300)

    first, second = cut(words, chosen, heard_of(words, 6), 6)

    assert words[7].end <= first.end <= second.start <= words[8].start


def test_a_word_longer_than_the_limit_is_one_clip_that_says_so():
    words = [Word(" Aaaah.", 1, 20), *sentence("That was long and now it is over.", 20.5)]

    long, _ = cut(words, SETTINGS, NOTHING, 30)

    assert long.text == "Aaaah."
    assert long.why_cut == "one word, longer than 11 s by itself"


def test_a_word_stretched_over_silence_does_not_take_the_silence_along():
    words = [*sentence("This is the end."), Word(" Hello", 1.8, 9.5), *sentence("you there.", 9.6)]
    spoken = [*words[:4], Word("", 9.0, 9.5), *words[5:]]

    first, second = cut(words, SETTINGS, heard_of(spoken, 11), 11)

    assert first.text == "This is the end."
    assert second.text == "Hello you there."
    assert first.end < 2.2
    assert 8.6 < second.start < 9.0


def test_a_word_that_whisper_ends_half_a_second_too_soon_is_not_cut_in_its_silence():
    words = sentence("Mr. Hill opened the wooden boat.", 1.0)
    later = sentence("The baker sold a silver key by the station.", words[-1].end + 2)
    spoken = [*words[:-1], Word("", words[-1].start, words[-1].end + 0.07)]
    spoken += [Word("", words[-1].end + 0.14, words[-1].end + 0.55), *later]

    first, second = cut([*words, *later], SETTINGS, heard_of(spoken, 12), 12)

    assert words[-1].end + 0.55 < first.end < second.start < later[0].start


def test_the_faint_end_of_a_word_in_the_dark_of_noise_is_kept():
    words = sentence("After midnight, my brother repaired a yellow lamp.", 1.0)
    heard = heard_of(words, 8)

    (only,) = cut(words, CutSettings(pad_ms=100), np.maximum(heard, -40), 8)

    # The "p" opens 0.12 s later, no louder than the noise.
    assert only.end > words[-1].end + 0.12


def test_a_silence_that_begins_inside_a_word_is_cut_where_whisper_too_hears_a_gap():
    words = sentence("Have you seen an empty bottle behind the church?", 1.0)
    later = sentence("Before dinner, the old farmer repaired a silver key.", words[-1].end + 0.8)
    heard = heard_of([*words, *later], 12)
    end = round(words[-1].end * 100)
    heard[end - 15 : end] = -50  # a "ch" fainter than the music, which has just died away
    heard[end : end + 3] = -50
    heard[end + 3 : end + 80] = np.resize([-30, -40, -32, -38, -30], 77)

    first, second = cut([*words, *later], CutSettings(max_seconds=7), heard, 12)

    assert words[-1].end <= first.end <= second.start < later[0].start


def test_a_noise_in_a_long_gap_belongs_to_no_clip():
    words = [*sentence("One two three four five."), *sentence("Six seven eight nine ten.", 8)]
    heard = heard_of([*words, Word("", 4.5, 5.5)], 11)

    first, second = cut(words, SETTINGS, heard, 11)

    assert first.end < 4.5
    assert second.start > 5.5


def test_nothing_said_is_nothing_cut():
    assert cut([], SETTINGS, NOTHING, 10) == []


def test_chinese_is_cut_and_written_without_spaces():
    words = [
        Word(sign, 0.3 * place, 0.3 * place + 0.28)
        for place, sign in enumerate("你好吗？我很好。" * 4)
    ]

    pieces = cut(words, CutSettings(max_seconds=5, target_seconds=3), NOTHING, 10, "zh")

    assert "".join(piece.text for piece in pieces) == "你好吗？我很好。" * 4
    assert all(piece.text[-1] in "？。" for piece in pieces)


def test_whispers_halves_of_a_number_stay_in_one_clip():
    words = sentence("so it is three metres and then a bit more or maybe less we think about")
    words += [Word(" 3", 6.8, 7.2), Word(".5", 7.6, 8.0)]
    words += sentence("metres of this and that and more", 8.1)

    pieces = cut(words, CutSettings(max_seconds=7.5), heard_of(words, 12), 12)

    assert any("3.5" in piece.text for piece in pieces)


# ---- Times that make no sense ----


def test_sane_times_stay_exactly_as_they_are():
    made = speak(5)

    assert put_in_order(made.words, made.seconds) == made.words


def test_one_wild_time_moves_one_word():
    words = sentence("a b c d e f g h")
    wild = [*words[:3], Word(" d", 900, 901), *words[4:]]

    placed = put_in_order(wild, 1000)

    assert [*placed[:3], *placed[4:]] == [*words[:3], *words[4:]]
    assert words[2].centre <= placed[3].start <= placed[3].end <= words[4].centre


TIMES = st.one_of(st.floats(-5, 60), st.sampled_from([0.0, 1.0, float("nan"), float("inf"), 1e9]))
TEXTS = st.text(alphabet=" ab.,!?。中5", max_size=5)
SILLY_WORDS = st.lists(st.builds(Word, TEXTS, TIMES, TIMES, st.floats(0, 1)), max_size=40)
CHOSEN = st.builds(
    CutSettings,
    max_seconds=st.floats(3, 30),
    min_seconds=st.floats(0.3, 2),
    target_seconds=st.floats(2, 3),
    sentences=st.integers(1, 5),
    pause_ms=st.integers(50, 2000),
    longest_pause_ms=st.integers(200, 5000),
    pad_ms=st.integers(0, 300),
    longest_edge_ms=st.integers(300, 2000),
)


@settings(max_examples=600, deadline=None)
@given(SILLY_WORDS, CHOSEN, st.floats(0, 60), st.integers(0, 6000), st.integers(0, 2**32))
def test_no_words_however_broken_are_lost_repeated_or_overlapped(
    words, chosen, seconds, steps, seed
):
    heard = np.random.default_rng(seed).uniform(-90, 0, steps).astype(np.float32)

    pieces = cut(words, chosen, heard, seconds)

    kept = [word for piece in pieces for word in piece.words]
    assert [word.text for word in kept] == [word.text for word in words]
    for left, right in pairwise(pieces):
        assert left.end <= right.start
    for piece in pieces:
        assert 0 <= piece.start <= piece.end <= seconds
        assert piece.end - piece.start <= chosen.max_seconds or len(piece.words) == 1


@settings(max_examples=500, deadline=None)
@given(SILLY_WORDS, st.floats(0, 60))
def test_times_put_in_order_never_run_backwards_and_stay_so(words, seconds):
    placed = put_in_order(words, seconds)

    times = [time for word in placed for time in (word.start, word.end)]
    assert times == sorted(times)
    assert all(0 <= time <= seconds for time in times)
    assert [word.text for word in placed] == [word.text for word in words]


# ---- Thousands of made-up speakers ----


def chosen_by(chance: random.Random) -> CutSettings:
    longest = chance.choice([4.0, 8.0, 11.0, 15.0])
    return CutSettings(
        max_seconds=longest,
        target_seconds=chance.uniform(2, longest),
        sentences=chance.randint(1, 3),
        pad_ms=chance.choice([0, 50, 100, 300]),
        longest_pause_ms=chance.choice([400, 1200, 3000]),
    )


@pytest.mark.parametrize("block", range(10))
def test_every_promise_holds_for_thousands_of_made_up_speakers(block):
    for seed in range(block * 200, block * 200 + 200):
        chance = random.Random(seed)
        made = speak(seed, chance.randint(1, 8), chance.uniform(5, 60), chance.random() < 0.8)
        chosen, hears = chosen_by(chance), chance.random() < 0.8

        pieces = cut(made.words, chosen, made.heard if hears else NOTHING, made.seconds)

        assert_promises(made.words, pieces, made.seconds, chosen)


def boundary_errors(
    made: Spoken, boundaries: list[tuple[float | None, float | None, int]]
) -> list[float]:
    """How far each boundary lies outside the true pause after the word with that number."""
    errors = []
    for end, start, last in boundaries:
        begin, stop = sorted((made.true[last][1], made.true[last + 1][0]))
        errors += [max(begin - t, t - stop, 0.0) for t in (end, start) if t is not None]
    return errors


def our_errors(made: Spoken) -> list[float]:
    boundaries, count = [], 0
    for left, right in pairwise(cut(made.words, SETTINGS, made.heard, made.seconds)):
        count += len(left.words)
        boundaries.append((left.end, right.start, count - 1))
    return boundary_errors(made, boundaries)


def their_errors(made: Spoken) -> list[float]:
    clips = list(baseline_cut(made.words, made.seconds))
    ends = [(clip.end, None, clip.last) for clip in clips if clip.last + 1 < len(made.true)]
    return boundary_errors(made, ends + [(None, c.start, c.first - 1) for c in clips if c.first])


@pytest.mark.parametrize("noise_db", [60, 30, 20, 10])
def test_cuts_lie_in_the_true_pauses_and_the_baselines_do_not(noise_db):
    recordings = [speak(seed, 20, noise_db) for seed in range(1000, 1040)]

    ours = np.concatenate([our_errors(made) for made in recordings]) * 1000
    theirs = np.concatenate([their_errors(made) for made in recordings]) * 1000

    # Measured, seeds 0 to 59: p95 0 ms (baseline 46), p99 20 to 28 (82), 0.4 to 0.6 % of boundaries
    # over 30 ms inside a word (8 %), nearly all in sentences too long that have no pause at all.
    assert np.percentile(ours, 95) <= 10 < 40 < np.percentile(theirs, 95)
    assert (ours > HARMLESS_S * 1000).mean() <= 0.015 < 0.05 < (theirs > HARMLESS_S * 1000).mean()


@pytest.mark.parametrize("pause", [0.3, 0.9, 1.6])
def test_a_text_that_came_whole_keeps_all_of_its_sound(pause):
    """The pause between its sentences is not its end."""
    first = sentence("one two.", 0.6)
    second = sentence("and the other one is longer.", first[-1].end + pause)
    seconds = second[-1].end + 1.0
    whole = Word("One two. And the other one is longer.", 0.5, second[-1].end + 0.1)

    [piece] = cut([whole], SETTINGS, heard_of([*first, *second], seconds), seconds)

    assert piece.start <= first[0].start and piece.end >= second[-1].end


def test_a_clip_does_not_end_inside_words_that_were_not_recognised():
    heard_words = [
        *sentence("one two three four five.", 1.0),
        *sentence("Six seven eight nine.", 5.0),
    ]
    unheard = sentence("and more", heard_words[4].end + 0.02, each=0.5, gap=0.02)
    seconds = heard_words[-1].end + 1.0
    heard = heard_of([*heard_words, *unheard], seconds)

    first, second = cut(heard_words, SETTINGS, heard, seconds)

    assert first.end >= unheard[-1].end
    assert second.start <= 5.0 and first.end <= second.start
