"""What the page sends becomes arguments, or a sentence."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Literal, TypedDict

import pytest

from app.screen.calls import answer, bound, fits, from_query
from engines.errors import SettingsError


def trim(desk, clip: int, start: float, note: str = "", tags: list[str] | None = None):
    return clip, start, note, tags


def test_arguments_that_fit_are_given_on():
    assert bound(trim, {"clip": 3, "start": 1}) == {"clip": 3, "start": 1}
    assert bound(trim, {"clip": 3, "start": 0.5, "tags": ["a"]})["tags"] == ["a"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"clip": 3}, "start is missing"),
        ({"clip": "3", "start": 1.0}, "clip cannot be '3'"),
        ({"clip": True, "start": 1.0}, "clip cannot be True"),
        ({"clip": 3, "start": float("nan")}, "start cannot be nan"),
        ({"clip": 3, "start": 10**400}, "start cannot be"),
        ({"clip": 3, "start": 1.0, "tags": ["a", 1]}, "tags cannot be"),
        ({"clip": 3, "start": 1.0, "desk": {}}, "Nothing is called 'desk'"),
        ({"clip": 2**64, "start": 1.0}, "clip cannot be"),
        ({"clip": 3, "start": 1.0, "note": "\ud800"}, "note cannot be"),
        ({"clip": 3, "start": 1.0, "note": None}, "note cannot be None"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(given, said):
    with pytest.raises(SettingsError, match=said):
        bound(trim, given)


class Wish(TypedDict, total=False):
    name: str
    gib: float | None


@pytest.mark.parametrize("given", [{}, {"name": "Ada"}, {"gib": None, "name": ""}, {"gib": 8}])
def test_a_wish_may_name_what_it_has(given):
    assert fits(given, Wish)


@pytest.mark.parametrize("given", [None, [], {"gib": "8"}, {"name": 1}, {"x": 1}, {"name": None}])
def test_a_wish_names_nothing_else_and_of_no_other_kind(given):
    assert not fits(given, Wish)


def test_only_what_is_listed_fits_a_choice():
    assert fits("up", Literal["up", "down"])
    assert not fits("sideways", Literal["up", "down"])
    assert not fits(["up"], Literal["up", "down"])


def test_any_json_at_all_fits_or_is_refused_and_nothing_else_happens():
    draw = random.Random(7)
    kinds = [str, int, float, bool, list[int], dict[str, float], str | None, Literal["a", 1]]

    def thing(depth=0):
        simple = [None, True, 0, -1, 1.5, "", "a", float("inf"), 10**400]
        if depth > 2 or draw.random() < 0.6:
            return draw.choice(simple)
        if draw.random() < 0.5:
            return [thing(depth + 1) for _ in range(draw.randrange(4))]
        return {str(each): thing(depth + 1) for each in range(draw.randrange(4))}

    said = {fits(thing(), draw.choice(kinds)) for _ in range(5000)}

    assert said == {True, False}


def test_an_address_gives_numbers_where_numbers_are_wanted():
    assert from_query(trim, {"clip": "3", "start": "1.5", "note": "4"}) == {
        "clip": 3,
        "start": 1.5,
        "note": "4",
    }
    with pytest.raises(SettingsError, match="clip cannot be 'x'"):
        bound(trim, from_query(trim, {"clip": "x", "start": "1"}))


@dataclass
class Clip:
    text: str
    level: float


def test_records_are_told_as_objects_and_what_is_no_number_as_nothing():
    told = json.loads(answer({"clip": Clip("Ünlü", float("nan")), "ends": (1, 2)}))

    assert told["data"] == {"clip": {"text": "Ünlü", "level": None}, "ends": [1, 2]}


def test_who_saw_it_already_is_told_only_that():
    first = json.loads(answer([1, 2]))

    assert json.loads(answer([1, 2], first["mark"])) == {"same": True}
    assert json.loads(answer([1, 3], first["mark"]))["data"] == [1, 3]


def test_a_text_that_is_no_unicode_is_still_told():
    assert json.loads(answer("broken \ud800"))["data"].startswith("broken")
