"""What can be chosen for a training of XTTS."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engines.errors import SettingsError
from engines.xtts.settings import PARTS, XttsSettings
from tests.conftest import ROOT


def test_unless_changed_nothing_of_what_is_learned_is_given_away():
    settings = XttsSettings()

    assert settings.conditioning == "other" and not settings.masks
    assert settings.lora_rank == 0 and settings.frozen == ()


@pytest.mark.parametrize(
    ("wrong", "choices"),
    [
        ({"masking": "correct"}, "corrected, upstream"),
        ({"conditioning": "own"}, "other, same"),
        ({"freeze": "text_embedding, decoder"}, "text_embedding, audio_embedding"),
    ],
)
def test_an_unknown_word_is_refused_with_the_choices(wrong, choices):
    with pytest.raises(SettingsError) as caught:
        XttsSettings(**wrong)

    assert choices in caught.value.fix
    assert next(iter(wrong)) in caught.value.what


def test_parts_to_freeze_are_read_from_a_list_with_commas():
    settings = XttsSettings(freeze=" conditioning,text_head ,")

    assert settings.frozen == ("conditioning", "text_head")


@pytest.mark.parametrize(
    "nothing_learns",
    [{"freeze": ",".join(PARTS)}, {"freeze": "transformer", "lora_rank": 8}],
)
def test_freezing_all_that_would_learn_is_refused(nothing_learns):
    with pytest.raises(SettingsError, match="freeze names"):
        XttsSettings(**nothing_learns)


def test_dropout_is_a_share_or_left_as_it_is():
    assert XttsSettings(dropout=0.2).dropout == 0.2
    with pytest.raises(SettingsError, match="dropout"):
        XttsSettings(dropout=-0.5)


def test_the_settings_are_read_without_torch():
    code = "import sys, engines.xtts.settings; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout.strip() == "False", done.stderr
