from __future__ import annotations

import lzma
import subprocess
import sys

import pytest

from engines.pocket.pretrain.dictionary import pack, read_cmudict
from engines.pocket.pronouncing import PHONES, WORDS_FILE, dictionary, lookup, packed, pronounce
from tests.conftest import ROOT


def said(word):
    return [" ".join(phones) for phones in pronounce(word)]


def test_a_known_word_has_every_way_of_the_dictionary_in_its_order():
    assert said("hello") == ["HH AH0 L OW1", "HH EH0 L OW1"]
    assert said("Hello") == said("HELLO") == said("hello")
    assert said("didn't")[0] == "D IH1 D AH0 N T"


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("timbre's", "T IH1 M B ER0 Z"),
        ("aardvark's", "AA1 R D V AA2 R K S"),
        ("octopus's", "AA1 K T AH0 P UH2 S AH0 Z"),
        ("octopus'", "AA1 K T AH0 P UH2 S"),
        ("skyped", "S K AY1 P T"),
        ("podcasted", "P AO1 D K AE2 S T AH0 D"),
        ("vlogging", "V L AO1 G IH0 NG"),
        ("aardvark'll", "AA1 R D V AA2 R K AH0 L"),
        ("podcastin'", "P AO1 D K AE2 S T IH0 N"),
        ("truckless", "T R AH1 K L AH0 S"),
    ],
)
def test_a_form_of_a_known_word_is_said_by_the_rule_for_its_ending(word, phones):
    assert lookup(word) == ()
    assert said(word)[0] == phones


def test_a_silent_e_comes_back_before_ing_and_ed():
    assert said("vaped") == ["V EY1 P T"]
    assert lookup("lac")
    assert said("lacing")[0] == "L EY1 S IH0 NG"
    assert said("doming")[0] == "D OW1 M IH0 NG"


def test_an_unknown_word_and_its_possessive_are_guessed_from_the_letters():
    (word,) = pronounce("zorblax")
    (owner,) = pronounce("zorblax's")

    assert owner == (*word, "AH0", "Z")


@pytest.mark.parametrize("word", ["", "'", "'" * 3000, "'s", "a" + "'s" * 3000, "é", "ing", "-"])
def test_whatever_is_asked_for_has_a_pronunciation(word):
    assert pronounce(word)
    assert all(pronounce(word))


def test_every_pronunciation_of_the_dictionary_unpacks_to_phones_it_packs_from():
    words = list(dictionary())[::40]

    for word in words:
        assert lookup(word)
        assert " ".join(map(packed, lookup(word))) == dictionary()[word]
        assert {phone for way in lookup(word) for phone in way} <= set(PHONES)
    assert len(dictionary()) > 120_000


def test_the_licence_of_the_dictionary_travels_with_it():
    text = lzma.decompress(WORDS_FILE.read_bytes()).decode()

    assert "# Copyright (C) 1993-2015 Carnegie Mellon University" in text
    assert "# 1. Redistributions of source code must retain" in text
    assert WORDS_FILE.stat().st_size < 900_000


def test_packing_leaves_out_comments_digits_and_signs():
    words = read_cmudict(
        ["a AH0", "a(2) EY1", "a. EY1", "b2b B IY1", "tis' T IH1 Z # old", "gdp G IY1 # abbrev", ""]
    )

    assert words == {"a": [("AH0",), ("EY1",)], "gdp": [("G", "IY1")], "tis'": [("T", "IH1", "Z")]}
    lines = lzma.decompress(pack(words, "Be kind.\n")).decode().splitlines()
    assert lines[0] == "# Be kind."
    assert lines[2] == "gdp " + packed(("G", "IY1"))


def test_importing_the_front_end_loads_no_torch_and_no_words():
    code = (
        "import sys, engines.pocket.reading, engines.pocket.pronouncing as p;"
        "print('torch' in sys.modules, p.dictionary.cache_info().currsize)"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout.split() == ["False", "0"], done.stderr
