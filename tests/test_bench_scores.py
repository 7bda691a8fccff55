"""What is measured of datasets: the scores notice each thing that can be wrong with a clip."""

from __future__ import annotations

import io
import math
from contextlib import closing
from dataclasses import replace

import pytest
import soundfile

from finetune.jobs import queue
from finetune.transcript import Values
from finetune.words import Word
from tests import speech
from tests.bench import (
    dataset,
    dataset_corpus,
    long,
    store,
    studios,
    trainer,
    trainer_clips,
    work,
)
from tests.bench.dataset_scores import Clip, Said, aligned, errors, score, together
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Settings
from tests.bench.trainer_task import Found
from tests.stores import OpenTranscript

NAME = "one.wav"
# Two sentences: words of 0.4 s without a gap, a pause from 2.2 to 3.0 s between them.
TRUTH = [
    *(Said(text, 1.0 + 0.4 * at, 1.4 + 0.4 * at) for at, text in enumerate(("Dr.", "Hill", "was"))),
    *(
        Said(text, 3.0 + 0.4 * at, 3.4 + 0.4 * at)
        for at, text in enumerate(("3.5", "miles", "on."))
    ),
]
RECOGNISED = [said.text for said in TRUTH]
GOOD = [Clip(NAME, 0.9, 2.3, "Dr. Hill was"), Clip(NAME, 2.9, 4.3, "3.5 miles on.")]


def changed(number, **changes):
    """The good clips, but for one."""
    return [replace(clip, **changes) if at == number else clip for at, clip in enumerate(GOOD)]


def scored(clips, recognised=RECOGNISED):
    return score(clips, recognised, TRUTH)


def test_clips_that_are_right_have_nothing_wrong():
    found = scored(GOOD)

    assert (found.cut, found.lost, found.repeated, found.unheard) == ((), (), (), ())
    assert (found.errors, found.words) == (0, 6)
    assert found.boundary_ms(0.5) == found.boundary_ms(1) == 0


def test_the_order_of_the_clips_does_not_matter():
    assert scored(GOOD[::-1]) == scored(GOOD)


# ---- Words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "cut"),
    [(2.3, ()), (2.2, ()), (2.195, ()), (2.185, ("was",)), (2.0, ("was",)), (3.015, ("3.5",))],
)
def test_a_word_with_an_edge_inside_it_is_cut_but_for_its_first_and_last_10_ms(end, cut):
    assert scored([replace(GOOD[0], end=end), replace(GOOD[1], start=max(2.9, end))]).cut == cut


def test_a_start_cuts_a_word_too_and_two_edges_in_it_cut_it_once():
    assert scored(changed(1, start=3.2)).cut == ("3.5",)
    assert scored([replace(GOOD[0], end=2.0), replace(GOOD[1], start=2.0)]).cut == ("was",)


def test_a_recognised_word_in_no_text_is_lost():
    assert scored(changed(1, text="3.5 miles")).lost == ("on.",)
    assert scored(changed(0, text="Dr. was")).lost == ("Hill",)
    assert scored(GOOD[:1]).lost[:3] == ("3.5", "miles", "on.")


def test_a_recognised_word_whose_sound_is_in_no_clip_is_lost():
    assert scored(changed(1, end=3.75)).lost == ("on.",)


def test_a_word_that_was_never_recognised_is_not_lost_but_unheard():
    found = scored(changed(1, text="3.5 miles", end=3.75), RECOGNISED[:-1])

    assert (found.lost, found.unheard, found.errors) == ((), ("on.",), 1)


def test_a_cut_word_that_was_never_recognised_is_counted_and_told_apart():
    clips = changed(0, text="Dr. Hill", end=2.0)

    unheard = scored(clips, [word for word in RECOGNISED if word != "was"])

    assert (unheard.cut, unheard.unheard_cut) == (("was",), ("was",))
    assert (scored(clips).cut, scored(clips).unheard_cut) == (("was",), ())


def test_a_word_in_two_texts_is_repeated():
    assert scored(changed(1, text="was 3.5 miles on.")).repeated == ("was",)


def test_a_word_whose_sound_is_in_two_clips_is_repeated():
    assert scored(changed(1, start=1.9)).repeated == ("was",)


def test_a_word_said_twice_and_written_twice_is_neither_lost_nor_repeated():
    truth = [Said("No.", 1, 1.4), Said("No.", 1.5, 1.9)]

    found = score([Clip(NAME, 0.9, 2, "No. No.")], ["No.", "No."], truth)

    assert (found.lost, found.repeated) == ((), ())


def test_a_word_in_another_form_is_lost_in_one_and_too_many_in_the_other():
    found = scored(changed(0, text="Doctor Hill was"))

    assert (found.lost, found.repeated, found.errors) == (("Dr.",), ("Doctor",), 1)


# ---- Edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "off_ms"), [(2.2, 0), (2.6, 0), (3.0, 0), (2.15, 50), (3.1, 100), (1.2, 1000)]
)
def test_an_edge_is_as_far_off_as_it_is_outside_the_pause_between_its_texts(end, off_ms):
    edges = scored(changed(0, end=end)).edges

    assert [edge.off_ms for edge in edges] == pytest.approx([0, off_ms, 0, 0])


def test_an_edge_in_a_pause_that_is_not_its_own_is_off():
    # The text says that "3.5" begins the second clip, and it begins before "was".
    found = scored([replace(GOOD[0], end=1.8), replace(GOOD[1], start=1.8)])

    assert [round(edge.off_ms) for edge in found.edges] == [0, 400, 400, 0]
    assert found.edges[1].between == "was | 3.5"


def test_a_clip_may_begin_long_before_the_first_word_and_end_long_after_the_last():
    found = scored([replace(GOOD[0], start=0), replace(GOOD[1], end=9)])

    assert found.boundary_ms(1) == 0


def test_words_nobody_recognised_may_go_to_either_side_of_an_edge():
    clips = [replace(GOOD[0], text="Dr. Hill", end=1.8), GOOD[1]]

    edges = score(clips, ["Dr.", "Hill", "3.5", "miles", "on."], TRUTH).edges

    assert [edge.off_ms for edge in edges] == [0, 0, 0, 0]


def test_a_share_of_the_edges_leaves_out_the_worst():
    found = scored(changed(0, end=1.2))

    assert [found.boundary_ms(share) for share in (0.5, 0.75)] == [0, 0]
    assert found.boundary_ms(0.95) == found.boundary_ms(1) == pytest.approx(1000)
    assert math.isnan(scored([]).boundary_ms(0.5))


# ---- Texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heard", "wrong"),
    [
        ("the old boat", 0),
        ("The old boat!", 0),
        ("the cold boat", 1),
        ("the boat", 1),
        ("the very old boat", 1),
        ("", 3),
        ("a cold goat now", 4),
    ],
)
def test_word_errors_are_wrong_missing_and_added_words(heard, wrong):
    assert errors(heard.split(), ["The", "old", "boat."]) == wrong


def test_words_are_paired_in_order_also_wrong_ones():
    assert aligned(["a", "b", "x", "d"], ["a", "c", "d"])[-1] == (3, 2)
    assert aligned(["a", "x", "c"], ["a", "b", "c"]) == [(0, 0), (1, 1), (2, 2)]
    assert aligned(["a"], []) == []


def test_scores_of_several_recordings_are_added():
    bad = scored(changed(0, end=2.0, text="Dr. Hill was was"))
    both = together([bad, scored(GOOD[:1], RECOGNISED[:3]), bad])

    assert both.cut == ("was", "was")
    assert both.repeated == ("was", "was")
    assert (both.errors, both.words, len(both.edges)) == (5, 18, 10)
    assert len(both.unheard) == 3
    assert both.word_error == pytest.approx(5 / 18)


# ---- What is spoken ------------------------------------------------------------------------------


def test_the_500_sentences_are_different_and_have_numbers_and_abbreviations():
    texts = dataset_corpus.texts()

    assert len({*texts}) == len(texts) == 500
    assert texts == dataset_corpus.texts()
    for wanted in ("Dr. ", "Mr. ", "Mrs. ", "counted ", "?", "!", ", and "):
        assert sum(wanted in text for text in texts) >= 5, wanted
    assert sum(any(sign.isdigit() for sign in text) for text in texts) >= 30


def test_every_condition_that_is_promised_is_there():
    found = dataset_corpus.conditions()

    assert len({condition.file for condition in found}) == len(found) == 16
    assert {condition.noise_db for condition in found} == {None, 30, 20, 10}
    assert {voice for condition in found for voice in condition.voices} == {*speech.VOICES}
    assert sum(condition.music for condition in found) == 2
    assert sum(len(condition.voices) == 2 for condition in found) == 2
    assert {condition.rate for condition in found} == {16_000, 22_050, 44_100}


@pytest.mark.skipif(not speech.installed(), reason="flite and espeak-ng are not installed")
def test_what_was_spoken_once_is_kept_with_its_truth(tmp_path, monkeypatch):
    two_speakers = dataset_corpus.conditions()[-2:-1]
    (spoken,) = dataset_corpus.gathered(tmp_path, 4, only=two_speakers)
    monkeypatch.setattr(dataset_corpus, "utter", None)

    (again,) = dataset_corpus.gathered(tmp_path, 4, only=two_speakers)

    assert again == spoken
    assert [sentence.voice for sentence in spoken.sentences] == ["rms", "slt", "rms", "slt"]
    gaps = [b.start - a.end for a, b in zip(spoken.sentences, spoken.sentences[1:], strict=False)]
    assert all(0.1 <= gap <= 2 for gap in gaps)
    assert spoken.seconds == pytest.approx(spoken.words[-1].end + 1, abs=0.01)


def test_no_folder_is_kept_where_nothing_can_speak(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_corpus.speech, "installed", lambda: False)

    with pytest.raises(dataset_corpus.CannotMeasure, match="not installed"):
        dataset_corpus.gathered(tmp_path, 4, only=dataset_corpus.conditions()[:1])

    assert [*tmp_path.iterdir()] == []


# ---- A large store -------------------------------------------------------------------------------


def test_differences_are_clips_changed_added_or_gone():
    one, other = Values("r", 0, 1, "one"), Values("r", 1, 2, "two")

    assert store.differences({1: one, 2: other}, {1: one, 2: other}) == 0
    assert store.differences({1: one, 2: other}, {1: replace(one, text="on"), 3: other}) == 3


def test_a_few_edits_of_a_large_store_are_undone_exactly(monkeypatch):
    monkeypatch.setattr(store, "CLIPS", 200)

    figures = store.BENCHMARK.measure(Settings(rounds=40), Progress(io.StringIO())).figures

    assert figures["clips_changed"] > 20
    assert figures["undo_differences"] == figures["redo_differences"] == 0


def test_an_undo_that_does_not_bring_all_back_is_noticed(tmp_path):
    store.fill(tmp_path / "project.db", 200)

    class Forgetful(OpenTranscript):
        def undo(self):
            self.forgot = getattr(self, "forgot", 0) + 1
            return None if self.forgot == 1 else super().undo()

    with closing(Forgetful(tmp_path / "project.db")) as transcript:
        figures = store.measure_edits(transcript, 5, Progress(io.StringIO()))

    assert figures["undo_differences"] > 0


# ---- A long recording ----------------------------------------------------------------------------


def test_a_long_recording_has_the_length_that_was_asked_for(tmp_path):
    seconds = long.write_recording(tmp_path / "long.flac", 0.1)

    assert seconds == soundfile.info(tmp_path / "long.flac").duration == 360


def test_pieces_that_changed_or_are_gone_are_lost_and_overlaps_are_done_twice():
    one, two = long.Piece(1, 0, 30, "[]"), long.Piece(1, 30, 55, "[]")

    assert (long.lost([one, two], [one, two]), long.done_twice([one, two])) == (0, 0)
    assert long.lost([one, two], [one, replace(two, words="[1]")]) == 1
    assert long.done_twice([one, replace(one, hearing=2), two]) == 1


def test_a_watched_job_tells_its_memory_and_its_longest_silence():
    with studios.short_lived_workspace() as workspace:
        folder = queue.submit(workspace, work.request("talk", 3, 0.7, 0)).folder

        seen = long.watch(folder, folder.outcome)

    assert 0.6 < seen.longest_silence_s < seen.took_s
    assert 10 < seen.peak_mb < 1000


# ---- The build, and the way of the studios before ------------------------------------------------


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    """Two minutes are many for a test: the first sentences of the bundle."""
    said = speech.bundled()[:4]
    samples, truth = speech.joined(said, gaps=[0.7, 1.1])
    path = tmp_path_factory.mktemp("spoken") / "one.wav"
    soundfile.write(path, samples, speech.RATE)
    condition = dataset_corpus.conditions()[0]
    return dataset_corpus.Spoken(condition, path, tuple(truth), len(samples) / speech.RATE)


def test_the_old_way_writes_every_part_and_clip_and_reads_every_clip_twice(spoken, tmp_path):
    from tests.bench import baseline_build

    made = baseline_build.build([spoken.path], tmp_path)

    assert len(made.clips) == len(made.validated) >= 3
    assert len([*tmp_path.rglob("clip-*.wav")]) == len(made.clips)
    assert len([*tmp_path.rglob("part-*.wav")]) >= 3
    phases = ["load", "decode", "detect", "write", "transcribe", "validate"]
    assert [*made.seconds] == phases and min(made.seconds.values()) > 0
    assert made.took == pytest.approx(sum(made.seconds.values()))
    found = score(made.clips, [], [Said(*word) for word in spoken.words])
    assert found.word_error < 0.3


def built_of(spoken, late=0.0):
    """A build that knows the truth, or is so many seconds late at every edge."""
    name, built = spoken.path.name, dataset.Built()
    built.words[name] = [Word(f" {word.text}", word.start, word.end) for word in spoken.words]
    for each in spoken.sentences:
        built.clips.append(Clip(name, each.start - 0.1 + late, each.end + 0.1 + late, each.text))
    return built


def clip_figures(spoken, built):
    return dataset._measure_clips([spoken], built, None, Progress(io.StringIO()))


def test_true_clips_keep_every_promise_and_late_ones_none(spoken):
    true = clip_figures(spoken, built_of(spoken))
    late = clip_figures(spoken, built_of(spoken, late=0.9))

    limits = [each for each in dataset.BENCHMARK.figures if each.limit and each.name != "speedup"]
    assert [each.holds(true.figures) for each in limits] == [True] * 5
    missed = {each.name for each in limits if not each.holds(late.figures)}
    assert missed >= {"words_cut", "boundary_ms_p50", "boundary_ms_p95"}
    assert true.notes == () and any("cut" in note for note in late.notes)
    assert true.figures["baseline_words_lost"] == late.figures["baseline_words_lost"] == 0


def test_a_clip_less_is_words_lost_and_one_more_is_words_repeated(spoken):
    less, more = built_of(spoken), built_of(spoken)
    less.clips.pop()
    more.clips.append(more.clips[-1])

    assert clip_figures(spoken, less).figures["words_lost"] > 0
    assert clip_figures(spoken, more).figures["words_repeated"] > 0


# ---- Two trainers --------------------------------------------------------------------------------


def learned(speed, gpu_mb=0.0, **others):
    return Found(speed, speed, padding=0.05, host_peak_mb=1000, gpu_peak_mb=gpu_mb, **others)


def holding(figures):
    """Of the promises about these figures, which are kept."""
    held = {each.name: each.holds(figures) for each in trainer.BENCHMARK.figures}
    return {name: holds for name, holds in held.items() if holds is not None}


def test_coqui_is_taken_with_the_loaders_it_was_faster_with():
    found = {
        "coqui_0": [learned(5), learned(5), learned(9)],
        "coqui_2": [learned(4), learned(6), learned(6)],
        "ours": [learned(12), learned(12), learned(24)],
    }

    figures = trainer.side_by_side(found, 96, "").figures

    assert (figures["coqui_workers"], figures["clips_per_s_coqui"]) == (2, 6)
    # Round by round: 3, 2 and 4 times.
    assert (figures["clips_per_s_ours"], figures["clips_per_s_ratio"]) == (12, 3)


def test_what_is_slow_pads_or_loses_clips_misses_its_limit():
    good = {"coqui_0": [learned(5)], "ours": [learned(10)]}
    bad = {"coqui_0": [learned(6)], "ours": [replace(learned(11), padding=0.1, missing=1, twice=2)]}

    assert set(holding(trainer.side_by_side(good, 96, "").figures).values()) == {True}
    assert set(holding(trainer.side_by_side(bad, 96, "").figures).values()) == {False}
    assert trainer.side_by_side(bad, 96, "_all_cores").figures["clips_twice_all_cores"] == 2


def test_preparing_clips_counts_once_in_a_usual_run():
    # 10 epochs of 96 clips: 192 s against 96 s and 4 s.
    assert trainer.with_features(10, 5, clips=96, feature_s=4) == pytest.approx(1.92)


def test_what_does_not_fit_on_a_gpu_is_a_line_and_no_figure():
    rows = {"coqui_fp32": "OOM", "coqui_mixed": learned(20, 9000), "ours": learned(40, 3000)}

    measured = trainer.table_row(16, rows)

    assert measured.notes == ("coqui_fp32, batch 16: OOM",)
    assert holding(measured.figures) == {"ratio_mixed_b16": True}
    assert measured.figures["ours_b16_gpu_mb"] == 3000


def test_on_a_gpu_ours_is_measured_against_both_of_coquis_precisions():
    rows = {"coqui_fp32": learned(10, 8000), "coqui_mixed": learned(25, 7000)}

    fast = trainer.table_row(2, {**rows, "ours": learned(40, 4000)}).figures
    slow = trainer.table_row(2, {**rows, "ours": learned(29, 4100)}).figures

    limits = ("ratio_fp32_b2", "memory_share_b2", "ratio_mixed_b2")
    assert [holding(fast)[name] for name in limits] == [True] * 3
    assert [holding(slow)[name] for name in limits] == [False] * 3


def test_a_part_for_a_gpu_is_refused_without_one():
    with pytest.raises(CannotMeasure, match="with --gpu"):
        trainer.measure(Settings(parts=("batch4",)), Progress(io.StringIO()))


def test_clips_last_1_to_11_seconds_and_most_of_them_less_than_6(tmp_path):
    trainer_clips.write(tmp_path / "clips", 12, seed=1)

    drawn = trainer_clips.lengths(1000)
    assert min(drawn) >= 1 and max(drawn) == 11 and sorted(drawn)[500] == pytest.approx(4.5, 0.1)
    for (path, text), wanted in zip(
        trainer_clips.read(tmp_path / "clips"), trainer_clips.lengths(12, seed=1), strict=True
    ):
        assert wanted - 1 < soundfile.info(path).duration <= wanted + 0.01
        assert text and soundfile.info(path).samplerate == 22050


def test_clips_that_an_epoch_leaves_out_or_repeats_are_counted():
    seen = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 0), (1, 2)]

    assert trainer_clips.over(trainer_clips.whole_epochs(seen), 3) == (1, 1)
    assert trainer_clips.over(trainer_clips.whole_epochs(seen[:3]), 3) == (0, 0)


def test_padding_is_what_the_network_computes_beside_texts_and_codes():
    class Block:
        def register_forward_pre_hook(self, hook):
            self.hook = hook

    class Rows:
        def __init__(self, *shape):
            self.shape = shape

    block = Block()
    rows = trainer_clips.Rows(block)
    rows.need(150)
    block.hook(block, (Rows(2, 137, 64),))

    # Of 2 rows of 100 positions beside the 37 that every row has, 150 are needed.
    assert rows.padding == 0.25
