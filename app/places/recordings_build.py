"""Recordings: what can be chosen for a dataset, and its building."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from app.places import of_project
from app.screen import forms, uploads
from app.screen.calls import Call
from app.screen.desk import Desk
from engines.errors import NotFoundError, SettingsError
from finetune import builds, submitting
from finetune.builds import Choice, Words
from finetune.hearing import languages, models
from finetune.settings import CutSettings, HearSettings
from voices import names


def choices(desk: Desk, project: str, language: str | None = None) -> dict[str, Any]:
    """
    What can be chosen for a build: which Whisper, which languages, every setting.

    Without a language it is the one that was chosen for the project.
    """
    item = of_project.item(desk, project)
    with of_project.opened(desk, item) as opened:
        hear, cut = opened.settings(HearSettings), opened.settings(CutSettings)
    language = hear.language if language is None else language
    advice = submitting.advised_whisper(language)
    return {
        "languages": sorted(languages.CODES),
        "whispers": [
            _whisper_facts(desk, each) for each in models.CATALOGUE if each.hears(language)
        ],
        "advised": asdict(advice),
        "hear": [each for each in forms.fields_of(hear) if each.name != "language"],
        "cut": forms.fields_of(cut),
        "hear_values": forms.values_of(hear),
        "cut_values": forms.values_of(cut),
    }


def _whisper_facts(desk: Desk, model: models.Model) -> dict[str, Any]:
    here = True
    try:
        models.find(model.name, submitting.models_folder(desk.workspace))
    except NotFoundError:
        here = False
    facts = {"name": model.name, "mb": model.size_mb, "good_for": model.good_for}
    return {**facts, "here": here, "licence": model.licence, "from": model.repository}


def text(desk: Desk, project: str, sent: list[str], among: bool = False) -> None:
    """Keep the text of the recordings: one file, or several; `among`: they came with recordings."""
    found = [uploads.find(desk.uploads, each) for each in sent]
    by_name = {path.name: path for path in found}
    try:
        _refuse_twice([path.name for path in found])
        builds.keep_text(desk.workspace, of_project.item(desk, project), by_name, among)
    finally:
        for each in sent:
            uploads.discard(desk.uploads, each)


def _refuse_twice(sent: Sequence[str]) -> None:
    alike = [names.key(name) for name in sent]  # on many disks A.txt and a.txt are one file
    for name in sent:
        if alike.count(names.key(name)) > 1:
            raise SettingsError(
                f"Two of these texts are called {name}.",
                "Rename one of them: a text belongs to the recording of its name.",
            )


def build(
    desk: Desk,
    project: str,
    words: Words,
    whisper: str,
    download: bool,
    hear: dict[str, Any],
    cut: dict[str, Any],
) -> str:
    """Queue a build; what cannot be is refused before it begins."""
    item = of_project.item(desk, project)
    with of_project.opened(desk, item) as opened:
        heard = forms.changed(opened.settings(HearSettings), hear)
        clipped = forms.changed(opened.settings(CutSettings), cut)
    choice = Choice(words, whisper, download)
    return builds.build(desk.workspace, item, choice, heard, clipped).id


def go_on(desk: Desk, project: str, job: str) -> str:
    """Do what was stopped or failed once more, from where it was."""
    return builds.go_on(desk.workspace, of_project.item(desk, project), job).id


CALLS: dict[str, Call] = {
    "recordings.choices": choices,
    "recordings.text": text,
    "recordings.build": build,
    "recordings.go": go_on,
}
