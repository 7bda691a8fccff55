"""The command that speaks: a sentence, a text or a whole script, with a finished voice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app import works
from app.options import Background, Json, VoiceName, open_workspace
from engines.errors import SettingsError, TextError
from finetune import submitting
from finetune.speaking import SpeakWish
from voices import library

app = typer.Typer()


@app.command()
def speak(
    context: typer.Context,
    voice: VoiceName,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="What is said.")] = "",
    file: Annotated[
        str,
        typer.Option(metavar="FILE", help="A text, subtitles (.srt), or a table (.csv) instead."),
    ] = "",
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help=".wav, .flac, .mp3 or .ogg.")
    ] = "spoken.wav",
    language: Annotated[str, typer.Option(metavar="CODE", help="Else the voice's own.")] = "",
    seed: Annotated[int, typer.Option(metavar="N", help="The same says it the same way.")] = 0,
    lufs: Annotated[
        float, typer.Option(metavar="N", min=-40, max=-5, help="How loud the file gets.")
    ] = -16.0,
    as_spoken: Annotated[
        bool, typer.Option("--as-spoken", help="As loud as it comes, instead.")
    ] = False,
    manner: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="How it is said: speed=1.1; repeatable."),
    ] = None,
    replaces: Annotated[
        bool, typer.Option("--replace", help="Write over a file that is there.")
    ] = False,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """
    Speak with a finished voice, a sentence or a whole script.

    A sentence that came out wrong is said again, twice at most, and marked if it still is.

    [dim]launch.py speak Ada "Hello there." -o hello.mp3 · launch.py speak Ada --file book.txt[/]
    """
    if bool(text) == bool(file):
        raise TextError(
            "There is nothing to say, or twice.", "Give a text, or --file and a script."
        )
    manners = dict(_manner(each) for each in manner or [])
    target = Path(output).expanduser().absolute()
    with open_workspace(context) as workspace:
        found = library.find(workspace, voice)
        script = submitting.there(file) if file else submitting.kept_text(workspace, text)
        wish = SpeakWish(
            *(str(workspace.root), found.id, str(script), str(target)),
            *(language, seed, manners, None if as_spoken else lufs),
        )
        title = f"Speak with {found.name}"
        job = submitting.submit_speaking(workspace, wish, title, replaces)
        facts = works.finish(workspace, found.item, job, background, as_json, about="voice")
        works.close(facts, as_json)


def _manner(said: str) -> tuple[str, float]:
    name, _, value = said.partition("=")
    try:
        return name.strip().replace("-", "_"), float(value)
    except ValueError:
        raise SettingsError(f"{said!r} is no NAME=NUMBER.", "Write it as speed=1.1.") from None
