"""What the layers below say in English, said in the language of the page."""

from __future__ import annotations

import re
import time

import pytest

from app.screen import words
from finetune import projects
from tests.app.browsing import needs_browser

pytestmark = needs_browser

# Places in which a name stands; in others, figures and words of our own.
THEIRS = ("name", "title", "file", "folder", "path", "whose")
PUT = """async ([texts]) => {
  const { translated } = await import('/timbre/assets/parts/translated.js');
  return texts.map(translated); }"""


@pytest.fixture
def chinese(page):
    page.evaluate("localStorage.setItem('timbre.language', 'zh')")
    page.reload()
    page.get_by_role("heading", level=1, name="你的声音").wait_for()
    return page


def test_every_template_says_its_sentence(chinese):
    templates = [(each, said["zh"]) for each, said in words.sentences().items()]

    said = chinese.evaluate(PUT, [[filled(english) for english, _ in templates]])

    wrong = {
        english: found
        for (english, other), found in zip(templates, said, strict=True)
        if found != filled(other, english)
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("The project Tom and Jo is in the trash.", "项目“Tom and Jo”在回收站中。"),
        (
            "The project Ada is in the trash. Take it back first.",
            "项目“Ada”在回收站中。请先将其还原。",
        ),
        ("Best so far: the check loss 1.2 is the lowest.", "目前最佳：检验损失 1.2，为最低。"),
        ("Somebody wrote this. Take it back first.", "Somebody wrote this. 请先将其还原。"),
        ("Nobody knows this sentence, nor this half of it.", None),
        ("12.5 (1/2)", None),
        ("", None),
        (".", None),
        ("RuntimeError: shape of input is wrong", None),
        ("The word of the day is this", None),
        ("Ready and waiting for nobody", None),
        ("Download Lord of the Rings", "下载 Lord of the Rings"),
        ("What is this? . Take it back first.", "What is this? . 请先将其还原。"),
        ("As the engine advises", "按引擎建议"),
        ("As the engine advises.", "按引擎建议。"),
        ("The project " + "x. Y " * 2000 + " is in the trash.", None),
    ],
)
def test_sentences_are_said_one_by_one_and_what_is_not_known_stays(chinese, english, other):
    assert chinese.evaluate(PUT, [[english]]) == [other or english]


def test_what_is_no_text_stays_too(chinese):
    assert chinese.evaluate(PUT, [[5, None, ["x"]]]) == [5, None, ["x"]]


def test_no_text_is_looked_at_for_long(chinese):
    parts = [
        "A. ",
        "x and y, ",
        "There is no ",
        "a: b; c, ",
        " is ",
        "1 of 2 files, ",
        '" ',
        "“a” ",
    ]
    texts = [(one + other) * 150 for one in parts for other in parts]
    texts += [text[:490] for text in texts]

    begun = time.monotonic()
    chinese.evaluate(PUT, [texts])

    assert (time.monotonic() - begun) / len(texts) < 0.1


def test_a_refusal_is_said_in_the_language_of_the_page(chinese, workspace):
    projects.create(workspace, "Twice")
    chinese.get_by_label("新项目").fill("Twice")
    chinese.get_by_role("button", name="创建项目").click()

    said = chinese.locator(".note.bad").inner_text()

    assert not re.search("[a-z]{2,} [a-z]{2,}", said)


def test_in_english_everything_stays_as_it_came(page):
    english = [*words.sentences()]

    assert page.evaluate(PUT, [english]) == english


def filled(template, english=None):
    """A template with something in its places: the first in English is ‹0›, wherever it stands."""
    places = [*dict.fromkeys(re.findall(r"\{(\w+)\}", english or template))]
    signs = [f"Ada{at}" if name in THEIRS else f"‹{at}›" for at, name in enumerate(places)]
    return re.sub(r"\{(\w+)\}", lambda place: signs[places.index(place[1])], template)
