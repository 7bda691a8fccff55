"""What `launch.py monitor` shows people, and answers programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from app import ROOT, monitor_commands
from finetune.jobs import queue
from finetune.monitor.cards import Card, Gpus
from finetune.monitor.machine import Computer
from finetune.monitor.sampler import Reading
from tests import nvml
from tests.jobs_at_work import request
from tests.nvml.situations import LOST, told


def shown(reading, ours=frozenset()):
    console = Console(width=200)
    with console.capture() as captured:
        console.print(monitor_commands.shown(reading, set(ours)))
    return captured.get()


def reading(*cards, machine=None, **others):
    computer = Computer(ram_mib=16384, ram_free_mib=4096, cpu_percent=12.4)
    computer = replace(computer, **(machine or {}))
    return Reading(1.0, Gpus(cards, **others), computer)


def test_people_see_a_line_for_each_gpu_and_one_for_the_computer():
    said = shown(reading(told(held_mib={7: 1024, 9: 512})), {7})

    [line] = [line for line in said.splitlines() if "RTX 4070" in line]
    assert line.split() == [
        "0",
        "NVIDIA",
        "GeForce",
        "RTX",
        "4070",
        "2.0",
        "of",
        "12.0",
        "GB",
        "1.0",
        "0.5",
        "0.5",
        "97",
        "%",
        "61",
        "°C",
        "180",
        "of",
        "200",
        "W",
        "2475",
        "MHz",
        "340",
        "in,",
        "12",
        "out",
        "MB/s",
    ]
    assert "RAM 4.0 of 16.0 GB free" in said and "processor 12 %" in said


def test_what_is_unknown_is_a_question_mark_and_its_reason_stands_below():
    gone = Card(2, "GPU-2", "Old", problem="The GPU is gone.")
    card = replace(told(), used_mib=None, watts=None, notes=("It shares.",))

    said = shown(reading(card, Card(1, problem=LOST), gone=(gone,), problem="Odd."))

    assert "? of 12.0 GB" in said and "? of 200 W" in said
    for remark in ("Odd.", "RTX 4070: It shares.", f"1 unknown: {LOST}", "2 Old: The GPU is gone."):
        assert remark in said
    assert "disk ? of ? GB free" in said


def test_memory_counts_by_1024_as_cards_do_and_a_disk_by_1000_as_disks_do():
    said = shown(reading(machine={"disk_mib": 953_674, "disk_free_mib": 95_367}))

    assert "RAM 4.0 of 16.0 GB free" in said and "disk 100.0 of 1000.0 GB free" in said


def test_without_a_gpu_there_is_no_table():
    said = shown(reading(problem="No NVIDIA driver is installed."))

    assert "Used" not in said and said.startswith("No NVIDIA driver is installed.")


def test_the_processes_of_jobs_that_run_are_ours(workspace):
    assert monitor_commands.our_pids(workspace.root) == set()

    job = queue.submit(workspace, request("count", 100_000))
    while (worker := job.folder.worker()) is None:
        pass
    try:
        assert worker.pid in monitor_commands.our_pids(workspace.root)
    finally:
        queue.stop(workspace, job.id)


@pytest.fixture
def with_a_card(tmp_path):
    """The environment of a process that finds a driver with one card."""
    try:
        nvml.build(tmp_path)
    except nvml.NoCompilerError as why:
        pytest.skip(str(why))
    answers = tmp_path / "answers"
    answers.write_text(
        "".join(f"{key} {value}\n" for key, value in nvml.driver(nvml.card(0)).items())
    )
    return {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "NVML_STAND_IN": str(answers)}


def timbre(environment, *typed):
    argv = [sys.executable, "launch.py", *typed]
    done = subprocess.run(
        argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux finds the stand-in by its name")
def test_programs_get_one_object_from_a_driver_found_by_its_name(with_a_card, tmp_path):
    said = json.loads(timbre(with_a_card, "--home", str(tmp_path / "ws"), "monitor", "--json"))

    [card] = said["gpus"]["cards"]
    assert (card["uuid"], card["used_mib"], card["mig"]) == ("GPU-0", 2048, None)
    assert card["shares_mib"] == {"ours": None, "helpers": None, "others": None, "unknown": 2048}
    assert said["computer"]["ram_mib"] > 0 and said["computer"]["cpu_percent"] is not None
    assert not (tmp_path / "ws").exists(), "looking makes nothing"


def test_who_is_no_terminal_gets_it_once(tmp_path):
    said = timbre(os.environ, "--home", str(tmp_path / "ws"), "monitor")

    assert said.count("RAM ") == 1
