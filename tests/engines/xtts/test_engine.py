"""The light half of XTTS: facts, without loading anything."""

from __future__ import annotations

import subprocess

import pytest

import engines
from engines import xtts
from engines.base import Engine
from engines.xtts.settings import XttsSettings

FACTS = """
import sys, time
begun = time.process_time()
import engines
engine = engines.find("xtts")
engine.missing(), engine.speaks("en"), engine.settings(), engine.bases, engine.advised
assert time.process_time() - begun < 1, time.process_time() - begun
print({"torch", "TTS", "numpy", "transformers"} & sys.modules.keys())
"""


def test_its_facts_come_without_torch(python):
    told = subprocess.run([python, "-c", FACTS], capture_output=True, text=True, check=False)

    assert told.stdout.strip() == "set()", told.stderr


def test_it_speaks_seventeen_languages_and_chinese_by_both_names():
    engine: Engine = engines.find("xtts")

    assert len(engine.languages) == 17
    assert engine.speaks("zh") and engine.speaks("zh-cn") and engine.speaks("hi")
    assert not engine.speaks("sv") and not engine.speaks("")


def test_its_clips_have_the_length_that_its_network_was_made_for():
    engine: Engine = engines.find("xtts")

    assert engine.max_clip_seconds * engine.sample_rate == pytest.approx(255_995)
    assert engine.min_clip_seconds == 0.5


def test_a_base_has_the_files_it_asks_for(xtts_base):
    assert all((xtts_base / name).is_file() for name in xtts.ENGINE.base_files)


def test_its_base_names_a_licence_and_where_to_read_it():
    (base,) = xtts.ENGINE.bases

    assert "Coqui Public Model License" in base.licence and "https://" in base.licence
    assert base.repository == "coqui/XTTS-v2" and base.download_mb > 1800


def test_what_is_not_installed_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(xtts, "find_spec", lambda name: None if name == "TTS" else name)

    assert xtts.ENGINE.missing().startswith("TTS cannot be found. Start launch.py")


def test_with_everything_installed_nothing_is_missing():
    assert xtts.ENGINE.missing() == ""


def test_its_advice_is_within_its_own_limits():
    assert xtts.ENGINE.settings is XttsSettings
    assert xtts.ENGINE.advised == {"learning_rate": 5e-6, "batch": 8, "epochs": 10}


def test_its_own_tools_take_it_in_the_form_of_coqui_tts():
    assert xtts.ENGINE.own_form in xtts.ENGINE.exports
