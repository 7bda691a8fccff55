"""Whatever is named in a request, only what is the studio's is read, written or told."""

from __future__ import annotations

import inspect
import random
import types
from typing import Literal, Union, get_args, get_origin, get_type_hints, is_typeddict
from urllib.parse import quote

import pytest

from app import places
from app.screen.served import Served
from tests.app import asking
from tests.app.safety.judging import check, leaks, nothing_changes_outside

MUTATED = 1000


def test_there_are_enough_ways_to_name_what_lies_elsewhere(canary):
    assert len(asking.places(canary)) >= 200


@pytest.mark.parametrize(
    "route",
    ["/timbre/assets/", "/timbre/words/", "/timbre/call/", "/timbre/file/", "/timbre/", "/"],
)
@pytest.mark.parametrize("quoted", [True, False])
def test_no_address_leads_out_of_the_pages_own_files(studio, canary, route, quoted):
    for payload in asking.places(canary):
        named = quote(payload, safe="") if quoted else quote(payload, safe="/%\\:;?&=")
        answer = studio(f"{route}{named}")

        assert answer.status < 500, (route, payload)
        assert not leaks(answer), (route, payload)
        # Some of them mean the page itself: "/." and the like.
        assert answer.status >= 400 or answer.body == studio("/").body, (route, payload)


def fitting(wanted, name, things):
    """Something a parameter takes."""
    if name in things:
        return [things[name]] if get_origin(wanted) is list else things[name]
    kind, inner = get_origin(wanted), get_args(wanted)
    if kind in (Union, types.UnionType):
        return fitting(inner[0], name, things)
    if kind is Literal:
        return inner[0]
    if kind is list:
        return [fitting(inner[0], name, things)]
    if kind is tuple:
        return [fitting(each, name, things) for each in inner]
    if is_typeddict(wanted):
        return {"engine": "pocket"}
    plain = {str: "x", int: 1, float: 1.0, bool: False}
    return plain[wanted] if wanted in plain else {dict: {}, list: []}.get(kind or wanted)


def takes(call):
    """What a call takes, by name."""
    hints = get_type_hints(call)
    _, *taken = inspect.signature(call).parameters
    return {name: hints[name] for name in taken}


def with_text(wanted, text):
    """A value of a parameter's kind that holds a text; None where none can be in it."""
    kind, inner = get_origin(wanted), get_args(wanted)
    if wanted is str or (kind in (Union, types.UnionType) and str in inner):
        return text
    if kind is list:
        return [item] if (item := with_text(inner[0], text)) is not None else None
    if is_typeddict(wanted):
        return {name: text for name, inner in get_type_hints(wanted).items() if inner is str}
    if kind is dict:
        return {text: item} if (item := with_text(inner[1], text)) is not None else None
    return text if wanted is object else None


@pytest.mark.parametrize("name", places.FILES)
def test_no_file_is_given_of_what_lies_elsewhere(studio, things, folder, canary, name):
    parameters = takes(places.FILES[name])
    with nothing_changes_outside(folder):
        base = {each: fitting(wanted, each, things) for each, wanted in parameters.items()}
        for target in parameters:
            for payload in asking.places(canary):
                query = "&".join(
                    f"{each}={quote(str(payload if each == target else value), safe='')}"
                    for each, value in base.items()
                )

                check(studio(f"/timbre/file/{name}?{query}"), name, (target, payload))


@pytest.mark.parametrize("name", places.CALLS)
def test_no_call_reads_or_writes_what_lies_elsewhere(studio, things, folder, canary, name):
    parameters = takes(places.CALLS[name])
    draw = random.Random(name)
    with nothing_changes_outside(folder):
        for target, wanted in parameters.items():
            if with_text(wanted, "x") is None:
                continue
            for payload in draw.sample(asking.places(canary), 25):
                base = {each: fitting(parameters[each], each, things) for each in parameters}

                given = base | {target: with_text(wanted, payload)}
                check(studio.call(name, given), name, given)


# ---- Calls as no page would make them ----


def mutated(draw, name, things):
    """A call's arguments with something wrong, and whether it surely is."""
    parameters = takes(places.CALLS[name])
    given = {each: fitting(wanted, each, things) for each, wanted in parameters.items()}
    how = draw.choice(("kind", "missing", "unknown", "deep", "whole"))
    if how == "unknown":
        return {**given, draw.choice(("desk", "__class__", "self", "x", "")): 1}, True
    if how == "whole":
        return draw.choice(
            (b"", b"{", b"[]", b"null", b"\xff\xfe", b'"x"', b"[" * 100_000, b"9" * 5000)
        ), False
    if not parameters:
        return given, False
    target = draw.choice([*parameters])
    if how == "missing":
        del given[target]
        call = inspect.signature(places.CALLS[name])
        return given, call.parameters[target].default is inspect.Parameter.empty
    nested = 1
    for _ in range(200):
        nested = [nested] if draw.random() < 0.5 else {"x": nested}
    given[target] = nested if how == "deep" else asking.anything(draw)
    return given, False


def test_a_thousand_calls_gone_wrong_are_each_refused_in_words(studio, things, folder):
    draw = random.Random(20_261_122)
    names = sorted(places.CALLS)
    taken_though_wrong = []
    with nothing_changes_outside(folder):
        for _ in range(MUTATED):
            name = draw.choice(names)
            given, is_wrong = mutated(draw, name, things)

            answer = studio.call(name, given)

            check(answer, name, given)
            if is_wrong and answer.status < 400:
                taken_though_wrong.append((name, given))
    assert taken_though_wrong == []


def test_a_file_that_was_deleted_meanwhile_is_said_to_be_gone(studio, monkeypatch, tmp_path):
    def gone(desk):
        return Served(tmp_path / "gone.flac", "audio/flac")

    monkeypatch.setattr(places, "FILES", {"gone": gone})

    answer = studio("/timbre/file/gone")

    assert answer.status == 404 and answer.said["what"] and answer.said["fix"]
