"""The command that speaks: a sentence, a text or a whole script; or what other programs ask for."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

import typer

from app import studio, terminal, works
from app.door import EVERY_ADDRESS, new_token, rules_for
from app.options import Background, Json, open_workspace
from engines.errors import NotFoundError, SettingsError, TextError
from finetune import submitting
from finetune.speaking import SpeakWish
from voices import library
from voices.workspace import Workspace

SPEECH_PORT = 7861
_EXAMPLE = """Voices can be asked for at {base}
Ctrl-C ends it. From Python, with the package openai:

from openai import OpenAI

client = OpenAI(base_url={base!r}, api_key={token!r})
with client.audio.speech.with_streaming_response.create(
    model="timbre", voice={name!r}, input="Hello there."
) as speech:
    speech.stream_to_file("hello.mp3")
"""

app = typer.Typer()


@app.command()
def speak(
    context: typer.Context,
    voice: Annotated[
        str, typer.Argument(metavar="[VOICE]", help="Its name, its id, or the beginning of that.")
    ] = "",
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
    serve: Annotated[
        bool, typer.Option("--serve", help="Speak what other programs ask for, until Ctrl-C.")
    ] = False,
    as_json: Json = False,
) -> None:
    """
    Speak with a finished voice, a sentence or a whole script.

    A sentence that came out wrong is said again, twice at most, and marked if it still is.

    With --serve, programs that can ask OpenAI for speech get it from your voices, and VOICE
    speaks where none of yours is asked for. --port, --listen and --token are as for the studio;
    a token is always needed.

    [dim]launch.py speak Ada "Hello there." -o hello.mp3 · launch.py speak Ada --file book.txt
    launch.py speak --serve[/]
    """
    if serve:
        if text or file:
            raise TextError("--serve says what programs ask for.", "Leave the text out.")
        _serve(context, voice, as_json)
        return
    if not voice:
        raise NotFoundError("No voice is named.", "Name one: `launch.py voices list` shows them.")
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


def _serve(context: typer.Context, voice: str, as_json: bool) -> None:
    """Let other programs speak with the voices, and say how."""
    from app.speech import serving  # with all that it encodes with, which no other command needs

    typed = context.find_root().params
    token = typed["token"] or new_token()
    with open_workspace(context) as workspace:
        name = library.find(workspace, voice).name if voice else _newest(workspace)

    def tell(url: str) -> None:
        base = studio.network_address(url) if typed["listen"] in EVERY_ADDRESS else url
        if as_json:
            terminal.print_json({"base_url": base, "api_key": token})
        else:
            typer.echo(_EXAMPLE.format(base=base, token=token, name=name))

    port = typed["port"] or SPEECH_PORT
    rules = rules_for(typed["listen"], port, token, socket.gethostname())
    wish = serving.Serving(rules, typed["port"] is not None, tell, voice)
    serving.run(context.find_root().obj.home, wish)


def _newest(workspace: Workspace) -> str:
    found = library.listed(workspace)
    return found[0].name if found else "NAME"


def _manner(said: str) -> tuple[str, float]:
    name, _, value = said.partition("=")
    try:
        return name.strip().replace("-", "_"), float(value)
    except ValueError:
        raise SettingsError(f"{said!r} is no NAME=NUMBER.", "Write it as speed=1.1.") from None
