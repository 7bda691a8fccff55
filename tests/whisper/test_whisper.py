"""The tiny Whisper is a real one: it transcribes sentences it was never trained on."""

import itertools
import re
import time
from pathlib import Path
from random import Random

import numpy as np
import pytest
from faster_whisper import BatchedInferencePipeline

from tests import speech
from tests.whisper import grammar, hearing

PADDING_S = 0.3

needs_voices = pytest.mark.skipif(
    not speech.installed(), reason="flite and espeak-ng are not installed"
)


@pytest.fixture(scope="module")
def model():
    return hearing.load()


@pytest.fixture(scope="module")
def bundled():
    return speech.bundled()


@pytest.fixture(scope="module")
def heard(model, bundled):
    """What it hears in each bundled sentence, with a little silence around it."""
    padding = round(PADDING_S * speech.RATE)
    padded = [np.pad(said.samples, padding) for said in bundled]
    return [list(model.transcribe(sound, **hearing.OPTIONS)[0]) for sound in padded]


@pytest.fixture(scope="module")
def clean(bundled):
    """All bundled sentences in one recording: its samples, and the truth about it."""
    return speech.joined(bundled, gaps=[0.6, 1.2, 0.9])


def test_every_voice_of_the_bundle_is_understood(bundled, heard):
    wrong, total = dict.fromkeys(speech.VOICES, 0), dict.fromkeys(speech.VOICES, 0)
    for said, segments in zip(bundled, heard, strict=True):
        words = [word.text for word in hearing.words_of(segments)]
        wrong[said.voice] += hearing.word_errors([word.text for word in said.words], words)
        total[said.voice] += len(said.words)

    assert sum(wrong.values()) / sum(total.values()) <= 0.05
    assert max(wrong[voice] / total[voice] for voice in speech.VOICES) <= 0.1


def test_a_transcript_has_the_signs_and_the_capitals_of_its_sentences(bundled, heard):
    wanted = [said.text for said in bundled]

    texts = ["".join(segment.text for segment in segments).strip() for segments in heard]

    exact = sum(text == true for text, true in zip(texts, wanted, strict=True))
    assert exact >= 0.85 * len(wanted)
    assert {text[-1] for text in wanted} == {".", "?", "!"} == {text[-1] for text in texts}


def test_most_words_start_within_a_twentieth_of_a_second(bundled, heard):
    late = []
    for said, segments in zip(bundled, heard, strict=True):
        words = hearing.words_of(segments)
        if len(words) == len(said.words):
            # Not the first: Whisper gives it the silence before the sentence.
            pairs = list(zip(words, said.words, strict=True))[1:]
            late += [abs(word.start - PADDING_S - true.start) for word, true in pairs]

    assert np.median(late) <= 0.05
    assert np.quantile(late, 0.9) <= 0.15


def test_clips_of_a_recording_give_its_words_in_order_and_in_their_sentences(model, clean):
    samples, truth = clean
    edges = [edge for span in hearing.speech_spans(samples) for edge in span.values()]

    words = hearing.words_of(model.transcribe(samples, clip_timestamps=edges, **hearing.OPTIONS)[0])

    assert hearing.error_rate(truth, words) <= 0.05
    assert all(a.start <= b.start for a, b in itertools.pairwise(words))
    inside = [
        sentence.start <= (word.start + word.end) / 2 <= sentence.end
        for word, _, sentence in hearing.matched(truth, words)
    ]
    assert np.mean(inside) >= 0.98


def test_its_own_vad_gives_the_same_words_in_short_windows(model, clean):
    samples, truth = clean

    segments, _ = BatchedInferencePipeline(model).transcribe(
        samples, batch_size=8, chunk_length=8, vad_parameters=hearing.VAD, **hearing.OPTIONS
    )

    # Windows of several sentences are harder for so small a model; of 30 s, half is wrong.
    assert hearing.error_rate(truth, hearing.words_of(segments)) <= 0.12


def test_a_batch_is_understood_with_noise_as_without(model, bundled):
    samples, truth = speech.joined(bundled, gaps=[0.6, 1.2, 0.9], noise_db=20)
    spans = hearing.speech_spans(samples)

    segments, _ = BatchedInferencePipeline(model).transcribe(
        samples, batch_size=8, vad_filter=False, clip_timestamps=spans, **hearing.OPTIONS
    )

    assert hearing.error_rate(truth, hearing.words_of(segments)) <= 0.05


def test_transcribing_is_faster_than_listening(model, clean):
    samples, _ = clean
    spans = hearing.speech_spans(samples)
    started = time.perf_counter()

    list(
        BatchedInferencePipeline(model).transcribe(
            samples, batch_size=8, vad_filter=False, clip_timestamps=spans, **hearing.OPTIONS
        )[0]
    )

    # 20 to 40 times on one quiet core; a test machine may be busy with other things.
    assert len(samples) / speech.RATE / (time.perf_counter() - started) >= 3


def test_nothing_bundled_was_trained_on(bundled):
    assert all(grammar.is_held_out(said.text) for said in bundled)
    assert len({said.text for said in bundled}) == len(bundled) >= 40


def test_a_gap_is_silent_from_word_to_word(bundled):
    samples, truth = speech.joined(bundled[:6], gaps=[0.5, 1.0])

    for before, after in itertools.pairwise(truth):
        middle = round((before.end + after.start) / 2 * speech.RATE)
        assert np.abs(samples[middle - 1600 : middle + 1600]).max() < 0.01
    gaps = [after.start - before.end for before, after in itertools.pairwise(truth)]
    assert gaps == pytest.approx([0.5, 1.0, 0.5, 1.0, 0.5])


def test_noise_lies_as_far_below_the_speech_as_asked(bundled):
    quiet, _ = speech.joined(bundled[:6], gaps=[0.5])
    noisy, _ = speech.joined(bundled[:6], gaps=[0.5], noise_db=20)

    level = np.sqrt(np.mean((noisy - quiet) ** 2))
    assert 20 * np.log10(0.08 / level) == pytest.approx(20, abs=0.5)


def test_every_word_of_the_grammar_is_in_the_vocabulary():
    words, rng = grammar.surface_words(), Random(1)

    for _ in range(2000):
        for word in grammar.sentence(rng, held_out=rng.random() < 0.5).split():
            known = {word, word.rstrip(".,?!")} & words
            assert known or re.fullmatch(r"\d\.\d", word), word


def test_the_shipped_model_is_a_few_megabytes():
    sizes = {path.name: path.stat().st_size for path in Path(hearing.MODEL).iterdir()}

    assert {"model.bin", "config.json", "tokenizer.json"} <= set(sizes)
    assert sum(sizes.values()) < 4_000_000


@needs_voices
@pytest.mark.parametrize("voice", speech.VOICES)
def test_a_voice_says_every_word_of_a_sentence_in_order(voice):
    text = "Yes, Dr. Brown was 3.5 miles from the bridge."

    samples, words = speech.speak(text, voice)

    assert [word.text for word in words] == text.split()
    assert all(a.end <= b.start + 1e-6 for a, b in itertools.pairwise(words))
    assert 0 <= words[0].start < words[-1].end <= len(samples) / speech.RATE


@needs_voices
def test_a_sentence_nobody_bundled_is_understood_too(model):
    samples, truth = speech.recording([speech.sentence(Random(7))], [0], voices=["slt"])

    words = hearing.words_of(
        model.transcribe(samples, vad_filter=True, vad_parameters=hearing.VAD, **hearing.OPTIONS)[0]
    )

    assert hearing.error_rate(truth, words) <= 0.1
