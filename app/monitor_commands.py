"""The command that shows what the GPUs and the computer are doing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from app import terminal
from app.options import Json
from finetune import gpu
from finetune.jobs import process
from finetune.jobs.folder import JobFolder
from finetune.monitor.cards import Card
from finetune.monitor.kept import as_json as reading_facts
from finetune.monitor.machine import Computer, Machine
from finetune.monitor.sampler import EVERY_SECONDS, Reading, Sampler
from finetune.monitor.whose import Shares, shares

app = typer.Typer()

CARD_HEADS = ("GPU", "Used", "Ours", "Others", "Unknown", "Busy", "Heat", "Power", "Clock", "PCIe")
_FIRST_LOOK_SECONDS = 0.3
# The processes of a job change seldom, and to look for them takes longer than to read the GPUs.
_FAMILY_SECONDS = 5.0


@app.command()
def monitor(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Show it once and leave.")] = False,
    as_json: Json = False,
) -> None:
    """
    Show what the GPUs and the computer are doing, anew each second. Ctrl-C leaves.

    [dim]launch.py monitor · launch.py monitor --once · launch.py monitor --json[/]
    """
    home: Path = context.find_root().obj.home
    if as_json:
        terminal.print_json(facts(look(home), our_pids(home)))
    elif once or not sys.stdout.isatty():
        Console().print(shown(look(home), our_pids(home)))
    else:
        _follow(home)


def look(home: Path) -> Reading:
    """Read once; the processor's work is counted for a moment first."""
    machine = Machine(home)
    machine.read()
    time.sleep(_FIRST_LOOK_SECONDS)
    return Reading(time.time(), gpu.read(), machine.read())


def our_pids(home: Path) -> set[int]:
    """The processes of the jobs that run in a workspace, and all they started."""
    folders = [JobFolder(path) for path in (home / "jobs").glob("*")]
    found = (process.descendants(each.worker()) for each in folders if each.outcome() is None)
    return {one.pid for family in found for one in family}


def _follow(home: Path) -> None:
    sampler = Sampler(gpu.DRIVER, Machine(home))
    sampler.start()
    ours, looked_at = our_pids(home), time.monotonic()
    try:
        with Live(Text("Reading …"), auto_refresh=False) as live:
            while True:
                if time.monotonic() - looked_at > _FAMILY_SECONDS:
                    ours, looked_at = our_pids(home), time.monotonic()
                if reading := sampler.latest():
                    live.update(shown(reading, ours), refresh=True)
                time.sleep(EVERY_SECONDS)
    finally:
        sampler.stop()


def facts(reading: Reading, ours: set[int]) -> dict[str, Any]:
    """One reading for programs, and whose the memory is."""
    said = reading_facts(reading)
    for told, card in zip(said["gpus"]["cards"], reading.gpus.cards, strict=True):
        told["shares_mib"] = asdict(shares(card, ours))
    return said


def shown(reading: Reading, ours: set[int]) -> Group:
    """One reading for people: a line a GPU, what cannot be told, and a line for the computer."""
    cards = (*reading.gpus.cards, *reading.computer.cards)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in CARD_HEADS:
        table.add_column(head)
    for card in cards:
        table.add_row(*(Text(cell) for cell in card_row(card, shares(card, ours))))
    lines = [Text(line) for line in (*remarks(reading), computer_line(reading.computer))]
    return Group(*([table] if cards else []), *lines)


def card_row(card: Card, whose: Shares) -> tuple[str, ...]:
    """One GPU; "?" is unknown."""
    power = f"{_number(card.watts)} of {_number(card.watts_limit)} W"
    traffic = f"{_number(card.received_mb_s)} in, {_number(card.sent_mb_s)} out MB/s"
    return (
        f"{card.index} {card.name or 'unknown'}",
        f"{_gb(card.used_mib)} of {_gb(card.total_mib)} GB",
        *(_gb(mib) for mib in (whose.ours, whose.others, whose.unknown)),
        f"{_number(card.busy_percent)} %",
        f"{_number(card.temperature_c)} °C",
        power,
        f"{_number(card.clock_mhz)} MHz",
        traffic,
    )


def remarks(reading: Reading) -> Iterator[str]:
    """What cannot be told, and why: of all GPUs, then of each."""
    if reading.gpus.problem:
        yield reading.gpus.problem
    for card in (*reading.gpus.cards, *reading.gpus.gone, *reading.computer.cards):
        for said in (card.problem, *card.notes):
            if said:
                yield f"{card.index} {card.name or 'unknown'}: {said}"


def computer_line(computer: Computer) -> str:
    return " · ".join(
        (
            f"RAM {_gb(computer.ram_free_mib)} of {_gb(computer.ram_mib)} GB free",
            f"swap {_gb(computer.swap_used_mib)} of {_gb(computer.swap_mib)} GB used",
            f"processor {_number(computer.cpu_percent)} %",
            f"disk {_disk_gb(computer.disk_free_mib)} of {_disk_gb(computer.disk_mib)} GB free",
        )
    )


def _gb(mib: int | None) -> str:
    return "?" if mib is None else f"{mib / 1024:.1f}"


def _disk_gb(mib: int | None) -> str:
    # Disks count by 1,000, as they are sold; memory by 1,024.
    return "?" if mib is None else f"{mib * 2**20 / 1e9:.1f}"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.0f}"
