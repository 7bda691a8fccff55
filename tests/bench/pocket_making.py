"""Makes a voice as a person does, with one command in a fresh workspace, and times it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import soundfile

from engines.pocket.facts import RATE, WEIGHTS
from tests.bench import pocket_people
from tests.bench.pocket_people import Prompt
from tests.bench.record import CannotMeasure
from voices import shipped
from voices.library import ENGINE, REFERENCE

_LAUNCH = Path(__file__).parents[2] / "launch.py"
_PATIENCE_S = 3600.0
# Said by launch.py to itself once everything is installed, as it is where a benchmark runs.
_READY = "TIMBRE_ENVIRONMENT_READY"
_TOLD_OF_FAILURE = 1500


@dataclass(frozen=True, slots=True)
class Material:
    """What a voice is made of."""

    recordings: Path
    text: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Made:
    """A finished voice, and how long it took."""

    folder: Path
    seconds: float
    """The whole command."""
    training_s: float
    """Of it, from the training's start to the finished voice."""

    @property
    def engine(self) -> Path:
        return self.folder / ENGINE

    @property
    def reference(self) -> Path:
        return self.folder / REFERENCE

    @property
    def weights_mb(self) -> float:
        return (self.engine / WEIGHTS).stat().st_size / 1e6


def of_demo() -> Material:
    """The recording that ships, and what is said in it: which word when is not told."""
    demo = shipped.demo()
    if not demo.recording.exists():
        raise CannotMeasure(f"{demo.recording} is not there, and the voice is to learn from it.")
    import av

    with av.open(str(demo.recording)) as container:
        assert container.duration is not None
        return Material(demo.recording, demo.script, container.duration / av.time_base)


def of_prompts(taught: Sequence[Prompt], folder: Path) -> Material:
    """Recordings of a sentence or two each, and a table of what is said in them."""
    folder.mkdir()
    rows = []
    for number, prompt in enumerate(taught):
        name = f"{number:03}.wav"
        samples = pocket_people.recorded(prompt).samples
        soundfile.write(folder / name, np.round(samples * 32767).astype(np.int16), RATE)
        rows.append(f"{name}|{prompt.text}.")
    table = folder.with_suffix(".csv")
    table.write_text("\n".join(["audio_file|text", *rows, ""]), encoding="utf-8")
    return Material(folder, table, sum(each.seconds for each in taught))


def make(name: str, material: Material, home: Path) -> Made:
    """Do what `launch.py make` does, from recordings to a voice."""
    arguments = [
        *("--home", str(home), "make", name, str(material.recordings)),
        *("--text", str(material.text), "--engine", "pocket", "--language", "en", "--json"),
    ]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(_LAUNCH), *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S,
        env={**os.environ, _READY: "1"},
    )  # fmt: skip
    seconds = time.perf_counter() - began
    run = _run_of(done)
    voice = Path(run["voice"])
    return Made(voice, seconds, _finished_at(voice) - _began_at(Path(run["folder"])))


def _run_of(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The run that a making told of."""
    try:
        run: dict[str, str] = json.loads(done.stdout)["run"]
        assert run["voice"]
        return run
    except (ValueError, KeyError, TypeError, AssertionError) as cause:
        said = (done.stdout + done.stderr)[-_TOLD_OF_FAILURE:]
        raise CannotMeasure(f"launch.py make gave no voice:\n{said}") from cause


def _began_at(run: Path) -> float:
    """When the training began: its plan is the first that is written of it."""
    said = json.loads((run / "run.json").read_bytes())["made_at"]
    return datetime.fromisoformat(said).timestamp()


def _finished_at(voice: Path) -> float:
    return max(path.stat().st_mtime for path in voice.rglob("*"))
