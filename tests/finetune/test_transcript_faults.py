"""finetune/transcript.py on a disk that fails at each of its operations, or loses its power."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from finetune.transcript import Clip, Edit, Transcript, Values
from tests.faults import (
    Outcome,
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from tests.stores import OpenTranscript

pytestmark = needs_linux


class Edits(Scenario):
    """Every kind of edit; what the screen showed as saved is there, and the history fits."""

    # The texts in spoken order and the state of each action, at first and after each step.
    STATES = (
        ("one|two", "done"),
        ("uno|two", "done done"),
        ("one|two", "done undone"),
        ("uno|two", "done done"),
        ("uno|tw|o", "done done done"),
        ("uno|two", "done done undone"),
        ("unotwo", "done done passed done"),
    )

    def prepare(self, folder: Path) -> None:
        transcript = OpenTranscript(folder / "project.db")
        transcript.add_recording("r", "day one.mp3", 60.0)
        transcript.edit("Import", new=[Values("r", 0, 2, "one"), Values("r", 2, 4, "two")])
        transcript.close()

    def act(self, folder: Path) -> None:
        transcript = OpenTranscript(folder / "project.db")
        steps = (change_text, Transcript.undo, Transcript.redo, split, Transcript.undo, merge)
        for step in steps:
            step(transcript)
            acknowledge("saved")
        transcript.close()

    def check(self, folder: Path, outcome: Outcome) -> None:
        assert_told(outcome)
        transcript = OpenTranscript(folder / "project.db")
        kept = len(outcome.acknowledged)
        found = described(transcript)
        assert found in self.STATES[kept : kept + 2], f"after {kept} steps: {found}"
        self.goes_on(transcript)
        transcript.close()
        assert [path.name for path in folder.iterdir()] == ["project.db"]

    def goes_on(self, transcript: Transcript) -> None:
        """One more edit, which must be the newest, and which undo takes back."""
        before, seen = transcript.clips(), transcript.revision()
        change_text(transcript, "more")
        assert [clip.values.text for clip in transcript.clips(seen)] == ["more"]
        transcript.undo()
        assert [clip.values for clip in transcript.clips()] == [clip.values for clip in before]


def change_text(transcript: Transcript, text: str = "uno") -> None:
    clip = transcript.clips()[0]
    transcript.edit("Text", [changed(clip, text=text)])


def split(transcript: Transcript) -> None:
    clip = transcript.clips()[1]
    rest = replace(clip.values, start=3.0, text="o")
    transcript.edit("Split", [changed(clip, end=3.0, text="tw")], [rest])


def merge(transcript: Transcript) -> None:
    first, second = transcript.clips()
    text = first.values.text + second.values.text
    longer = changed(first, end=second.values.end, text=text)
    transcript.edit("Merge", [longer, changed(second, gone=True)])


def changed(clip: Clip, **values: object) -> Edit:
    return Edit(clip.id, clip.revision, replace(clip.values, **values))


def described(transcript: Transcript) -> tuple[str, str]:
    texts = "|".join(clip.values.text for clip in transcript.clips())
    return texts, " ".join(action.state for action in reversed(transcript.history()))


def test_whatever_fails_and_whenever_every_edit_that_showed_as_saved_is_there(tmp_path):
    enumerate_faults(Edits, tmp_path)


def test_whenever_the_power_goes_every_edit_that_showed_as_saved_is_there(tmp_path):
    enumerate_power_loss(Edits, tmp_path)
