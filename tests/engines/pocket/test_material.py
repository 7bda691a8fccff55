"""The corpus a base is taught with."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from engines.pocket.facts import HOP, PAUSE, PHONES, RATE
from engines.pocket.phones import sounds_of
from engines.pocket.pretrain import material
from engines.pocket.pretrain.corpus import sentences
from engines.pocket.pretrain.material import (
    SPEEDS,
    Portion,
    frames_of,
    load,
    portions,
    taught_by,
)
from engines.pocket.pretrain.teachers import TEACHERS, Said
from tests.engines.pocket.small import hum


@pytest.mark.parametrize("seed", range(300))
def test_frames_of_sounds_fill_the_clip_and_leave_none_without(seed):
    chance = np.random.default_rng(seed)
    sounds = int(chance.integers(1, 40))
    frames = int(chance.integers(sounds, 4 * sounds + 2))
    ends = np.sort(chance.uniform(-0.3, 1.3 * frames * HOP / RATE, sounds))

    found = frames_of(ends, frames)

    assert len(found) == sounds
    assert found.sum() == frames
    assert (found >= 1).all()


def test_sounds_that_last_long_enough_end_where_they_were_said_to():
    ends = np.array([0.2, 0.5, 0.58, 1.0])

    found = frames_of(ends, 63)

    assert np.abs(np.cumsum(found) - ends * RATE / HOP).max() <= 0.5
    assert ends.tolist() == [0.2, 0.5, 0.58, 1.0]


@pytest.mark.parametrize("count", [7, 100, 33 * 13 + 9, 1500, 9000])
def test_every_text_is_dealt_out_once(count):
    dealt = [text for portion in portions(count, seed=1) for text in portion.texts]

    assert sorted(dealt) == sorted(sentences(count, 1))


def test_teachers_say_their_shares_in_files_of_a_hundred():
    every = list(portions(1500, seed=1))

    assert [each.number for each in every] == [*range(len(every))]
    assert all(0 < len(each.texts) <= 100 for each in every)
    for teacher in TEACHERS:
        own = [len(each.texts) for each in every if each.teacher == teacher]
        assert sum(own) == pytest.approx(1500 * teacher.share, abs=1)
        assert own[:-1] == [100] * (len(own) - 1)
    assert sum(teacher.share for teacher in TEACHERS) == pytest.approx(1)


def test_the_same_seed_deals_the_same():
    assert list(portions(150, 3)) == list(portions(150, 3)) != list(portions(150, 4))


# ---- One sentence ----

TEXT = "The red dog ran."


def said(before=0.5, each=0.1, text=TEXT):
    """A sentence whose sounds are hums of two pitches in turn, in silence."""
    phones = [PHONES[number] for number in sounds_of(text).rows[:, 0]]
    spoken = [hum(150 if at % 2 else 205, each) for at in range(len(phones) - 2)]
    silence = np.zeros(int(before * RATE), np.float32)
    ends = before + each * np.arange(len(phones) - 1)
    return Said(
        text,
        np.concatenate([silence, *spoken, silence]),
        tuple(phones),
        (*ends.tolist(), float(ends[-1] + before)),
    )


@pytest.mark.parametrize(("up", "down"), SPEEDS)
def test_a_sentence_at_any_speed_has_its_sounds_where_they_are_heard(up, down):
    found = taught_by(said(), up, down)

    assert np.array_equal(found["rows"], sounds_of(TEXT).rows)
    ends = np.cumsum(found["durations"])
    assert ends[-1] == len(found["mels"]) == len(found["voiced"]) == len(found["pitch"])
    # A tenth of a second of silence at both ends, whatever the speed.
    assert ends[0] == pytest.approx(0.1 * RATE / HOP, abs=1.5)
    assert found["durations"][-1] == pytest.approx(0.1 * RATE / HOP, abs=2)
    np.testing.assert_allclose(np.diff(ends)[:-1], 0.1 * up / down * RATE / HOP, atol=1)
    for at, (start, end) in enumerate(pairwise(ends[:-1]), 1):
        middle = slice(start + 2, end - 2)
        wanted = (205 if at % 2 else 150) * down / up
        assert np.exp(np.median(found["pitch"][middle])) == pytest.approx(wanted, rel=0.03)


def test_a_sentence_that_is_another_than_its_text_is_left_out():
    one = said()

    other = Said("Nothing of this kind was ever spoken.", one.samples, one.phones, one.ends)

    assert taught_by(other, 1, 1) is None


@pytest.mark.parametrize(("text", "each"), [("Yes.", 0.01), (TEXT, 0.9)])
def test_too_short_and_too_long_sentences_are_left_out(text, each):
    assert taught_by(said(each=each, text=text), 1, 1) is None


def test_sounds_that_only_one_synthesiser_has_are_those_they_sound_like():
    one = said(text="It better be.")
    phones = tuple({"t": "dx", "ih": "ix", PAUSE: "h#"}.get(each, each) for each in one.phones)
    assert phones != one.phones

    found = taught_by(Said(one.text, one.samples, phones, one.ends), 1, 1)

    assert np.array_equal(found["rows"], taught_by(one, 1, 1)["rows"])


# ---- On disk ----


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A corpus of one portion, said by nobody: its folder, and what was said."""
    texts = ("The red dog ran.", "We were here again.", "All of them know the way home.")
    portion = Portion(0, TEACHERS[0], texts)
    monkeypatch.setattr(material, "portions", lambda count, seed: iter([portion]))
    spoken = [said(text=text) for text in texts]
    monkeypatch.setattr(material, "say", lambda teacher, texts, folder: spoken)
    material._make(tmp_path, portion, seed=1)
    return tmp_path, spoken


@pytest.mark.parametrize("with_samples", [False, True])
def test_what_was_written_is_read_again(written, with_samples):
    folder, spoken = written

    found = load(folder, 3, 1, with_samples)

    assert len(found) == 6
    assert [each.name for each in folder.iterdir()] == ["corpus-0000.safetensors"]
    for place, taught in enumerate(found):
        teacher, speed = taught.voice.split()
        assert teacher == TEACHERS[0].name
        assert (SPEEDS[int(speed)] == (1, 1)) == (place % 2 == 0)
        wanted = taught_by(spoken[place // 2], *SPEEDS[int(speed)])
        assert ("samples" in taught.features) == with_samples
        for name, values in taught.features.items():
            assert np.array_equal(values, wanted[name]), name
            assert values.dtype == wanted[name].dtype


def test_no_text_is_both_learned_and_checked(written):
    folder, _ = written

    learned, checked = set(), set()
    for place, taught in enumerate(load(folder, 3, 1)):
        (checked if taught.is_check else learned).add(place // 2)

    assert checked and not learned & checked


def test_a_file_whose_sentences_all_fail_is_written_too(tmp_path, monkeypatch):
    portion = Portion(0, TEACHERS[0], ("Yes.",))
    monkeypatch.setattr(material, "say", lambda *asked: [said(each=0.01, text="Yes.")])

    material._make(tmp_path, portion, seed=1)

    assert (tmp_path / "corpus-0000.safetensors").exists()
