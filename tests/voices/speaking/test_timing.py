"""Speech fits the times of subtitles, or it is said what does not."""

from __future__ import annotations

import numpy as np
import pytest

from engines.base import Sound
from tests.voices.speaking.corpus import bundle, paces
from voices.speaking.judging import judge
from voices.speaking.scripts import Part
from voices.speaking.stretching import stretched
from voices.speaking.timing import QUICKEST, placed


def cue(start, end):
    return Part(7, "Hello.", start_s=start, end_s=end)


def test_what_fits_begins_at_its_time_as_it_comes():
    place = placed(cue(2.0, 5.0), natural_s=2.5, free_from_s=1.0)

    assert (place.at_s, place.pace, place.ends_s, place.note) == (2.0, 1.0, 4.5, "")


def test_what_is_a_little_long_is_said_quicker_and_keeps_the_gap():
    place = placed(cue(2.0, 4.0), natural_s=2.4, free_from_s=0.0)

    assert place.pace == pytest.approx(1.2)
    assert (place.ends_s, place.note) == (pytest.approx(4.0), "")


def test_what_is_far_too_long_runs_on_and_is_told_with_its_line():
    place = placed(cue(2.0, 3.0), natural_s=4.0, free_from_s=0.0)

    assert place.pace == QUICKEST
    assert place.ends_s == pytest.approx(2.0 + 4.0 / QUICKEST)
    assert place.note.startswith("Line 7: it ends 2.0 s late")


def test_the_one_after_it_waits_and_says_so_and_time_is_made_up_for():
    late = placed(cue(3.0, 5.0), natural_s=1.5, free_from_s=4.0)

    assert late.at_s == 4.0
    assert late.pace == QUICKEST
    assert "begins 1.0 s late" in late.note


def test_parts_without_times_follow_each_other():
    assert placed(Part(1, "Hello."), 2.0, free_from_s=3.0).ends_s == 5.0


@pytest.mark.parametrize("pace", [0.8, 1.0, 1.2, QUICKEST])
def test_stretched_speech_lasts_as_long_as_it_should_at_the_same_pitch(pace):
    t = np.arange(32000) / 16000
    tone = Sound((0.3 * np.sin(2 * np.pi * 123 * t)).astype(np.float32), 16000)

    other = stretched(tone, pace)

    assert other.seconds == pytest.approx(2.0 / pace, abs=0.01)
    middle = other.samples[4000:-4000]
    strongest = np.argmax(np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 1 << 18)))
    assert strongest * 16000 / (1 << 18) == pytest.approx(123, abs=1.5)
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.3 / np.sqrt(2), rel=0.05)


def test_stretched_speech_is_still_spoken_well():
    for case in bundle()[:10]:
        quick = stretched(case.sound, 1.15)

        steps = [np.percentile(np.abs(np.diff(each.samples)), 99.9) for each in (case.sound, quick)]
        assert judge(case.text, quick, paces()[case.voice]) == []
        assert steps[1] < 1.2 * steps[0]
