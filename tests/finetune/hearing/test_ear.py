"""What the tiny Whisper of the tests hears through the ear."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys

import numpy as np
import pytest
from faster_whisper.transcribe import Segment
from faster_whisper.transcribe import Word as Piece

from engines.errors import AudioError, EngineError, SettingsError
from finetune.hearing import ear as ears
from finetune.hearing.ear import Ear, likeliest, next_size
from finetune.hearing.speech import RATE, Stretch, stretches, windows
from finetune.jobs.worker import StopWork
from finetune.settings import HearSettings
from tests import speech
from tests.conftest import ROOT
from tests.finetune.hearing.test_speech import saved
from tests.whisper import hearing

SETTINGS = HearSettings(window_seconds=8)


@pytest.fixture(scope="module")
def ear():
    return Ear(hearing.MODEL, SETTINGS, threads=1)


@pytest.fixture(scope="module")
def spoken():
    return speech.joined(speech.bundled()[:20], gaps=[0.6, 1.2, 0.9])


@pytest.fixture(scope="module")
def found(spoken, tmp_path_factory):
    return [*stretches(saved(tmp_path_factory.mktemp("copies") / "copy.flac", spoken[0]), 0, 25)]


@pytest.fixture(scope="module")
def heard(ear, found):
    return [listen(ear, stretch) for stretch in found]


def listen(ear, stretch, told=lambda seconds: None, stop=lambda: False):
    return ear.listen(stretch, "en", told, stop)


def whole(words):
    """Whisper's pieces as the words of the truth: " 3" and ".5" are one."""
    pieces = [Piece(word.start, word.end, word.text, word.probability) for word in words]
    return hearing.words_of([segment(pieces)])


def segment(pieces, slot=0, logprob=-0.2, text=None):
    """What faster-whisper gives for the window in a slot of a batch."""
    text = "".join(piece.word for piece in pieces) if text is None else text
    seek = slot * ears._SLOT_SECONDS * 100
    return Segment(0, seek, 0.0, 1.0, text, [], logprob, 1.0, 0.0, pieces, 0.0)


def test_a_recording_is_understood_stretch_by_stretch(spoken, heard):
    words = whole(itertools.chain(*heard))

    assert len(heard) >= 2
    assert hearing.error_rate(spoken[1], words) <= 0.03


def test_words_lie_in_their_sentences_and_start_where_they_are_said(spoken, heard):
    matched = hearing.matched(spoken[1], whole(itertools.chain(*heard)))

    late = [abs(word.start - true.start) for word, true, _ in matched]
    inside = [s.start <= (word.start + word.end) / 2 <= s.end for word, _, s in matched]
    assert np.median(late) <= 0.04
    assert np.mean(inside) >= 0.99


def test_words_keep_the_space_before_them(heard):
    texts = [word.text for words in heard for word in words]

    assert np.mean([text.startswith(" ") for text in texts]) > 0.8
    assert all(text == " " + text.strip() or not text.startswith(" ") for text in texts)


def test_words_lie_inside_their_windows_in_order(found, heard):
    for stretch, words in zip(found, heard, strict=True):
        held = windows(stretch.spans, SETTINGS.window_seconds)

        assert all(a.start <= b.start for a, b in itertools.pairwise(words))
        for word in words:
            assert word.start <= word.end
            assert any(start <= word.start and word.end <= end for start, end in held)
            assert 0 < word.probability <= 1


def test_what_is_heard_does_not_depend_on_what_is_heard_with_it(found, heard):
    one_by_one = Ear(hearing.MODEL, SETTINGS, threads=1, most_at_once=1)

    for stretch, words in zip(found, heard, strict=True):
        again = listen(one_by_one, stretch)

        assert [word.text for word in again] == [word.text for word in words]
        times = [
            [edge for word in each for edge in (word.start, word.end)] for each in (again, words)
        ]
        assert times[0] == pytest.approx(times[1], abs=0.021)


def test_words_are_placed_in_the_recording_wherever_the_stretch_begins(ear, found, heard):
    first = found[0]
    spans = tuple((start + 3600.123, end + 3600.123) for start, end in first.spans)
    later = Stretch(3600.123, first.end + 3600.123, spans, first.samples)

    words = listen(ear, later)

    assert [word.text for word in words] == [word.text for word in heard[0]]
    starts = [word.start - 3600.123 for word in words]
    assert starts == pytest.approx([word.start for word in heard[0]], abs=1e-6)


def test_how_far_it_is_rises_batch_by_batch_to_the_end_of_the_stretch(found):
    told = []
    ear = Ear(hearing.MODEL, SETTINGS, threads=1, most_at_once=2)

    listen(ear, found[1], told.append)

    assert len(told) >= 2
    assert told == sorted(told)
    assert found[1].start < told[0] < told[-1] == found[1].end


def test_a_wish_to_stop_is_noticed_between_two_batches(found):
    ear, told = Ear(hearing.MODEL, SETTINGS, threads=1, most_at_once=1), []

    with pytest.raises(StopWork, match="Stopped while listening"):
        listen(ear, found[0], told.append, stop=lambda: bool(told))

    assert len(told) == 1


def test_a_wish_to_stop_is_noticed_before_anything_is_heard_again(
    pipeline, monkeypatch, ear, found
):
    monkeypatch.setattr(pipeline, "logprob", -1.4)
    monkeypatch.setattr(pipeline, "heard", [Piece(40.0, 41.0, " hm", 0.1)])
    alone = Stretch(0.0, found[0].end, found[0].spans[:1], found[0].samples)

    with pytest.raises(StopWork):
        listen(ear, alone, stop=lambda: bool(pipeline.asked))


def test_where_nobody_speaks_nothing_is_heard(ear):
    told = []

    words = listen(ear, Stretch(5.0, 9.0, (), np.zeros(4 * RATE, np.float32)), told.append)

    assert words == []
    assert told == [9.0]


def test_the_shortest_span_and_a_silent_one_do_no_harm(ear, found):
    quiet = Stretch(0.0, 20.0, ((0.0, 0.03), (9.0, 17.0)), np.zeros(20 * RATE, np.float32))

    words = listen(ear, quiet)

    assert all(0 <= word.start <= word.end <= 17 for word in words)


def test_speech_without_a_pause_is_heard_in_several_windows(ear):
    samples, truth = speech.joined(speech.bundled()[:8], gaps=[0.25])
    stretch = Stretch(0.0, len(samples) / RATE, ((0.5, len(samples) / RATE),), samples)

    words = whole(listen(ear, stretch))

    assert hearing.error_rate(truth, words) <= 0.1


@pytest.mark.parametrize("settings", [{"hot_words": "Anna, Lisbon"}, {"prompt": "Anna is here."}])
def test_what_helps_to_spell_does_not_hinder(settings, found):
    ear = Ear(hearing.MODEL, HearSettings(window_seconds=8, **settings), threads=1)

    assert len(listen(ear, found[0])) > 10


def test_a_prompt_that_leaves_no_room_is_refused():
    with pytest.raises(SettingsError, match="room for 224") as caught:
        Ear(hearing.MODEL, HearSettings(prompt="is here " * 150, hot_words="Anna, " * 50))

    assert "shorter" in caught.value.fix


class Pipeline:
    """A pipeline that hears the same in every window, or has memory for two of them."""

    heard = ()
    logprob = -0.2
    room = 100
    asked = options = None

    def __init__(self, model):
        self.model = model

    def transcribe(self, sound, clip_timestamps, **options):
        self.asked.append(len(clip_timestamps))
        self.options.append(options)
        if len(clip_timestamps) > self.room:
            raise RuntimeError("CUDA failed with error out of memory")
        said = [
            segment(self.heard, slot, logprob=self.logprob)
            for slot in range(1, len(clip_timestamps) + 1)
        ]
        return iter(said), None


@pytest.fixture
def pipeline(monkeypatch):
    monkeypatch.setattr("faster_whisper.BatchedInferencePipeline", Pipeline)
    monkeypatch.setattr(Pipeline, "asked", [])
    monkeypatch.setattr(Pipeline, "options", [])
    return Pipeline


def test_whisper_is_told_what_the_settings_say(pipeline):
    settings = HearSettings(hot_words=" Zoë ", prompt="Like this.", beam_size=2)

    listen(Ear(hearing.MODEL, settings), many_windows(1))
    listen(Ear(hearing.MODEL, HearSettings()), many_windows(1))

    keys = ("hotwords", "initial_prompt", "beam_size", "without_timestamps")
    told = [tuple(options[key] for key in keys) for options in pipeline.options]
    assert told == [("Zoë", "Like this.", 2, False), (None, None, 5, False)]


def test_words_outside_their_window_are_brought_inside(pipeline, monkeypatch, ear):
    pieces = [Piece(39.5, 40.2, " early", 0.9), Piece(42.0, 47.0, " late", 0.9)]
    monkeypatch.setattr(pipeline, "heard", pieces)
    stretch = Stretch(10.0, 20.0, ((12.0, 15.0),), np.zeros(10 * RATE, np.float32))

    words = listen(ear, stretch)

    assert [(word.text, word.start, word.end) for word in words] == [
        (" early", 12.0, pytest.approx(12.2)),
        (" late", 14.0, 15.0),
    ]


def many_windows(count):
    spans = tuple((10.0 * at, 10.0 * at + 5) for at in range(count))
    return Stretch(0.0, 10.0 * count, spans, np.zeros(10 * count * RATE, np.float32))


def test_as_many_windows_as_there_is_memory_for_are_heard_at_once(pipeline, monkeypatch):
    monkeypatch.setattr(pipeline, "heard", [Piece(80.0, 81.0, " yes", 0.9)])
    monkeypatch.setattr(pipeline, "room", 2)
    ear = Ear(hearing.MODEL, SETTINGS, most_at_once=16)

    words = listen(ear, many_windows(9))

    assert len(words) == 9
    assert pipeline.asked == [1, 2, 4, 2, 2, 2]


def test_no_memory_for_a_single_window_says_what_to_do(pipeline, monkeypatch):
    monkeypatch.setattr(pipeline, "room", 0)

    with pytest.raises(EngineError, match="out of memory") as caught:
        listen(Ear(hearing.MODEL, SETTINGS), many_windows(3))

    assert "choose a smaller model" in caught.value.fix


def test_what_loops_is_heard_again_in_smaller_pieces_and_the_better_kept(
    pipeline, monkeypatch, ear, found, heard
):
    loop = [Piece(40 + at / 10, 40 + at / 10, " and then", 0.5) for at in range(60)]
    monkeypatch.setattr(pipeline, "heard", loop)

    words = listen(ear, found[0])

    assert " and then" not in [word.text for word in words]
    wrong = hearing.word_errors([w.text for w in heard[0]], [w.text for w in words])
    assert wrong <= 0.05 * len(words)
    assert all(a.start <= b.start for a, b in itertools.pairwise(words))


def test_what_is_guessed_is_heard_again(pipeline, monkeypatch, ear, found, heard):
    monkeypatch.setattr(pipeline, "heard", [Piece(40.0, 41.0, " hm", 0.1)])
    monkeypatch.setattr(pipeline, "logprob", -1.4)

    words = listen(ear, found[0])

    assert " hm" not in [word.text for word in words]
    assert len(words) >= 0.95 * len(heard[0])


def test_what_is_heard_again_no_better_stays(pipeline, monkeypatch, ear, found):
    monkeypatch.setattr(pipeline, "heard", [Piece(40.0, 41.0, " hm", 0.1)])
    monkeypatch.setattr(pipeline, "logprob", -1.4)
    monkeypatch.setattr(
        ear._model,
        "transcribe",
        lambda *given, **options: ([segment([Piece(0.0, 1.0, " uh", 0.1)], logprob=-2.0)], None),
    )

    words = listen(ear, found[0])

    assert {word.text for word in words} == {" hm"}


@pytest.fixture(scope="module")
def again(ear):
    """Noise for which it makes up words, heard again twice."""
    noise = 0.1 * np.random.default_rng(1).standard_normal(8 * RATE).astype(np.float32)
    stretch = Stretch(0.0, 8.0, ((0.5, 7.5),), noise)
    return [ear._hear_again(stretch, (0.5, 7.5), "en") for _ in range(2)]


def test_hearing_again_gives_the_same_each_time(again):
    assert again[0] == again[1]


def test_what_is_heard_again_has_no_loops(again):
    texts = [word.text for word in again[0].words]

    fives = [tuple(texts[at : at + 5]) for at in range(len(texts) - 4)]
    assert len(fives) == len(set(fives))


@pytest.mark.parametrize(
    ("heard", "size", "seconds", "expected"),
    [
        (1, 1, 0.1, 2),
        (2, 2, 1.9, 4),
        (4, 4, 2.1, 4),
        (8, 8, 0.1, 8),
        (4, 4, 4.1, 2),
        (1, 1, 60.0, 1),
        (1, 4, 0.1, 4),
    ],
)
def test_batches_grow_while_they_are_quick_and_shrink_when_they_are_slow(
    heard, size, seconds, expected
):
    assert next_size(heard, size, seconds, most=8) == expected


def test_an_english_model_hears_english(ear):
    assert not ear.multilingual
    assert ear.language([np.zeros(RATE, np.float32)]) == ("en", 1.0)


def test_an_english_model_refuses_another_language(ear, found):
    with pytest.raises(SettingsError, match="English only") as caught:
        ear.listen(found[0], "de", lambda seconds: None, lambda: False)

    assert "many languages" in caught.value.fix


def test_a_model_for_many_languages_is_asked_window_by_window(monkeypatch, ear):
    answers = iter([("en", 0.6, [("en", 0.6), ("fr", 0.4)]), ("fr", 1.0, [("fr", 1.0)])])
    monkeypatch.setattr(Ear, "multilingual", True)
    monkeypatch.setattr(ear._model, "detect_language", lambda samples: next(answers))

    assert ear.language([np.zeros(RATE)] * 2) == ("fr", pytest.approx(0.7))


def test_a_language_that_the_model_has_no_sign_for_is_refused(monkeypatch, ear, found):
    monkeypatch.setattr(Ear, "multilingual", True)

    with pytest.raises(SettingsError, match="does not know the language 'english'"):
        ear.listen(found[0], "english", lambda seconds: None, lambda: False)


def test_the_language_is_the_one_that_all_windows_speak_for():
    windows = [[("en", 0.6), ("de", 0.4)], [("de", 0.9), ("en", 0.1)], [("de", 0.5), ("nl", 0.5)]]

    assert likeliest(windows) == ("de", pytest.approx(0.6))


def test_where_nobody_speaks_there_is_no_language():
    with pytest.raises(AudioError, match="Nobody speaks") as caught:
        likeliest([])

    assert "Choose the language" in caught.value.fix


def test_a_folder_without_a_model_says_what_is_missing(tmp_path):
    for name in ("model.bin", "tokenizer.json"):
        folder = shutil.copytree(hearing.MODEL, tmp_path / name)
        (folder / name).unlink()

        with pytest.raises(EngineError, match=f"has no {name}") as caught:
            Ear(folder, SETTINGS)

        assert "Download the model again" in caught.value.fix


@pytest.mark.parametrize("content", [b"", b"hello", None, b"\xff" * 4096])
@pytest.mark.parametrize("name", ["model.bin", "tokenizer.json", "config.json"])
def test_a_broken_model_is_said_to_be_broken(name, content, tmp_path):
    folder = shutil.copytree(hearing.MODEL, tmp_path / "model")
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2] if content is None else content)

    with pytest.raises(EngineError, match="could not be loaded") as caught:
        Ear(folder, SETTINGS)

    assert caught.value.fix


def test_a_model_with_the_settings_of_another_is_refused_before_it_listens(tmp_path):
    folder = shutil.copytree(hearing.MODEL, tmp_path / "model")
    (folder / "preprocessor_config.json").write_text('{"feature_size": 128}')

    with pytest.raises(EngineError, match=r"preprocessor_config.json of the Whisper model model"):
        Ear(folder, SETTINGS)


def test_a_precision_that_the_machine_lacks_says_what_to_choose():
    with pytest.raises(EngineError, match="float16") as caught:
        Ear(hearing.MODEL, SETTINGS, compute_type="float16")

    assert "int8" in caught.value.fix


def test_a_gpu_that_is_not_there_says_to_use_the_cpu():
    import ctranslate2

    if ctranslate2.get_cuda_device_count():
        pytest.skip("there is a GPU")

    with pytest.raises(EngineError, match="could not be loaded") as caught:
        Ear(hearing.MODEL, SETTINGS, device="cuda")

    assert "CPU" in caught.value.fix


def test_our_own_mistakes_keep_their_traceback(pipeline, monkeypatch, ear, found):
    monkeypatch.setattr(pipeline, "transcribe", lambda *given, **options: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        listen(ear, found[0])


def test_listening_loads_no_torch_and_importing_loads_nothing():
    code = """if True:
        import sys
        from pathlib import Path
        import finetune.hearing.ear, finetune.hearing.speech
        heavy = {"faster_whisper", "ctranslate2", "onnxruntime", "soundfile", "av", "torch"}
        print(*heavy & set(sys.modules), "then")
        from finetune.settings import HearSettings
        finetune.hearing.ear.Ear(Path(sys.argv[1]), HearSettings())
        print(*{"torch", "transformers"} & set(sys.modules))"""

    done = subprocess.run(
        [sys.executable, "-c", code, str(hearing.MODEL)], cwd=ROOT, capture_output=True, text=True
    )

    assert done.stdout.split() == ["then"], done.stderr
