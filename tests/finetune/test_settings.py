from __future__ import annotations

from dataclasses import dataclass, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.errors import SettingsError
from engines.settings import Checked, setting
from finetune.settings import CutSettings, HearSettings


@dataclass(frozen=True)
class Tea(Checked):
    minutes: float = setting(3.0, "How long it draws", low=1, high=10)
    cups: int = setting(2, "How many to make", low=1)
    sugar: bool = setting(False, "Sweeten it")
    name: str = setting("Earl Grey", "What to call it")


def test_a_value_outside_its_limits_is_refused_with_its_name_and_its_limits():
    with pytest.raises(SettingsError, match=r"minutes is 11, and .* from 1 to 10") as caught:
        Tea(minutes=11)

    assert "How long it draws" in caught.value.fix
    assert "3.0" in caught.value.fix


def test_a_limit_on_one_side_is_named_too():
    with pytest.raises(
        SettingsError, match="cups is 0, and it must be a whole number of 1 or more"
    ):
        Tea(cups=0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"minutes": float("nan")},
        {"minutes": True},
        {"minutes": "3"},
        {"cups": 0},
        {"cups": 1.5},
        {"cups": True},
        {"sugar": 1},
        {"name": None},
    ],
)
def test_what_is_no_value_of_its_kind_is_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Tea(**wrong)


def test_a_whole_number_is_fine_where_any_number_is():
    assert Tea(minutes=5).minutes == 5


def test_every_cut_setting_says_what_it_does_and_what_it_may_be():
    for each in fields(CutSettings):
        assert each.metadata["help"][0].isupper()
        assert each.metadata["low"] <= each.default <= each.metadata["high"]


def test_every_hear_setting_says_what_it_does_and_numbers_have_limits():
    for each in fields(HearSettings):
        assert each.metadata["help"][0].isupper()
        if not isinstance(each.default, str):
            assert each.metadata["low"] <= each.default <= each.metadata["high"]


@pytest.mark.parametrize("wrong", [{"window_seconds": 31}, {"window_seconds": 2}, {"beam_size": 0}])
def test_whisper_is_not_asked_for_what_it_cannot_do(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        HearSettings(**wrong)


@given(st.sampled_from(fields(CutSettings)), st.floats(allow_nan=True))
def test_no_cut_settings_exist_outside_their_limits(each, value):
    value = (
        value
        if isinstance(each.default, float)
        else value == value and abs(value) < 1e9 and (int(value))
    )
    try:
        made = replace(CutSettings(), **{each.name: value})
    except SettingsError as error:
        assert each.name in error.what
    else:
        assert each.metadata["low"] <= getattr(made, each.name) <= each.metadata["high"]
        assert made.min_seconds <= made.target_seconds <= made.max_seconds


def test_settings_that_contradict_each_other_are_refused():
    with pytest.raises(SettingsError, match="between"):
        CutSettings(min_seconds=8, target_seconds=4)
    with pytest.raises(SettingsError, match="pad_ms"):
        CutSettings(pad_ms=400, longest_edge_ms=300)
