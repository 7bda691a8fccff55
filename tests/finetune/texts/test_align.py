"""The script's spelling with the recording's times, and not a word lost on the way."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest

from finetune.texts.align import align
from finetune.texts.units import units_of
from finetune.words import Word, join_words


def heard(*words, pace=0.4, gap=0.1):
    """Words recognised one after the other; None is speech that the recogniser missed."""
    spoken = []
    for at, text in enumerate(words):
        start = at * (pace + gap)
        if text is not None:
            spoken.append(Word(f" {text}", start, start + pace))
    return spoken


def texts(alignment):
    return [each.word.text.strip() for each in alignment.words]


def times(alignment):
    return [(round(each.word.start, 3), round(each.word.end, 3)) for each in alignment.words]


def rising(alignment):
    bounds = [t for each in alignment.words for t in (each.word.start, each.word.end)]
    return bounds == sorted(bounds)


def test_the_scripts_spelling_wins_and_the_times_are_those_heard():
    words = heard("mister", "muller", "said", "its", "late")

    found = align([(1, "“Mister Müller” said:"), (2, "It’s LATE!")], words)

    assert texts(found) == ["“Mister", "Müller”", "said:", "It’s", "LATE!"]
    assert times(found) == [(word.start, word.end) for word in words]
    assert [each.line for each in found.words] == [1, 1, 1, 2, 2]
    assert all(each.heard for each in found.words)
    assert not found.problems


def test_a_word_the_recogniser_missed_lies_between_its_neighbours():
    found = align([(1, "one two three")], heard("one", None, "three"))

    assert texts(found) == ["one", "two", "three"]
    assert times(found)[1] == (0.4, 1.0)
    assert [each.heard for each in found.words] == [True, False, True]
    assert found.words[1].word.probability == 0


def test_words_heard_otherwise_lend_their_times():
    found = align([(1, "in nineteen eighty-four we met")], heard("in", "1984", "we", "met"))

    assert texts(found) == ["in", "nineteen", "eighty-four", "we", "met"]
    assert times(found)[1][0] == 0.5
    assert times(found)[2][1] == 0.9
    assert all(each.heard for each in found.words)
    assert not found.problems


def test_compounds_meet_their_parts():
    found = align(
        [(1, "the well-known ice cream man")], heard("the", "well", "known", "icecream", "man")
    )

    assert texts(found) == ["the", "well-known", "ice", "cream", "man"]
    assert times(found)[1] == (0.5, 1.4)
    assert times(found)[2][0] == 1.5
    assert times(found)[3][1] == 1.9


def test_a_part_of_the_script_that_was_not_spoken_is_reported_with_its_lines():
    script = [(1, "We begin here."), (4, "This whole long line was left out by the reader,"),
              (5, "and so was this."), (7, "We end here.")]  # fmt: skip

    found = align(script, heard("we", "begin", "here", "we", "end", "here"))

    assert texts(found) == ["We", "begin", "here.", "We", "end", "here."]
    [part] = found.unspoken
    assert (part.line, part.last_line) == (4, 5)
    assert part.text.startswith("This whole") and part.text.endswith("was this.")
    assert found.problems[0].number == 4
    assert "to line 5 it was not spoken" in found.problems[0].sentence


def test_speech_that_the_script_does_not_have_is_reported_with_its_place():
    words = heard("hello", "everyone", "sorry", "let", "me", "start", "again", "this", "is", "it")

    found = align([(1, "Hello everyone."), (2, "This is it.")], words)

    [part] = found.unscripted
    assert (part.after_line, part.text) == (1, "sorry let me start again")
    assert (part.start, round(part.end, 3)) == (1.0, 3.4)
    assert "which the script does not have" in found.problems[0].sentence


def test_another_long_sentence_in_its_place_is_both_unspoken_and_unscripted():
    script = "Birds sing early every single morning outside our kitchen window and never stop"
    other = "my tax office forms keep going missing because of computer"
    words = heard("start", *other.split(" "), "end")

    found = align([(1, "Start"), (2, script), (3, "end.")], words)

    assert texts(found) == ["Start", "end."]
    assert found.unspoken[0].text == script
    assert found.unscripted[0].text.startswith("my tax office")


def test_a_longer_doubt_is_named_and_its_text_kept():
    words = heard("start", "some", "quite", "odd", "noises", "end", pace=0.25, gap=0.02)

    found = align([(1, "Start"), (2, "Jazz club by ten"), (3, "end")], words)

    assert texts(found) == ["Start", "Jazz", "club", "by", "ten", "end"]
    assert "was recognised as" in found.problems[0].sentence


def test_with_the_spans_of_speech_a_pause_is_not_taken_for_missed_words():
    words = [Word(" we", 0, 0.3), Word(" begin", 0.3, 0.8), Word(" then", 6, 6.3)]
    script = [(1, "We begin"), (2, "with a phrase nobody ever said"), (3, "then")]

    assert not align(script, words).unspoken
    assert align(script, words, speech=[(0, 0.9), (5.9, 6.4)]).unspoken


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (["今天天气很好，我们去公园吧。", "你好！"], ["今天", "天气", "很好", "我们去", "公园", "吧", "你", "好"]),
        (["今日はいい天気ですね。"], ["今日", "は", "いい", "天気", "です", "ね"]),
        (["नमस्ते, आप कैसे हैं?"], ["नमस्ते", "आप", "कैसे", "हैं"]),
        (["สวัสดีครับ วันนี้อากาศดี"], ["สวัสดี", "ครับ", "วันนี้", "อากาศดี"]),
        (["안녕하세요, 반갑습니다."], ["안녕하세요", "반갑습니다"]),
        (["Привет, как дела?"], ["привет", "как", "дела"]),
        (["مرحبا، كيف حالك؟"], ["مرحبا", "كيف", "حالك"]),
    ],
)  # fmt: skip
def test_other_scripts_align_sign_by_sign_or_word_by_word(script, words):
    found = align(list(enumerate(script, start=1)), heard(*words))

    assert join_words([each.word.text for each in found.words]).replace(" ", "") == "".join(
        script
    ).replace(" ", "")
    assert all(each.heard for each in found.words)
    assert not found.problems
    assert rising(found)


def test_signs_that_stand_alone_stay_with_a_word():
    found = align([(1, "— Yes … no —"), (2, "***"), (3, "- maybe")], heard("yes", "no", "maybe"))

    assert join_words([each.word.text for each in found.words]) == "— Yes … no — *** - maybe"


@pytest.mark.parametrize("script", [[], [(1, "")], [(1, "...")]])
def test_nothing_against_something_is_reported(script):
    found = align(script, heard("so", "it", "is"))

    assert not found.words
    assert found.unscripted[0].text == "so it is"
    assert align([(1, "a script")], []).unspoken[0].text == "a script"
    assert align([], []).problems == ()


def recording(random_, script, vocabulary, errors):
    """Words as a recogniser makes them of a script: some dropped, added or wrong."""
    words, now = [], 0.0
    for text in script:
        now += random_.choice([0.0, 0.02, 0.3])
        length = 0.06 * len(text)
        kind = random_.random() / errors if errors else 9
        if kind < 1:
            words.append(Word(" " + random_.choice(vocabulary), now, now + length, 0.3))
        elif kind < 2:
            words += [Word(" " + text.lower(), now, now + length / 2),
                      Word(" uh", now + length / 2, now + length)]  # fmt: skip
        elif kind > 3:
            words.append(Word(" " + text.lower(), now, now + length, 0.9))
        now += length
    return words


def invent(random_, size):
    letters = "aeioubcdfghjklmnprstvwz"
    return ["".join(random_.choices(letters, k=random_.randint(2, 9))) for _ in range(size)]


@pytest.mark.parametrize("seed", range(60))
def test_with_errors_sown_in_no_word_is_lost_and_times_never_run_backwards(seed):
    random_ = random.Random(seed)
    vocabulary = invent(random_, random_.choice([12, 60, 400]))
    script = [word.title() + random_.choice(["", ",", ".", "!"])
              for word in random_.choices(vocabulary, k=random_.randint(1, 400))]  # fmt: skip
    words = recording(random_, script, vocabulary, random_.choice([0, 0.02, 0.05, 0.12, 0.3]))
    lines = [(at // 8 + 1, " ".join(script[at : at + 8])) for at in range(0, len(script), 8)]

    found = align(lines, words)

    placed = [(each.line, each.word.text.strip()) for each in found.words]
    missing = [word for part in found.unspoken for word in part.text.split()]
    assert sorted([text for _, text in placed] + missing) == sorted(script)
    in_order = iter(script)
    assert all(text in in_order for _, text in placed)
    assert rising(found)
    said = {unit for each in found.words for unit in units_of(each.word.text)}
    extra = [word for part in found.unscripted for word in part.text.split()]
    assert len(extra) <= len(words) and (said or not found.words)


def test_with_a_tenth_of_the_words_missed_all_others_have_their_own_times():
    random_ = random.Random(7)
    vocabulary = invent(random_, 800)
    script = random_.choices(vocabulary, k=3000)
    truth = recording(random.Random(1), script, vocabulary, 0)
    words = recording(random.Random(1), script, vocabulary, 0)
    kept = [word for word in words if random_.random() > 0.1]

    found = align([(1, " ".join(script))], kept)

    assert texts(found) == script
    for each, true in zip(found.words, truth, strict=True):
        if each.heard:
            assert each.word.start == pytest.approx(true.start)
            assert each.word.end == pytest.approx(true.end)
    assert sum(not each.heard for each in found.words) == len(script) - len(kept)


@pytest.mark.parametrize("size", [2, 20, 3000])
def test_10000_words_against_10000_take_little_time_and_memory(size):
    random_ = random.Random(size)
    vocabulary = invent(random_, size)
    script = random_.choices(vocabulary, k=10_000)
    words = recording(random_, script, vocabulary, 0.05)

    began = time.process_time()
    found = align([(at // 10 + 1, word) for at, word in enumerate(script)], words)
    seconds = time.process_time() - began

    assert seconds < 5
    assert len(found.words) + sum(len(each.text.split()) for each in found.unspoken) == 10_000
    assert rising(found)


def test_10000_words_without_a_common_passage_need_less_than_500_mb():
    random_ = random.Random(3)
    script = random_.choices(["to", "be", "or", "not"], k=10_000)
    words = heard(*random_.choices(["to", "be", "or", "not"], k=10_000))

    tracemalloc.start()
    align([(1, " ".join(script))], words)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 500e6
