"""Settings as a form: what it shows of each, and what it does with what is typed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from app.screen import forms, words
from app.screen.calls import answer
from engines.errors import SettingsError
from engines.settings import Checked, setting
from finetune.settings import CutSettings, HearSettings, TrainSettings


@dataclass(frozen=True)
class Tea(Checked):
    """Settings of no engine."""

    minutes: float = setting(3.0, "How long it draws", low=1, high=9)
    cups: int = setting(2, "How many", low=1)
    milk: bool = setting(False, "Whether there is milk in it")
    kind: str = field(default="green", metadata={"help": "Which", "choices": ("green", "black")})
    note: str = setting("", "What else")


def test_each_setting_is_an_input_of_its_kind_with_its_limits_and_default():
    minutes, cups, milk, kind, note = forms.fields_of(Tea)

    assert (minutes.kind, minutes.default, minutes.low, minutes.high) == ("number", 3.0, 1, 9)
    assert (cups.kind, cups.low, cups.high) == ("whole", 1, None)
    assert (milk.kind, milk.default) == ("yes", False)
    assert (kind.kind, kind.choices) == ("choice", ("green", "black"))
    assert (note.kind, note.help) == ("text", "What else")
    assert json.loads(answer(forms.fields_of(Tea())))["data"][0]["name"] == "minutes"


def test_what_is_typed_is_laid_over_what_was_chosen():
    made = forms.changed(Tea(cups=5), {"minutes": 4, "milk": True})

    assert made == Tea(minutes=4, cups=5, milk=True)
    assert forms.values_of(made)["minutes"] == 4


def test_a_whole_number_that_a_browser_sends_as_another_is_the_same():
    assert forms.changed(Tea(), {"cups": 3.0}) == Tea(cups=3)
    with pytest.raises(SettingsError, match="a whole number"):
        forms.changed(Tea(), {"cups": 3.5})


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"minutes": 99}, "minutes is 99"),
        ({"sugar": 1}, "no setting 'sugar'"),
        ({"milk": 1}, "yes"),
    ],
)
def test_what_may_not_be_is_refused_in_words(typed, said):
    with pytest.raises(SettingsError, match=said):
        forms.changed(Tea(), typed)


@pytest.mark.parametrize("kind", [HearSettings, CutSettings, TrainSettings])
def test_every_setting_has_a_label_and_its_help_is_the_same_in_the_catalogue(kind):
    catalogue = words.catalogue()

    for each in forms.fields_of(kind):
        assert f"form.label.{each.name}" in catalogue
        assert catalogue[f"form.help.{each.name}"]["en"] == each.help
