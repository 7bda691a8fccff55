"""Each reference is listened to once, and told apart by what is in it."""

from __future__ import annotations

import numpy as np

from engines.base import Sound
from engines.references import KEPT, References


def sound(number, rate=8000):
    return Sound(np.full(10, number, np.float32), rate)


def listening():
    """References, and what they were asked to listen to."""
    asked = []
    return References(lambda heard: asked.append(heard) or len(asked)), asked


def test_the_same_sound_is_listened_to_once_even_when_it_was_read_again():
    references, asked = listening()

    found = [references.heard(sound(each)) for each in (1, 2, 1, 2)]

    assert found == [1, 2, 1, 2] and len(asked) == 2


def test_the_same_samples_at_another_rate_are_another_sound():
    references, asked = listening()

    references.heard(sound(1)), references.heard(sound(1, rate=16000))

    assert len(asked) == 2


def test_the_one_that_was_not_asked_for_longest_is_forgotten():
    references, asked = listening()
    for number in range(KEPT):
        references.heard(sound(number))

    references.heard(sound(0)), references.heard(sound(99)), asked.clear()

    references.heard(sound(0)), references.heard(sound(99))
    assert asked == []
    references.heard(sound(1))
    assert len(asked) == 1
