"""What was spoken wrongly is found, and what was spoken well is left alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from engines.base import Sound
from tests.voices.speaking.corpus import KINDS, OTHERS, bad, bundle, good, made, paces
from voices.speaking import loops
from voices.speaking.joining import bounded
from voices.speaking.judging import judge
from voices.speaking.pace import Pace, syllables, voiced_seconds


def kinds(case, usual=None):
    return {fault.kind for fault in judge(case.text, case.sound, usual or paces()[case.voice])}


def test_of_two_hundred_failures_nineteen_in_twenty_are_found():
    found = [(case.wrong, kinds(case)) for case in bad()]

    missed = Counter(wrong for wrong, told in found if not told)
    named = sum(wrong in told for wrong, told in found)
    assert len(found) == 200
    assert {wrong for wrong, _ in found} == set(KINDS)
    assert sum(missed.values()) <= 10, missed
    assert named >= 185


def test_of_two_hundred_good_sentences_one_in_fifty_at_most_is_suspected():
    suspected = [(case.text, kinds(case)) for case in good() if kinds(case)]

    assert len(good()) == 200
    assert len(suspected) <= 4, suspected


def test_noise_hum_clipping_and_broken_numbers_are_found_and_named():
    missed = [case.wrong for case in made(list(OTHERS), 80, 3) if case.wrong not in kinds(case)]

    assert len(missed) <= 4, missed


def test_of_a_voice_that_nobody_has_heard_yet_most_is_still_found():
    found = [bool(kinds(case, Pace())) for case in bad()[::4]]
    alarms = [bool(kinds(case, Pace())) for case in good()[::4]]

    assert np.mean(found) >= 0.7
    assert np.mean(alarms) <= 0.1


def test_sentences_that_the_pace_was_not_learned_from_are_judged_as_well():
    learned = {
        voice: Pace.of((case.text, case.sound) for case in bundle()[:25] if case.voice == voice)
        for voice in paces()
    }
    unheard = tuple(case.text for case in bundle()[25:])

    alarms = [bool(kinds(case, learned[case.voice])) for case in good() if case.text in unheard]
    found = [
        bool(kinds(case, learned[case.voice])) for case in bad() if case.text.endswith(unheard)
    ]

    assert min(len(alarms), len(found)) >= 30
    assert np.mean(alarms) <= 0.02
    assert np.mean(found) >= 0.9


def test_a_voice_that_always_stops_short_is_not_cut_each_time():
    cases = [case for case in bundle() if case.voice == "espeak"]

    assert paces()["espeak"].abrupt_db < paces()["rms"].abrupt_db
    assert [kinds(case) for case in cases] == [set()] * 8
    assert kinds(cases[0], paces()["rms"]) == {"cut"}


def test_every_reason_says_what_was_measured():
    for case in made(list(OTHERS), 8, 4) + bad()[:16]:
        for fault in judge(case.text, case.sound, paces()[case.voice]):
            assert fault.why.endswith(".")
            assert fault.weight > 0


def test_a_worse_fault_weighs_more():
    case = bundle()[0]
    parts = [case.sound.samples[: int(len(case.sound.samples) * share)] for share in (0.5, 0.2)]

    halves, fifths = (
        sum(fault.weight for fault in judge(case.text, Sound(part, 16000), paces()[case.voice]))
        for part in parts
    )

    assert 0 < halves < fifths


def test_what_says_itself_twice_in_the_text_may_do_so_in_the_sound():
    case = bundle()[3]
    twice = Sound(np.tile(bounded(case.sound), 2), 16000)
    sentence = case.text.rstrip("!")

    usual = Pace(paces()[case.voice].syllable_s, 0.3)

    assert "looped" in {fault.kind for fault in judge(f"{sentence} and much else", twice, usual)}
    assert judge(f"{sentence}, {sentence}!", twice, usual) == []


def test_a_loop_is_found_where_it_is_and_as_long_as_it_is():
    samples = bundle()[0].sound.samples
    stretch = samples[16000:28000]

    loop = loops.strongest(
        Sound(np.concatenate((samples[:28000], stretch, samples[28000:])), 16000)
    )

    assert loop.start_s == pytest.approx(1.0, abs=0.06)
    assert loop.lasts_s == pytest.approx(0.75, abs=0.03)
    assert loop.alike > 0.95


def test_a_loop_with_a_pause_in_it_is_found_too():
    one, other = (bounded(case.sound)[-8000:] for case in bundle()[5:7])
    stretch = np.concatenate((one, np.zeros(6000, np.float32), other, np.zeros(4000, np.float32)))
    begins = bounded(bundle()[0].sound)

    loop = loops.strongest(Sound(np.concatenate((begins, stretch, stretch, begins)), 16000))

    assert loop.lasts_s == pytest.approx(len(stretch) / 16000, abs=0.06)
    assert loop.alike > 0.9


@pytest.mark.parametrize("count", [0, 1, 5, 160, 800, 3000])
@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
def test_hardly_any_sound_is_judged_too(count, rate):
    samples = np.random.default_rng(count).standard_normal(count).astype(np.float32) * 0.1

    assert judge("Hello there, how are you?", Sound(samples, rate), Pace())


def test_another_sample_rate_changes_no_verdict():
    import soxr

    for case in [*bundle()[:5], *bad()[:8]]:
        other = Sound(soxr.resample(case.sound.samples, 16000, 24000).astype(np.float32), 24000)

        assert bool(judge(case.text, other, paces()[case.voice])) == bool(kinds(case)), case.text


# -- pace


def test_pace_is_learned_from_sentences_and_tells_how_long_others_take():
    for voice, pace in paces().items():
        cases = [case for case in bundle() if case.voice == voice]
        known = Pace.of((case.text, case.sound) for case in cases[:6])

        for case in cases[6:]:
            took = voiced_seconds(case.sound)
            assert abs(np.log(took / known.seconds(case.text))) < 3.5 * known.spread
        assert 0.1 < pace.syllable_s < 0.2


def test_a_few_bad_sentences_among_good_ones_do_not_spoil_the_pace():
    cases = [case for case in bundle() if case.voice == "rms"]
    pairs = [(case.text, voiced_seconds(case.sound)) for case in cases]

    spoilt = Pace.of_seconds([*pairs, ("A short one.", 20.0), ("And one that is cut off.", 0.1)])

    assert spoilt.syllable_s == pytest.approx(paces()["rms"].syllable_s, rel=0.05)


def test_with_few_sentences_more_is_allowed_and_with_none_any_pace_is():
    pairs = [("This takes about two seconds to say.", 2.0)]

    assert Pace.of_seconds(pairs).spread > Pace.of_seconds(pairs * 8).spread
    assert Pace.of([]) == Pace()


@pytest.mark.parametrize(
    "text",
    ["This is a short sentence.", "Это короткое предложение.", "这是一个短句子。", "これは短い文です。",
     "이것은 짧은 문장입니다.", "هذه جملة قصيرة جدا.", "यह एक छोटा वाक्य है।"],
)  # fmt: skip
def test_a_sentence_of_six_to_nine_syllables_counts_as_such_in_every_script(text):
    assert 5 <= syllables(text) <= 12
