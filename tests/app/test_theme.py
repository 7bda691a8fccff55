"""Tests of app/theme.py and assets/studio.css."""

import re

import pytest

from app.theme import COLOURS, CSS, USES

TEXTS = [
    ("ink", "ground"), ("ink", "card"), ("ink", "accent_soft"),
    ("soft", "ground"), ("soft", "card"), ("soft", "accent_soft"),
    ("accent", "ground"), ("accent", "card"), ("accent", "accent_soft"),
    ("accent_strong", "card"), ("on_accent", "accent"), ("on_accent", "accent_strong"),
    ("bad", "ground"), ("bad", "card"), ("bad", "bad_soft"),
]  # fmt: skip
EDGES = [("edge", "card"), ("edge", "ground"), ("accent", "card")]


def brightness(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((brightness(one), brightness(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("text, ground", TEXTS)
@pytest.mark.parametrize("mode", [0, 1])
def test_every_text_can_be_read_where_it_stands(text, ground, mode):
    assert contrast(COLOURS[text][mode], COLOURS[ground][mode]) >= 4.5


@pytest.mark.parametrize("edge, ground", EDGES)
@pytest.mark.parametrize("mode", [0, 1])
def test_the_edge_of_every_input_can_be_seen(edge, ground, mode):
    assert contrast(COLOURS[edge][mode], COLOURS[ground][mode]) >= 3


@pytest.mark.parametrize("mark", ["warn", "bad", "accent"])
def test_every_mark_of_the_stylesheet_can_be_read(mark):
    css = CSS.read_text()
    texts = re.findall(rf"--timbre-{mark}: (#\w+);", css)
    grounds = re.findall(rf"--timbre-{mark}-soft: (#\w+);", css)

    assert len(texts) == len(grounds) == 2
    assert all(contrast(*pair) >= 4.5 for pair in zip(texts, grounds, strict=True))


def test_the_stylesheet_uses_the_colours_of_the_theme():
    css = CSS.read_text()

    for name, pair in COLOURS.items():
        shown = re.findall(rf"--timbre-{name.replace('_', '-')}: (#\w+);", css)
        assert shown in ([], list(pair))


def test_the_stylesheet_asks_for_nothing_from_outside():
    assert not re.search(r"url\(|@import|//", CSS.read_text())


def test_every_colour_that_is_used_exists():
    assert set(USES.values()) <= set(COLOURS)
