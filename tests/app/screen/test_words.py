"""Every word of the page is there, in every language, and none is left over."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.screen import words
from app.screen.routes import ASSETS
from engines.errors import NotFoundError
from tests.app.screen.sentences import sentences

SOURCES = [path for path in ASSETS.rglob("*.js") if path.parent.name != "vendor"]
# t('train.start'), and t(`train.state.${...}`), of which the beginning is known.
WHOLE = re.compile(r"""\bt\(\s*'([^']+)'|'([a-z]+\.[a-z.]+)'""")
BEGUN = re.compile(r"`([a-z]+\.[a-z.]*)\$\{")


NOT_SHOWN = json.loads((Path(__file__).parent / "not_shown.json").read_text(encoding="utf-8"))
# Words that fill the places of sentences, and sentences that are put together of parts.
FILLINGS = json.loads((words.FOLDER / "sentences" / "fillings.json").read_text(encoding="utf-8"))


def used() -> tuple[set[str], set[str]]:
    texts = [path.read_text(encoding="utf-8") for path in SOURCES]
    whole = {found[0] or found[1] for text in texts for found in WHOLE.findall(text)}
    return whole, {found for text in texts for found in BEGUN.findall(text)}


def asked_for() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in SOURCES]
    return {found for text in texts for found in re.findall(r"\bt\(\s*'([^']+)'", text)}


def test_every_word_is_there_in_every_language():
    for name, said in words.catalogue().items():
        assert set(said) == set(words.LANGUAGES), name
        assert all(each.strip() for each in said.values()), name


def test_every_word_that_the_page_asks_for_is_in_the_catalogue():
    assert asked_for() - set(words.catalogue()) == set()


def test_no_word_is_left_over():
    whole, begun = used()

    left = {
        name
        for name in words.catalogue()
        if name not in whole and not any(name.startswith(each) for each in begun)
    }

    assert left == set()


def test_what_is_filled_in_is_the_same_in_every_language():
    for name, said in words.catalogue().items():
        filled = {frozenset(re.findall(r"\{(\w+)\}", each)) for each in said.values()}
        assert len(filled) == 1, name


def test_chinese_is_chinese():
    latin = {name for name, said in words.catalogue().items() if said["zh"] == said["en"]}

    # Units and names that people write the same everywhere.
    assert all(
        not re.search(r"[a-z]{4,} [a-z]{2,}", words.catalogue()[name]["zh"]) for name in latin
    )


def test_no_name_is_in_two_files():
    names = [name for path in words.FOLDER.glob("*.json") for name in json.loads(path.read_text())]

    assert len(names) == len(set(names))


def test_every_sentence_of_the_layers_below_is_said_in_every_language():
    missing = {
        f"{each.where}: {each.text}"
        for each in sentences()
        if each.text not in NOT_SHOWN
        and set(words.sentences().get(each.text, ())) != set(words.LANGUAGES) - {"en"}
    }

    assert missing == set()


def test_no_sentence_is_left_over():
    there = {each.text for each in sentences()}

    assert set(words.sentences()) - set(FILLINGS) - there == set()
    assert set(NOT_SHOWN) - there == set()


def test_what_is_filled_into_a_sentence_is_in_the_english_one():
    for english, said in words.sentences().items():
        for other in said.values():
            places = set(re.findall(r"\{(\w+)\}", other))
            assert places <= set(re.findall(r"\{(\w+)\}", english)), english
            assert re.search(r"[\u4e00-\u9fff]", other), english


def test_a_language_that_is_not_there_is_refused():
    with pytest.raises(NotFoundError, match="does not speak"):
        words.of("xx")


def test_the_library_that_draws_the_page_is_the_one_its_note_names():
    import hashlib

    vendor = ASSETS / "vendor"

    noted = re.search(r"SHA-256: ([0-9a-f]{64})", (vendor / "README.md").read_text())

    assert noted[1] == hashlib.sha256((vendor / "preact.js").read_bytes()).hexdigest()
