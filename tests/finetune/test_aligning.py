"""Word times of a known text without a Whisper: on likelihoods made by hand, and on real speech."""

from __future__ import annotations

import random
import re
import tracemalloc

import numpy as np
import pytest
import soundfile

from engines.errors import TextError
from engines.pocket.facts import PHONES
from engines.pocket.phones import PAUSE_NUMBER
from finetune import aligning, following
from finetune.aligning import Frames, problems_of, reads_as_english, word_times, words_of
from finetune.following import follow, runs, track_of
from finetune.hearing.speech import stretches
from finetune.jobs.worker import StopWork
from finetune.words import Word
from tests import speech
from tests.finetune.aligning_truth import phone_errors

FRAME_S = 0.016


# ---- Likelihoods made by hand ----


def heard_as(*said):
    """Frames of certain sounds: pairs of a sound's number and how many frames it lasts."""
    sounds = np.repeat([number for number, _ in said], [count for _, count in said])
    likely = np.full((len(sounds), len(PHONES)), -8.0, np.float32)
    likely[np.arange(len(sounds)), sounds] = -0.1
    return likely


def sounds_of(words, each=4):
    return [(int(sound), each) for word in words for spoken in word for sound in spoken]


def words(count, seed=1, length=5):
    chance = random.Random(seed)
    return [
        (np.array([chance.randrange(2, len(PHONES)) for _ in range(length)]),) for _ in range(count)
    ]


def placed(heard, text):
    track = track_of(text)
    return {
        number: (first, last) for number, first, last in runs(track.words[follow(heard, track)])
    }


def pause(frames):
    return (PAUSE_NUMBER, frames)


def test_each_word_has_the_frames_in_which_its_sounds_are_likely_and_a_pause_is_no_words():
    text = words(3)

    heard = heard_as(
        pause(10), *sounds_of(text[:1]), *sounds_of(text[1:2]), pause(300), *sounds_of(text[2:])
    )

    assert placed(heard, text) == {0: (10, 30), 1: (30, 50), 2: (350, 370)}


def test_speech_that_is_not_in_the_text_is_no_words_and_the_words_around_it_stay():
    text, other = words(6), words(12, seed=2)

    heard = heard_as(*sounds_of(text[:3]), *sounds_of(other), *sounds_of(text[3:]))

    found = placed(heard, text)
    assert [*found] == [0, 1, 2, 3, 4, 5]
    assert abs(found[2][1] - 60) <= 2 and abs(found[3][0] - 300) <= 2


@pytest.mark.parametrize("silence", [0, 40])
def test_text_that_is_not_spoken_has_no_frames_and_the_words_around_it_stay(silence):
    text = words(30)

    heard = heard_as(*sounds_of(text[:10]), pause(silence), *sounds_of(text[25:]))

    found = placed(heard, text)
    assert [*found] == [*range(10), *range(25, 30)]
    assert abs(found[25][0] - 200 - silence) <= 2


def test_a_text_that_ends_before_the_recording_or_goes_on_behind_it_is_found_as_far_as_it_goes():
    text = words(40)

    short = placed(heard_as(*sounds_of(text), *sounds_of(words(30, seed=3))), text[:12])
    long = placed(heard_as(*sounds_of(text[:12])), text)

    assert [*short] == [*long] == [*range(12)]


def test_one_written_word_may_be_several_spoken_ones_with_pauses_between():
    year = (np.array([5, 6, 7]), np.array([8, 9]), np.array([10, 11, 12]))
    before, after = words(2)

    heard = heard_as(
        *sounds_of([before]), (5, 4), (6, 4), (7, 4), pause(30), (8, 4), (9, 4),
        (10, 4), (11, 4), (12, 4), *sounds_of([after]),
    )  # fmt: skip

    assert placed(heard, [before, year, after])[1] == (20, 82)


def test_settling_the_way_portion_by_portion_comes_to_the_same(monkeypatch):
    for seed in range(6):
        chance = random.Random(seed)
        text = words(60, seed)
        said = []
        for number in range(60):
            if chance.random() < 0.9:
                said += sounds_of(text[number : number + 1], chance.randint(1, 6))
            if chance.random() < 0.2:
                said += [pause(chance.randint(1, 40))]
            if chance.random() < 0.05:
                said += sounds_of(words(chance.randint(1, 8), seed + 99))
        heard = heard_as(*said)
        heard += np.random.default_rng(seed).normal(0, 1, heard.shape).astype(np.float32)
        track = track_of(text)

        monkeypatch.setattr(following, "_PORTION", 100_000)
        whole = follow(heard, track)
        monkeypatch.setattr(following, "_PORTION", 600)
        portions = follow(heard, track)

        assert np.array_equal(whole, portions), seed


def test_memory_does_not_grow_with_the_square_of_the_length():
    text = words(700)
    heard = heard_as(*sounds_of(text))  # 4 minutes

    track = track_of(text)
    tracemalloc.start()
    states = follow(heard, track)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(set(track.words[states].tolist()) - {-1}) == 700
    assert peak < 60e6  # 98 MB when nothing is settled


def test_no_word_reaches_over_a_long_gap_it_is_where_more_of_it_is():
    [token] = aligning.tokens_of([(1, "Nothing")])
    heard = heard_as(*sounds_of([token.sounds]))
    late = np.arange(len(heard)) * FRAME_S + np.where(np.arange(len(heard)) < 8, 0.0, 30.0)

    [word] = aligning._placed([token], Frames(heard, late), lambda done: None)

    assert 30.0 < word.start < word.end < 31.0 and word.text == " Nothing"


def test_a_word_is_probable_where_its_sounds_are_likely_and_not_where_they_are_not():
    tokens = aligning.tokens_of([(1, "Nothing else matters")])
    right = heard_as(*sounds_of([token.sounds for token in tokens]))
    wrong = right.copy()
    middle = slice(4 * len(tokens[0].sounds[0]), -4 * len(tokens[2].sounds[0]))
    wrong[middle, 2:] = np.roll(wrong[middle, 2:], 1, axis=1)
    times = np.arange(len(right)) * FRAME_S

    sure = aligning._placed(tokens, Frames(right, times), lambda done: None)
    unsure = aligning._placed(tokens, Frames(wrong, times), lambda done: None)

    assert min(word.probability for word in sure) > 0.95
    assert unsure[1].probability < 0.4 < min(unsure[0].probability, unsure[2].probability)


# ---- The text ----


@pytest.mark.parametrize(
    "lines",
    [
        ("Hello, world.", "It is  fine."),
        ("— and gone!", "one - two", "wait—what, Dr. Brown?"),
        ("In 1995 he paid $3.50", "* * *", "to the 2nd man."),
        ("…", "A “quoted” word (so to say)."),
    ],
)
def test_no_sign_of_the_text_is_lost_and_every_word_brings_the_space_before_it(lines):
    found = aligning.tokens_of([*enumerate(lines, 1)])

    assert "".join(token.text for token in found) == "".join(f" {line}" for line in lines)
    assert all(any(len(sounds) for sounds in token.sounds) for token in found)


def test_a_year_is_one_word_of_its_text_and_several_spoken():
    found = aligning.tokens_of([(7, "In 1995")])

    assert [(token.text, token.line, len(token.sounds)) for token in found][1] == (" 1995", 7, 3)


ENGLISH = "The quiet of the garden and the old man's patience had drawn it out of him."
GERMAN = "Die Stille des Gartens und die Geduld des alten Mannes hatten es ihm entlockt."
FRENCH = "Le silence du jardin et la patience du vieil homme l'avaient fait sortir de lui."


def test_english_is_told_from_its_neighbours():
    assert reads_as_english(ENGLISH)
    assert not any(map(reads_as_english, (GERMAN, FRENCH, "Он не собирался говорить.", "…", "")))


@pytest.mark.parametrize(
    ("text", "told"),
    [(GERMAN, "does not read as English"), ("… —", "nothing in “… —” that can be spoken")],
)
def test_a_text_that_cannot_be_laid_over_says_why(tmp_path, text, told):
    laid = words_of(silence(tmp_path), [(3, text)], [(0.5, 1.5)])

    assert laid.words == ()
    assert laid.problems[0].number == 3 and told in laid.problems[0].sentence


def test_a_recording_in_which_nobody_speaks_is_a_problem(tmp_path):
    laid = words_of(silence(tmp_path), [(1, ENGLISH)], [])

    assert [problem.sentence for problem in laid.problems] == ["Nobody speaks here."]


def test_a_take_of_nothing_is_an_error_with_a_remedy():
    with pytest.raises(TextError, match="nothing in “—”") as caught:
        word_times(np.zeros(16_000, np.float32), 16_000, "—")

    assert "English" in caught.value.fix


def silence(folder):
    path = folder / "silence.wav"
    soundfile.write(path, np.zeros(32_000), 16_000)
    return path


def test_what_did_not_fit_is_told_from_the_words_alone():
    lines = [(2, "One two three."), (4, "Four five six."), (5, "Seven eight nine.")]
    found = [
        Word(f" {text}", at, at + 0.5, 0.9) for at, text in enumerate(["One", "two", "three."])
    ]
    found += [Word(f" {text}", at, at + 0.5, 0.1)
              for at, text in enumerate(["Seven", "eight", "nine."], 10)]  # fmt: skip

    told = problems_of(lines, found, [(0.0, 2.5), (4.0, 8.0), (10.0, 12.5)])

    assert [(problem.number, problem.sentence) for problem in told] == [
        (2, "After this line, from 4.0 to 8.0 s, something is spoken that the text does not have."),
        (4, "From here it is not spoken: “Four five six.”."),
        (5, "“Seven eight nine.”, at 10.0 s, is probably not what is spoken there: listen to it."),
    ]


# ---- Real speech ----


def of_voice(*voices):
    return [said for said in speech.bundled() if said.voice in voices]


def spoken(folder, samples):
    path = folder / "spoken.wav"
    soundfile.write(path, samples, speech.RATE)
    return path, [span for stretch in stretches(path) for span in stretch.spans]


def numbered(truth):
    return [(line, sentence.text) for line, sentence in enumerate(truth, 1)]


def off_by(found, truth):
    """How far off each word begins; the texts must be the same, word by word."""
    wanted = [word for sentence in truth for word in sentence.words]
    assert [word.text.strip() for word in found] == [word.text for word in wanted]
    return np.abs([word.start - true.start for word, true in zip(found, wanted, strict=True)])


PAUSES = (0.1, 3.0, 0.4, 1.0)


def test_words_of_a_voice_it_was_not_taught_begin_within_25_ms_of_the_truth(tmp_path):
    samples, truth = speech.joined(of_voice("rms"), PAUSES)
    path, spans = spoken(tmp_path, samples)

    laid = words_of(path, numbered(truth), spans)

    off = off_by(laid.words, truth)
    assert off.mean() <= 0.025 and off.max() <= 0.3
    assert laid.problems == ()
    assert np.mean([word.probability for word in laid.words]) >= 0.87


@pytest.mark.skipif(not speech.installed(), reason="flite speaks these sentences")
def test_93_of_100_sounds_of_a_voice_it_was_not_taught_begin_within_32_ms():
    chance = random.Random(8)

    off = np.abs(phone_errors(speech.sentence(chance) for _ in range(15)))

    assert len(off) > 300 and off.mean() <= 0.02
    assert np.mean(off <= 0.032) >= 0.93


@pytest.mark.parametrize("music", [False, True])
def test_in_noise_or_with_music_beneath_every_word_is_in_its_place(tmp_path, music):
    samples, truth = speech.joined(speech.bundled()[:20], PAUSES, noise_db=20, music=music)
    path, spans = spoken(tmp_path, samples)

    laid = words_of(path, numbered(truth), spans)

    off = off_by(laid.words, truth)
    assert off.mean() <= 0.05 and np.mean(off <= 0.3) >= 0.99


def test_a_sentence_that_is_missing_and_one_too_many_leave_the_others_right(tmp_path):
    samples, truth = speech.joined(speech.bundled()[:12], PAUSES, noise_db=30)
    path, spans = spoken(tmp_path, samples)
    not_spoken = "A purple elephant juggled seven violins in the old library."
    lines = numbered(truth)
    del lines[7]
    lines.insert(3, (100, not_spoken))

    laid = words_of(path, lines, spans)

    # All but the neighbours of the two faults, whose edges are in doubt.
    for sentence in (*truth[:2], *truth[4:6], *truth[9:]):
        near = [w for w in laid.words if sentence.start - 0.3 < w.start < sentence.end]
        assert off_by(near, [sentence]).max() <= 0.3
    assert len(laid.words) >= sum(len(s.words) for s in truth[:7] + truth[8:]) - 3
    told = [(problem.number, problem.sentence) for problem in laid.problems]
    assert any(number == 100 and "it is not spoken" in said for number, said in told)
    times = [re.findall(r"from ([\d.]+) to ([\d.]+) s", said) for _, said in told]
    [(start, end)] = [each for found in times for each in found]
    assert truth[6].end - 0.1 < float(start) < truth[7].start + 0.3
    assert truth[7].end - 0.3 < float(end) < truth[8].start + 0.1


def test_another_text_is_nowhere_found_and_that_is_told(tmp_path):
    samples, _ = speech.joined(of_voice("rms", "slt")[:8], PAUSES)
    path, spans = spoken(tmp_path, samples)
    other = [(1, ENGLISH), (2, "Nobody could say why the lighthouse burned, or who paid its oil.")]

    laid = words_of(path, other, spans)

    assert len(laid.words) <= 5
    assert any("not spoken" in problem.sentence for problem in laid.problems)


def test_it_tells_how_far_it_is_and_stops_when_asked(tmp_path):
    samples, truth = speech.joined(of_voice("rms")[:4], PAUSES)
    path, spans = spoken(tmp_path, samples)
    told = []

    words_of(path, numbered(truth), spans, lambda done, total: told.append((done, total)))

    done = [each for each, _ in told]
    assert done == sorted(done) and told[-1][0] == told[-1][1] and len({t for _, t in told}) == 1
    with pytest.raises(StopWork):
        words_of(path, numbered(truth), spans, stop=lambda: True)


def test_a_take_has_its_words_at_any_rate_and_loudness():
    [said, *_] = of_voice("rms")
    louder = np.repeat(said.samples, 3) * 4

    found = word_times(louder, 3 * speech.RATE, said.text)

    assert "".join(word.text for word in found).strip() == said.text
    assert np.mean([abs(w.start - t.start) for w, t in zip(found, said.words, strict=True)]) < 0.04
