"""The command that tells of a training before it is begun: what fits, how fast, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from app import terminal, views, works
from app.options import Json, ProjectName, open_workspace, with_settings
from app.train_commands import (
    BaseFolder,
    EngineName,
    Learn,
    LoraRank,
    More,
    engine_for,
    planned_for,
    wished_for,
)
from engines.errors import SettingsError
from finetune import projects, submitting
from finetune.fitting.budget import memory
from finetune.forecasts import Card, ForecastWish

app = typer.Typer()

_HEADS = ("", "Clips at once", "A step", "Memory", "Clips a second", "Fits")


@app.command()
@with_settings
def plan(
    context: typer.Context,
    project: ProjectName,
    learn: Learn,
    engine: EngineName = "",
    base: BaseFolder = "",
    version: Annotated[
        int | None, typer.Option(metavar="N", help="A frozen dataset. Else the newest.")
    ] = None,
    gpu_gib: Annotated[
        float | None,
        typer.Option(metavar="N", min=1, max=1024, help="Of a GPU that is not in this computer."),
    ] = None,
    compute_capability: Annotated[
        str, typer.Option(metavar="C", help="Of that GPU: 8.6 for an RTX 3060, 8.9 for a 4060.")
    ] = "8.6",
    devices: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="How many such GPUs share a step.")
    ] = 1,
    effective_batch: Annotated[
        int | None,
        typer.Option(metavar="B", min=1, max=4096, help="Clips behind each step, like --batch."),
    ] = None,
    search: Annotated[
        bool,
        typer.Option("--search", help="Find the most clips at once by trying, not by a fit."),
    ] = False,
    lora_rank: LoraRank = None,
    more: More = None,
    as_json: Json = False,
) -> None:
    """
    Tell what a training would take: settings that fit, memory, speed, time, and why.

    On this computer it is measured; for a GPU that is not in it, it is an estimate.

    [dim]launch.py plan --project Ada · … --engine xtts --gpu-gib 12 --compute-capability 8.6[/]
    """
    card = Card(gpu_gib, _capability(compute_capability)) if gpu_gib else None
    if search and card:
        raise SettingsError(
            "--search tries on this computer, and --gpu-gib asks for another.",
            "Leave one of them out.",
        )
    if effective_batch:
        learn = replace(learn, typed={**learn.typed, "batch": effective_batch})
    with open_workspace(context) as workspace:
        item = projects.shelf(workspace).find(project)
        chosen = engine_for(workspace, item, engine)
        wished = wished_for(workspace, chosen, learn, lora_rank, more, [], "")
        made, _ = planned_for(workspace, item, chosen, replace(wished, base=base), version)
        wish = ForecastWish(str(workspace.root), made, card, devices, search)
        job = submitting.submit_forecast(workspace, item, wish)
        facts = works.finish(workspace, item, job, False, as_json)
    if as_json:
        terminal.print_json(facts)
    else:
        _show(facts)


def _show(facts: Mapping[str, Any]) -> None:
    rows = [_row(each) for each in (facts["chosen"], *facts["alternatives"])]
    terminal.print_table(_HEADS, rows)
    for reason in facts["reasons"]:
        typer.echo(reason)
    for rate in facts["rates"]:
        typer.echo(f"Learning rate {rate['rate']:.2g} ({rate['rule']}): {rate['reason']}.")
    steps = f"{facts['steps']:,} steps of {facts['batch']} clips"
    seconds = facts["seconds"]
    typer.echo(f"{steps}, about {views.duration(seconds)}." if seconds else f"{steps}.")
    if facts["estimate"]:
        typer.echo("This is an estimate, right to about a fifth: a training measures it itself.")


def _row(option: Mapping[str, Any]) -> tuple[str, ...]:
    speed, over = option["clips_per_second"], option["over_mb"]
    way = [
        f"LoRA {option['lora_rank']}" if option["lora_rank"] else "all weights",
        option["precision"],
        *([option["optimizer"]] if option["optimizer"] != "adamw" else []),
        *(["recompute"] if option["recompute"] else []),
    ]
    return (
        ", ".join(way),
        str(option["micro_batch"]),
        f"{option['accumulation']} x",
        memory(option["taken_mb"] * 1e6),
        f"{speed:.3g}" if speed else "unknown",
        "yes" if option["fits"] else f"no, by {memory(over * 1e6)}",
    )


def _capability(typed: str) -> tuple[int, int]:
    major, _, minor = typed.partition(".")
    try:
        return int(major), int(minor or 0)
    except ValueError:
        raise SettingsError(
            f"{typed!r} is no compute capability.", "Write it as 8.6; NVIDIA lists them by card."
        ) from None
