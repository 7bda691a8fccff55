"""A project remembers the settings that were chosen for it."""

from __future__ import annotations

from finetune.settings import CutSettings, HearSettings


def test_settings_are_as_they_were_last_chosen(project):
    assert project.settings(CutSettings) == CutSettings()

    project.keep_settings(CutSettings(max_seconds=8))
    project.keep_settings(CutSettings(max_seconds=9, sentences=3))

    assert project.settings(CutSettings) == CutSettings(max_seconds=9, sentences=3)
    assert project.settings(HearSettings) == HearSettings()


def test_a_setting_that_only_a_newer_timbre_knows_is_left_out(project):
    with project.store.change() as store:
        chosen = '{"beam_size": 3, "mood": "good"}'
        store.execute("INSERT INTO settings VALUES ('HearSettings', ?)", (chosen,))

    assert project.settings(HearSettings) == HearSettings(beam_size=3)
