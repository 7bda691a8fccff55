"""Commands for finished voices: see them, find them, keep order, put away and take back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from app import terminal, voice_views
from app.options import Json, VoiceName, open_workspace
from engines.errors import NotFoundError, SettingsError
from finetune import runs
from voices import adopting, library, travel
from voices.library import Consent, Voice
from voices.workspace import Workspace

app = typer.Typer(help="See finished voices, find them, keep them in order.", no_args_is_help=True)


@app.command("list")
def list_(
    context: typer.Context,
    search: Annotated[
        str, typer.Option(metavar="WORDS", help="In name, tags, language, engine, owner.")
    ] = "",
    trashed: Annotated[bool, typer.Option("--trashed", help="Those in the trash.")] = False,
    as_json: Json = False,
) -> None:
    """
    List finished voices, favourites first.

    [dim]launch.py voices list · launch.py voices list --search "calm en"[/]
    """
    with open_workspace(context) as workspace:
        library.list_again(workspace)
        found = library.listed(workspace, search, trashed=trashed)
        if as_json:
            terminal.print_json([voice_views.facts(each) for each in found])
        else:
            terminal.print_table(voice_views.HEADS, voice_views.rows(found))


@app.command()
def show(context: typer.Context, voice: VoiceName, as_json: Json = False) -> None:
    """
    Show one: where it is from, how it scores, its licence, whose it is.

    [dim]launch.py voices show Ada[/]
    """
    _change(context, voice, as_json, lambda workspace, found: found, whole=True)


@app.command()
def keep(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A finished training.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="Else the run's.")] = "",
    as_json: Json = False,
) -> None:
    """
    Take the voice of a finished training into the library, once more if it is there.

    [dim]launch.py voices keep Ada[/]
    """
    with open_workspace(context) as workspace:
        found = runs.find(workspace, run)
        if not found.folder.is_finished:
            raise NotFoundError(
                f"{found.plan.name} has made no voice yet.", "Let it come to its end."
            )
        kept = library.keep(workspace, found.folder.voice, name or found.plan.name)
        _answer(kept, as_json)


@app.command()
def rename(
    context: typer.Context,
    voice: VoiceName,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    as_json: Json = False,
) -> None:
    """
    Give another name. Nothing on the disk moves.

    [dim]launch.py voices rename Ada "Ada, calm"[/]
    """
    _change(context, voice, as_json, lambda w, found: _renamed(w, found, name))


@app.command()
def tag(
    context: typer.Context,
    voice: VoiceName,
    tags: Annotated[list[str] | None, typer.Argument(metavar="[TAG...]")] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Taken away; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """
    Give tags, and take them away.

    [dim]launch.py voices tag Ada calm story · … --remove calm[/]
    """
    _change(
        context, voice, as_json, lambda w, found: library.tag(w, found, tags or [], remove or [])
    )


@app.command()
def favourite(
    context: typer.Context,
    voice: VoiceName,
    off: Annotated[bool, typer.Option("--off", help="It is none any more.")] = False,
    as_json: Json = False,
) -> None:
    """
    Let one stand first in the list.

    [dim]launch.py voices favourite Ada[/]
    """
    _change(context, voice, as_json, lambda w, found: library.favour(w, found, not off))


@app.command()
def consent(
    context: typer.Context,
    voice: VoiceName,
    whose: Annotated[str, typer.Option(metavar="NAME", help="Whose voice it is.")],
    agreed: Annotated[
        bool | None,
        typer.Option("--agreed/--not-agreed", help="Whether they agree to its being used."),
    ] = None,
    as_json: Json = False,
) -> None:
    """
    Keep whose voice it is, and whether they agree to its being used. It travels with the voice.

    [dim]launch.py voices consent Ada --whose "Ada Lovelace" --agreed[/]
    """
    said = Consent(whose, agreed)
    _change(context, voice, as_json, lambda w, found: library.record_consent(w, found, said))


@app.command("export")
def export_(
    context: typer.Context,
    voice: VoiceName,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .timbre file that is not there.")],
    as_json: Json = False,
) -> None:
    """
    Write one as a single file, for another Timbre. `runs export` writes it for other programs.

    [dim]launch.py voices export Ada ada.timbre[/]
    """
    target = Path(file).expanduser().absolute()
    with open_workspace(context) as workspace:
        found = library.find(workspace, voice)
        manifest = travel.pack(found, target)
        if as_json:
            terminal.print_json({"voice": found.id, "file": str(target), "bytes": manifest.size})
        else:
            typer.echo(f"{found.name} is in {target}. {voice_views.consent(found.consent)}")


@app.command("import")
def import_(
    context: typer.Context,
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A .timbre file, or the folder of an XTTS of another program."
        ),
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="Else its own.")] = "",
    language: Annotated[
        str, typer.Option(metavar="CODE", help="Of a folder: what it speaks, like en.")
    ] = "",
    reference: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Of a folder: 3 to 12 s of the voice. [dim]Else reference.wav or the best of wavs/.[/]",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """
    Take one in. Nothing in it is run, and one that is not whole leaves nothing.

    [dim]launch.py voices import ada.timbre · launch.py voices import xtts-ada/ --language en[/]
    """
    with open_workspace(context) as workspace:
        source = Path(path).expanduser().absolute()
        if adopting.is_foreign(source):
            like = Path(reference).expanduser().absolute() if reference else None
            found = adopting.adopt(workspace, adopting.look(source, name, language, like))
        else:
            _refuse_what_is_packed(language, reference)
            found = travel.unpack(workspace, source, name)
        _answer(found, as_json, whole=True)


@app.command()
def trash(context: typer.Context, voice: VoiceName, as_json: Json = False) -> None:
    """
    Put one out of sight. Nothing is deleted; `voices restore` takes it back.

    [dim]launch.py voices trash Ada[/]
    """
    _change(context, voice, as_json, _trashed)


@app.command()
def restore(context: typer.Context, voice: VoiceName, as_json: Json = False) -> None:
    """
    Take one back from the trash.

    [dim]launch.py voices restore Ada[/]
    """
    with open_workspace(context) as workspace:
        there = {each.name: each.id for each in library.listed(workspace, trashed=True)}
        found = library.find(workspace, there.get(voice, voice))
        library.shelf(workspace).restore(found.id)
        _answer(library.find(workspace, found.id), as_json)


def _refuse_what_is_packed(language: str, reference: str) -> None:
    if language or reference:
        raise SettingsError(
            "A .timbre file brings its own language and reference.",
            "Leave --language and --reference out.",
        )


def _renamed(workspace: Workspace, voice: Voice, name: str) -> Voice:
    library.shelf(workspace).rename(voice.id, name)
    return library.find(workspace, voice.id)


def _trashed(workspace: Workspace, voice: Voice) -> Voice:
    library.shelf(workspace).trash(voice.id)
    return library.find(workspace, voice.id)


def _change(
    context: typer.Context,
    named: str,
    as_json: bool,
    change: Callable[[Workspace, Voice], Voice],
    *,
    whole: bool = False,
) -> None:
    """Do something with a voice and say how it is then."""
    with open_workspace(context) as workspace:
        _answer(change(workspace, library.find(workspace, named)), as_json, whole=whole)


def _answer(voice: Voice, as_json: bool, *, whole: bool = False) -> None:
    if as_json:
        terminal.print_json(voice_views.facts(voice))
    else:
        typer.echo(voice_views.page(voice) if whole else voice_views.line(voice))
