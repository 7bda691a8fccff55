"""What is said about a recording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from finetune.media.decoded import Decoded
from finetune.media.levels import Levels
from finetune.media.verdict import remarks, worst

CLEAR = Levels(
    peak_db=-3,
    clipped_share=0,
    rms_db=-22,
    loudness_lufs=-20,
    noise_db=-65,
    speech_db=-20,
    silence_share=0.3,
    dc_offset=0,
    bandwidth_hz=18000,
)


def recording(seconds=600, notes=(), lost=0.0, **levels):
    measured = replace(CLEAR, **levels)
    return Decoded(seconds, 44100, 44100, 1, "wav", "pcm_s16le", measured, lost, tuple(notes))


def test_a_clear_recording_is_praised_with_its_numbers():
    [remark] = remarks(recording())

    assert remark.verdict == "good"
    assert remark.sentence == "Clear: 44.1 kHz, -20 LUFS, pauses 45 dB below the voice."


@pytest.mark.parametrize(
    ("change", "verdict", "said"),
    [
        ({"loudness_lufs": -40}, "look", "too quiet (-40 LUFS"),
        ({"loudness_lufs": -60}, "bad", "too quiet"),
        ({"clipped_share": 0.001}, "look", "clipped: 0.10% of it"),
        ({"clipped_share": 0.02}, "bad", "clipped"),
        ({"peak_db": 6}, "look", "6.0 dB beyond full scale"),
        ({"noise_db": -38}, "look", "only 18 dB quieter"),
        ({"noise_db": -30}, "bad", "noisy"),
        ({"silence_share": 0.95}, "look", "sound in 30 s of it"),
        ({"bandwidth_hz": 3500}, "bad", "telephone: there is nothing above 3.5 kHz"),
        ({"bandwidth_hz": 5500}, "look", "muffled"),
        ({"dc_offset": -0.1}, "look", "around zero"),
        ({"seconds": 1.0}, "look", "very short (1.0 s)"),
        ({"seconds": 0.2}, "bad", "very short"),
        ({"peak_db": -120}, "bad", "nothing but silence"),
        ({"notes": ["It was cut off."], "lost": 1}, "look", "It was cut off."),
        ({"notes": ["It was cut off."], "lost": 300}, "bad", "It was cut off."),
    ],
)
def test_one_fault_is_one_remark(change, verdict, said):
    [remark] = remarks(recording(**change))

    assert remark.verdict == verdict
    assert said in remark.sentence


def test_the_worst_comes_first_and_decides():
    said = remarks(recording(noise_db=-30, loudness_lufs=-40, notes=["It has 2 sound tracks."]))

    assert [remark.verdict for remark in said] == ["bad", "look", "look"]
    assert worst(said) == "bad"


def test_of_silence_only_that_is_said():
    [remark] = remarks(recording(peak_db=-90, loudness_lufs=-70, noise_db=-95, speech_db=-94))

    assert remark.sentence == "There is nothing but silence in it."
