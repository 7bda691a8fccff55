"""finetune/packed_voices.py on a disk that fails at each of its operations, and that loses its power."""

from __future__ import annotations

import json
from pathlib import Path

from finetune import packed_voices
from finetune.packed_voices import NOTE, PackWish
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from tests.voices.packed import FACTS, a_voice
from voices import bundle
from voices.library import Voice
from voices.shelf import Item

pytestmark = needs_linux


class Unheard:
    """A job that nobody follows or stops."""

    def say(self, event):
        pass

    def stop_wanted(self):
        return False


class PackVoice(Scenario):
    """A file that is offered is whole; where none is, the voice can be packed again."""

    def prepare(self, folder: Path) -> None:
        a_voice(folder / "voice")
        older = folder / "cache" / "older-timbre"
        older.mkdir(parents=True)
        (older / "voice.timbre").write_bytes(b"older")
        (older / NOTE).write_text(json.dumps({"file": "voice.timbre"}))

    def act(self, folder: Path) -> None:
        self.pack(folder)
        acknowledge("packed")

    def pack(self, folder: Path) -> None:
        facts = json.loads((folder / "voice" / "voice.json").read_bytes())
        voice = Voice(Item("0" * 12, FACTS["name"], "", False), folder / "voice", facts)
        wish, place = PackWish("", voice.id, "timbre"), folder / "cache" / "newer-timbre"
        packed_voices._pack(Unheard(), voice, wish, place)

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        cache = folder / "cache"
        packed = packed_voices._read(cache / "newer-timbre")
        if packed is None:
            assert not outcome.acknowledged, "the file the user saw is gone"
            self.pack(folder)
            packed = packed_voices._read(cache / "newer-timbre")
        assert bundle.look(packed.path).name == FACTS["name"]
        older = packed_voices._read(cache / "older-timbre")
        assert older is None or older.path.read_bytes() == b"older"


def test_whatever_fails_and_whenever_a_file_that_is_offered_is_whole(tmp_path):
    enumerate_faults(PackVoice, tmp_path)


def test_whenever_the_power_goes_a_file_that_is_offered_is_whole(tmp_path):
    enumerate_power_loss(PackVoice, tmp_path)
