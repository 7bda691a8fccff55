"""The colours of the stylesheet can be read, in the light and in the dark."""

from __future__ import annotations

import re

import pytest

from app.screen.routes import ASSETS

CSS = (ASSETS / "studio.css").read_text(encoding="utf-8")
COLOURS = {
    name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", CSS)
}
TEXTS = [
    *[("ink", each) for each in ("ground", "card", "accent-soft")],
    *[("soft", each) for each in ("ground", "card", "accent-soft")],
    *[("accent", each) for each in ("ground", "card", "accent-soft")],
    ("accent-strong", "card"), ("on-accent", "accent"), ("on-accent", "accent-strong"),
    ("warn", "card"), ("warn", "warn-soft"),
    ("bad", "ground"), ("bad", "card"), ("bad", "bad-soft"),
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


def test_every_style_asks_for_nothing_from_outside_and_uses_colours_that_exist():
    for path in ASSETS.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\(|@import|//", text), path
        used = set(re.findall(r"var\(--([\w-]+)", text))
        made = set(re.findall(r"--([\w-]+):", text))
        assert used <= set(COLOURS) | made, path
