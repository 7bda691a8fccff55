"""The texts a base is trained on: many, various, correct, and none of those it is judged by."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

from engines.pocket.pretrain import corpus, vocabulary
from tests.conftest import ROOT

MANY = 20_000
JUDGED = (ROOT / "tests/bench/pocket_sentences.txt").read_text(encoding="utf-8").splitlines()
DEMO = (ROOT / "voices/starter/demo/script.txt").read_text(encoding="utf-8").splitlines()
# Words that the vowel they are written or said with would put with the other article.
AN_ALTHOUGH = {"hour", "hourglass", "honest", "heir", "heirloom"}
A_ALTHOUGH = re.compile("uni(?!n|m)|use|usu|usa|u[trk][aeiu]|ubi|ewe|eu|one$|once$|unanim")


@pytest.fixture(scope="module")
def many():
    return corpus.sentences(MANY, seed=0)


def words(text):
    return re.findall(r"[a-z'-]+", text.lower())


def runs(text, length=6):
    said = words(text)
    return {tuple(said[at : at + length]) for at in range(len(said) - length + 1)}


def share(kind, texts):
    return sum(map(bool, map(kind, texts))) / len(texts)


def test_as_many_sentences_come_as_were_asked_for_and_no_two_are_alike(many):
    assert len(set(many)) == len(many) == MANY


def test_twenty_thousand_sentences_take_less_than_ten_seconds():
    start = time.process_time()

    corpus.sentences(MANY, seed=3)

    assert time.process_time() - start < 10


def test_a_seed_gives_the_same_sentences_in_another_process():
    code = "from engines.pocket.pretrain import corpus; print(*corpus.sentences(50, 7), sep='|')"

    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert said.stdout.strip().split("|") == corpus.sentences(50, seed=7)


def test_another_seed_gives_other_sentences(many):
    assert len(set(corpus.sentences(1000, seed=1)) & set(many)) < 100


def test_more_sentences_of_a_seed_begin_with_the_fewer(many):
    assert corpus.sentences(100, seed=0) == many[:100]


def test_a_sentence_has_only_letters_and_the_signs_that_are_read(many):
    assert [text for text in many if not re.fullmatch(r"[A-Z][A-Za-z ',.?!-]*[.?!]", text)] == []


def test_no_slot_is_left_open_and_no_space_is_doubled(many):
    assert [text for text in many if "{" in text or "  " in text or " ," in text] == []


def test_sentences_are_short_enough_to_train_on_and_mostly_of_common_length(many):
    lengths = [len(text.split()) for text in many]

    assert max(map(len, many)) <= corpus.MOST_LETTERS
    assert max(lengths) <= corpus.MOST_WORDS
    assert sum(5 <= length <= 12 for length in lengths) > 0.75 * MANY
    assert 0.02 * MANY < sum(length < 4 for length in lengths) < 0.1 * MANY


def test_questions_are_neither_rare_nor_the_rule(many):
    assert 0.08 < share(lambda text: text.endswith("?"), many) < 0.2


def test_exclamations_and_pauses_are_among_them(many):
    assert share(lambda text: text.endswith("!"), many) > 0.04
    assert share(lambda text: "," in text, many) > 0.12


def test_a_and_an_fit_the_sound_that_follows(many):
    wrong = []
    for text in many:
        for article, word in re.findall(r"\b(an?) ([a-z]+)", text.lower()):
            vowel = word in AN_ALTHOUGH or (word[0] in "aeiou" and not A_ALTHOUGH.match(word))
            if (article == "an") != vowel:
                wrong.append(f"{article} {word}")

    assert wrong == []


@pytest.mark.parametrize("word", ["hour", "uninhabited", "umbrella", "onion", "onerous", "heir"])
def test_a_word_that_is_said_with_a_vowel_first_takes_an(word):
    assert corpus.starts_with_vowel(word)


@pytest.mark.parametrize("word", ["unit", "ewe", "one", "euro", "useful", "unanimous", "horse"])
def test_a_word_that_is_only_written_with_a_vowel_first_takes_a(word):
    assert not corpus.starts_with_vowel(word)


def test_thousands_of_words_are_heard_and_most_of_them_more_than_once(many):
    heard = {}
    for text in many:
        for word in words(text):
            heard[word] = heard.get(word, 0) + 1

    assert len(heard) > 5000
    assert sum(count > 1 for count in heard.values()) > 4000


def test_the_vocabulary_and_the_frames_are_as_wide_as_promised():
    found = vocabulary.lists()
    kinds = corpus.kinds()
    plain = {
        word for name, entries in found.items() if "." not in name for word in entries
    } - {frame for frames in kinds.values() for frame in frames}  # fmt: skip

    assert len({word for word in plain if "{" not in word}) > 3000
    assert sum(len(found[f"rare_{kind}"]) for kind in RARE) > 1500
    assert sum(map(len, kinds.values())) > 300


RARE = ("thing", "stuff", "quality", "deed", "name", "place", "word")


def test_rarer_words_stand_in_one_sentence_of_eight(many):
    rare = {word for kind in RARE for word in vocabulary.lists()[f"rare_{kind}"]}
    common = {
        word
        for name, entries in vocabulary.lists().items()
        if not name.startswith("rare")
        for word in entries
    }

    assert 0.09 < share(lambda text: (rare - common) & set(words(text)), many) < 0.18


def test_every_slot_of_a_frame_names_a_list_and_a_form_it_has():
    found = vocabulary.lists()
    unknown = set()
    for entries in found.values():
        for name, form in (slot for entry in entries for slot in corpus.SLOT.findall(entry)):
            key = f"{name}.{form}" if form and form != "*" and name != "do" else name
            if key not in found and name not in corpus.BY_GENDER:
                unknown.add(key)

    assert unknown == set()


@pytest.mark.parametrize(
    ("entry", "forms"),
    [
        ("walk", "walk walks walked walked walking"),
        ("carry", "carry carries carried carried carrying"),
        ("bake", "bake bakes baked baked baking"),
        ("dye", "dye dyes dyed dyed dyeing"),
        ("plan planned", "plan plans planned planned planning"),
        ("take took taken", "take takes took taken taking"),
        ("swim swam swum swimming", "swim swims swam swum swimming"),
    ],
)
def test_a_verb_takes_its_five_forms(entry, forms):
    assert " ".join(vocabulary.verb_forms(entry)) == forms


def test_a_verb_of_two_words_changes_the_first():
    assert vocabulary.verb_forms("vouch for")[1] == "vouches for"


@pytest.mark.parametrize(
    ("one", "many"),
    [("box", "boxes"), ("city", "cities"), ("key", "keys"), ("bench", "benches"), ("cup", "cups")],
)
def test_a_noun_takes_its_plural(one, many):
    assert vocabulary.with_s(one) == many


def test_none_of_the_judges_sentences_is_trained_on(many):
    assert set(map(str.lower, JUDGED)) & set(map(str.lower, many)) == set()


def test_no_six_words_of_a_judges_sentence_are_trained_on(many):
    trained = set().union(*map(runs, many))

    assert [text for text in JUDGED if runs(text) & trained] == []


def test_the_judges_sentences_are_enough_and_plain():
    lengths = [len(text.split()) for text in JUDGED]

    assert len(set(JUDGED)) == 150
    assert sum(lengths) >= 1250
    assert min(lengths) >= 6
    assert max(lengths) <= 12
    assert [text for text in JUDGED if not re.fullmatch(r"[A-Z][a-zI ,-]*\.", text)] == []


def test_the_demo_is_three_minutes_of_short_sentences_and_none_is_the_judges():
    lengths = [len(text.split()) for text in DEMO]

    assert 420 <= sum(lengths) <= 470
    assert min(lengths) >= 4
    assert max(lengths) <= 14
    assert not any(runs(demo) & runs(judged) for demo in DEMO for judged in JUDGED)
