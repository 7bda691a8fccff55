"""A studio's page behind its door, with things of a person in it, and secrets beside them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile

from app.door import rules_for
from app.front import Front
from app.screen.desk import desk_for
from app.screen.routes import application
from finetune import projects, runs
from finetune.jobs import queue
from finetune.runs import Plan
from tests import finished
from tests.app.asking import PORT, Asker
from tests.app.safety.judging import CANARY
from tests.stores import add_recording
from voices import library
from voices.workspace import open_workspace


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that holds the workspace, and beside it what nobody may see or change."""
    folder = tmp_path_factory.mktemp("safety")
    (folder / "secret.txt").write_text(CANARY)
    (folder / "outside").mkdir()
    (folder / "outside" / "voice.timbre").write_text(CANARY)
    return folder


@pytest.fixture(scope="module")
def canary(folder):
    return folder / "secret.txt"


@pytest.fixture(scope="module")
def workspace(folder):
    """One with a project, a run and a voice; nothing that is queued in it ever starts."""
    opened = open_workspace(folder / "workspace")
    (opened.root / "studio.json").write_text(json.dumps({"token": CANARY}))
    (opened.root / "away").symlink_to(folder)
    for inside in (opened.cache, opened.voices, opened.runs, opened.root / "models"):
        (inside / "away").symlink_to(folder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def things(workspace, folder):
    """Real ids, so that what is asked gets as far as it can."""
    item = projects.create(workspace, "Anna")
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        recording = add_recording(project.store, "0123456789ab", "one.wav", 9.0)
        for path in (project.original_of(recording), project.working_of(recording.id)):
            soundfile.write(path, np.zeros(9 * 16000, np.int16), 16000, format="FLAC")
        with project.store.change() as store:
            store.execute(
                "INSERT INTO clips VALUES (1, ?, 0, 3, 'Hello there.', 1, '', 0, 1)",
                (recording.id,),
            )
    run = runs.create(workspace, Plan("Ada", item.id, 1, "pocket", "base"))
    voice = library.keep(workspace, finished.voice(folder / "made"), "Ada")
    return {
        "project": item.id,
        "recording": recording.id,
        "clip": 1,
        "saw": 1,
        "upload": "0" * 12,
        "run": run.id,
        "voice": voice.id,
    }


@pytest.fixture(scope="module")
def studio(workspace):
    """The page behind its door, as the server runs it."""
    with pytest.MonkeyPatch.context() as patch, desk_for(workspace) as desk:
        patch.setattr(queue, "_start_keeper", lambda store, folder: None)
        patch.setenv("TIMBRE_OFFLINE", "1")
        front = Front(rules_for("127.0.0.1", PORT), lambda: {"program": "timbre"})
        front.open(application(desk))
        asker = Asker(front)
        asker.desk = desk
        yield asker
        asker.close()
