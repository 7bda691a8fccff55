"""What several commands take: common options, settings as options, and what is opened for them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin

import typer

from engines.settings import Checked
from finetune import projects
from finetune.jobs import queue
from finetune.projects import Project
from finetune.settings import CutSettings, HearSettings
from voices import workspace as workspaces
from voices.shelf import Item
from voices.workspace import Workspace

Json = Annotated[bool, typer.Option("--json", help="Answer as JSON, for programs.")]
ProjectName = Annotated[
    str, typer.Option("--project", metavar="NAME", help="The project, by its name or its id.")
]
DatasetName = Annotated[
    str, typer.Option("--name", metavar="NAME", help="The project it is made in.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The project's name or id.")]
VoiceName = Annotated[
    str, typer.Argument(metavar="VOICE", help="Its name, its id, or the beginning of that.")
]
Background = Annotated[
    bool, typer.Option("--background", help="Only start it, and answer with the job's id.")
]
Whisper = Annotated[
    str,
    typer.Option(
        metavar="SIZE|FOLDER",
        help="A Whisper by its name, or a folder with one. Else: the advised.",
    ),
]
Download = Annotated[
    bool, typer.Option("--download", help="Download the Whisper when it is not here.")
]
Again = Annotated[
    bool, typer.Option("--again", help="Hear again what was heard already; edits stay.")
]
Text = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="What is said in them: a transcript, or a folder of some. An English one needs no Whisper.",
    ),
]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="How the text is encoded. [dim]Else found out.[/]")
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options that hold for every command."""

    home: Path


@dataclass(frozen=True, slots=True)
class Opened:
    """A project that a command works on."""

    workspace: Workspace
    item: Item
    project: Project


@contextmanager
def open_workspace(context: typer.Context) -> Iterator[Workspace]:
    workspace = workspaces.open_workspace(context.find_root().obj.home)
    try:
        queue.advance(workspace)
        yield workspace
    finally:
        workspace.close()


@contextmanager
def open_project(context: typer.Context, name: str) -> Iterator[Opened]:
    """Open the project of this name or id."""
    with open_workspace(context) as workspace:
        item = projects.shelf(workspace).find(name)
        with projects.open_project(projects.folder_of(workspace, item)) as project:
            yield Opened(workspace, item, project)


Settings = TypeVar("Settings", bound=Checked)


@dataclass(frozen=True, slots=True)
class Changed(Generic[Settings]):
    """The settings of a kind that were typed; the others are as they were before."""

    kind: type[Settings]
    typed: Mapping[str, Any]

    def with_default(self, name: str, value: Any) -> Changed[Settings]:
        """The same, with one of them as it is unless it was typed."""
        return replace(self, typed={name: value, **self.typed})

    def over(self, before: Settings) -> Settings:
        return replace(before, **self.typed)

    @property
    def alone(self) -> Settings:
        """Over the settings everybody begins with."""
        return self.kind(**self.typed)


Hear = Annotated[Changed[HearSettings], HearSettings]
Cut = Annotated[Changed[CutSettings], CutSettings]


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each of the settings that it takes, and it what was typed."""
    signature = inspect.signature(command, eval_str=True)
    kinds = {
        name: kind
        for name, each in signature.parameters.items()
        if (kind := _kind_of(each.annotation))
    }

    @functools.wraps(command)
    def run(**given: Any) -> None:
        typed = {
            name: {each.name: given.pop(each.name) for each in fields(kind)}
            for name, kind in kinds.items()
        }
        made = {
            name: Changed(
                kind, {key: value for key, value in typed[name].items() if value is not None}
            )
            for name, kind in kinds.items()
        }
        command(**given, **made)

    plain = [each for name, each in signature.parameters.items() if name not in kinds]
    options = [option for kind in kinds.values() for option in _options_of(kind)]
    as_keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in plain]
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # functions take any
        parameters=[*as_keywords, *options]
    )
    return run


def _kind_of(annotation: Any) -> type[Checked] | None:
    """The kind of settings that a parameter is for, if it is one of these."""
    if (
        get_origin(annotation) is not Annotated
        or get_origin(get_args(annotation)[0]) is not Changed
    ):
        return None
    kind: type[Checked] = get_args(annotation)[1]
    return kind


def _options_of(kind: type[Checked]) -> Iterator[inspect.Parameter]:
    for each in fields(kind):
        option = typer.Option(
            f"--{each.name.replace('_', '-')}",
            help=f"{each.metadata['help']}.{_at_first(each.default)}",
        )
        yield inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[type(each.default) | None, option],
        )


def _at_first(default: object) -> str:
    return f" [dim]At first {default}.[/]" if default else ""
