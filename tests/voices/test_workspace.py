"""The workspace: found where it was asked for, made when missing, refused in words."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from engines.errors import WorkspaceError
from finetune import projects
from voices.workspace import home, open_workspace


def test_the_workspace_is_where_it_was_asked_for():
    beside = Path("/timbre")

    assert home(None, {}, beside) == Path("/timbre/workspace")
    assert home(None, {"TIMBRE_HOME": "/elsewhere"}, beside) == Path("/elsewhere")
    assert home("/chosen", {"TIMBRE_HOME": "/elsewhere"}, beside) == Path("/chosen")
    assert home("~/mine", {}, beside) == Path.home() / "mine"
    assert home("", {"TIMBRE_HOME": ""}, beside) == Path("/timbre/workspace")


def test_a_home_of_somebody_who_is_not_there_is_said_in_words():
    with pytest.raises(WorkspaceError, match="is not a folder"):
        home("~nobody-of-this-name/x", {}, Path("/timbre"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_nobody_else_on_the_computer_can_look_into_it(tmp_path):
    open_workspace(tmp_path / "mine").close()

    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_used_is_said_in_words(tmp_path):
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(WorkspaceError, match="cannot be used") as caught:
        open_workspace(tmp_path / "taken")

    assert "--home" in caught.value.fix


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_said_in_words(tmp_path):
    tmp_path.chmod(0o500)

    with pytest.raises(WorkspaceError, match="cannot be used"):
        open_workspace(tmp_path / "mine")


def test_a_project_cut_off_while_it_was_made_is_not_listed_but_found(workspace, monkeypatch):
    monkeypatch.setattr("voices.shelf.Shelf.add", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        projects.create(workspace, "Anna")

    assert projects.shelf(workspace).all() == []
    assert len(projects.unlisted(workspace)) == 1
