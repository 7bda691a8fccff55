"""Between what a person types and what the commands answer: options, tables, problems."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app import ROOT
from app.errors import in_words
from engines.errors import StudioError
from voices import workspace as workspaces

# They may stand before or after the command: people type them where they think of them.
_WITH_VALUE = ("--home", "--port", "--listen", "--token")
_PLAIN = ("--no-browser", "--offline")


def run(app: typer.Typer) -> None:
    """Run what was typed; a problem becomes a sentence and an exit code."""
    os.umask(0o077)  # recordings of voices, and the token, are for nobody else on this computer
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not have all our signs
    arguments = globals_first(sys.argv[1:])
    as_json = "--json" in arguments
    try:
        raise SystemExit(app(arguments, prog_name="launch.py", standalone_mode=False))
    except typer.TyperException as misuse:
        said = misuse.format_message().strip().rstrip(".")
        if said:
            _print_problem(StudioError(f"{said}.", "`--help` tells what there is."), as_json)
        raise SystemExit(2) from None
    except (KeyboardInterrupt, typer.Abort):
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        _print_problem(in_words(error, _log_folder(arguments)), as_json)
        raise SystemExit(1) from None


def globals_first(arguments: Sequence[str]) -> list[str]:
    """Put the options that hold for every command before it, where click looks for them."""
    moved: list[str] = []
    rest = list(arguments)
    at = 0
    while at < len(rest) and rest[at] != "--":
        name = rest[at].partition("=")[0]
        if name in _WITH_VALUE + _PLAIN:
            width = 2 if name in _WITH_VALUE and "=" not in rest[at] else 1
            moved += rest[at : at + width]
            del rest[at : at + width]
        else:
            at += 1
    return moved + rest


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        typer.echo("Nothing there yet.")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in heads:
        table.add_column(head, overflow="fold")  # an id cut short is no id
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _print_problem(problem: StudioError, as_json: bool) -> None:
    if as_json:
        print_json({"error": {"what": problem.what, "fix": problem.fix}})
    else:
        typer.echo(str(problem), err=True)


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """What was typed behind an option, with a blank or an equals sign between."""
    for each, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = each.partition("=")
        if name == option:
            return value if equals else following
    return None


def _log_folder(arguments: Sequence[str]) -> Path | None:
    """Where the details of a fault go: the workspace, when there is one already."""
    chosen = _value_of("--home", arguments)
    try:
        root = workspaces.home(chosen, os.environ, ROOT)
    except StudioError:
        return None
    return root if root.is_dir() else None
