"""Whether this machine can do the work: one check a line, each with what to do when it fails."""

from __future__ import annotations

import io
import os
import platform
import re
import shutil
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

import engines
from app.setup.environment import TorchFacts, read_stamp
from engines.base import Engine
from engines.errors import NotDownloadedError, StudioError
from finetune import bases, gpu, projects, runs
from finetune.jobs import queue
from voices import files
from voices.workspace import Workspace, open_workspace

Verdict = Literal["ok", "note", "problem"]
# A base of 2 GB, two full checkpoints of a 500 M model with its optimizer, and air.
ROOMY_GB = 20
TIGHT_GB = 2
LITTLE_RAM_GB = 7


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. A problem keeps the main job from running; a note does not."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""


def examine(root: Path, installed: Path) -> Iterator[Check]:
    """
    Look at everything, one after the other, telling each as it is known.

    `root` is the workspace, `installed` the folder that Timbre and its environment are in.
    """
    stamp = read_stamp(installed)
    torch = stamp.torch if stamp else None
    yield python()
    yield disk(shutil.disk_usage(_nearest(root)).free)
    yield ram(psutil.virtual_memory().total)
    yield torch_check(torch)
    yield from _look("GPU", lambda: graphics(gpu.read(), torch))
    yield from _look("Audio", audio)
    yield browser()
    yield from _look("Workspace", lambda: workspace_health(root))
    yield from _look("Engines", lambda: engine_checks(root / "models"))


def _look(name: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Look at one thing; what breaks there is a finding, and the rest is looked at still."""
    try:
        yield from look()
    except StudioError as error:
        yield Check(name, "problem", error.what, error.fix)
    except Exception as error:
        yield Check(name, "problem", f"{type(error).__name__}: {error}", _SET_UP_AGAIN)


def usable(checks: list[Check]) -> bool:
    """Whether the main job can run."""
    return all(check.verdict != "problem" for check in checks)


def python() -> Check:
    return Check("Python", "ok", f"{platform.python_version()} on {platform.platform(terse=True)}")


def disk(free_bytes: int) -> Check:
    free_gb = free_bytes / 1e9
    found = f"{free_gb:.0f} GB free"
    if free_gb < TIGHT_GB:
        return Check("Disk", "problem", found, f"Free at least {TIGHT_GB} GB for the workspace.")
    if free_gb < ROOMY_GB:
        return Check("Disk", "note", found, f"A large engine wants {ROOMY_GB} GB for a training.")
    return Check("Disk", "ok", found)


def ram(total_bytes: int) -> Check:
    total_gb = total_bytes / 2**30
    if total_gb < LITTLE_RAM_GB:
        return Check(
            "RAM", "note", f"{total_gb:.0f} GB", "Small engines only; close other programs."
        )
    return Check("RAM", "ok", f"{total_gb:.0f} GB")


def torch_check(torch: TorchFacts | None) -> Check:
    """The installed torch, as it was found at set-up: importing it takes seconds."""
    if torch is None or torch.problem:
        found = torch.problem if torch else None
        return Check("torch", "problem", found or "not installed as it should be", _SET_UP_AGAIN)
    return Check("torch", "ok", f"{torch.version}, CUDA {torch.cuda or 'none'}")


def graphics(gpus: gpu.Gpus, torch: TorchFacts | None) -> Iterator[Check]:
    """The cards, and whether the installed torch can use them."""
    if not gpus.cards:
        yield Check("GPU", "note", gpus.problem or "none", "Small engines train without one.")
    for card in gpus.cards:
        yield card_check(card, gpus, torch)


def card_check(card: gpu.Card, gpus: gpu.Gpus, torch: TorchFacts | None) -> Check:
    """One card: what it has, and whether torch was built for it."""
    name = f"GPU {card.index}"
    capability = f"{card.capability[0]}.{card.capability[1]}" if card.capability else "unknown"
    found = (
        f"{card.name or 'unknown'}, {_gb(card.free_mib)} of {_gb(card.total_mib)} GB free,"
        f" compute capability {capability},"
        f" driver {gpus.driver or 'unknown'} (CUDA {gpus.cuda or 'unknown'})"
    )
    if torch is None:
        return Check(name, "note", found, "Whether torch can use it is not known.")
    if torch.cuda is None:
        fix = f"This torch was built without GPU support. {_SET_UP_AGAIN}"
        return Check(name, "problem", found, fix)
    if gpus.cuda and _version(gpus.cuda) < (int(torch.cuda.split(".")[0]), 0):
        fix = f"torch needs CUDA {torch.cuda}: update the NVIDIA driver. {_SET_UP_AGAIN}"
        return Check(name, "problem", found, fix)
    problem = built_for(card.capability, torch.architectures)
    return Check(name, "problem" if problem else "ok", found, problem)


def built_for(capability: tuple[int, int] | None, architectures: tuple[str, ...]) -> str:
    """Why a card cannot run this torch build, and what to do; "" when it can or nobody knows."""
    matches = [re.fullmatch(r"sm_(\d+)(\d)[a-z]?", name) for name in architectures]
    built = [(int(match[1]), int(match[2])) for match in matches if match]
    if capability is None or not built:
        return ""
    # A build for 8.0 runs on 8.6 too; never on another first number.
    if any(major == capability[0] and minor <= capability[1] for major, minor in built):
        return ""
    oldest, newest = min(built), max(built)
    asked = f"{capability[0]}.{capability[1]}"
    if capability > newest:
        return (
            f"The card ({asked}) is newer than this torch (up to {newest[0]}.{newest[1]})."
            " Update Timbre, which brings a newer torch."
        )
    return (
        f"The card ({asked}) is too old for this torch (from {oldest[0]}.{oldest[1]})."
        " Train on the CPU with a small engine, or use a newer card."
    )


def audio() -> Iterator[Check]:
    """Write a second of sound and read it back, with the two libraries that do so."""
    import av
    import numpy as np
    import soundfile

    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    written = io.BytesIO()
    soundfile.write(written, tone, 16000, format="FLAC")
    written.seek(0)
    with av.open(written) as container:
        frames = [frame.to_ndarray().ravel() for frame in container.decode(audio=0)]
    heard = np.concatenate(frames) / 2**15
    if len(heard) != len(tone) or float(np.abs(heard - tone).max()) > 1e-3:
        yield Check("Audio", "problem", "a second of sound came back changed", _SET_UP_AGAIN)
    else:
        yield Check("Audio", "ok", "a second of sound written and read back")


def browser() -> Check:
    try:
        webbrowser.get()
    except webbrowser.Error:
        return Check("Browser", "note", "none found", "Open the address that the studio prints.")
    return Check("Browser", "ok", "found")


def workspace_health(root: Path) -> Iterator[Check]:
    """What interrupted work left in the workspace."""
    if not root.exists():
        if os.access(_nearest(root), os.W_OK):
            yield Check("Workspace", "ok", f"{root} (is made at the first start)")
        else:
            fix = "Choose a folder you may write to with --home."
            yield Check("Workspace", "problem", f"{root} cannot be made", fix)
        return
    workspace = open_workspace(root)
    try:
        yield Check("Workspace", "ok", str(root))
        yield from leftovers(workspace)
    finally:
        workspace.close()


def leftovers(workspace: Workspace) -> Iterator[Check]:
    """What interrupted work left, projects that are not in the list, and jobs without an answer."""
    found = [path for folder in workspace.written_in() for path in files.leftovers(folder)]
    unlisted = projects.unlisted(workspace)
    kept = [path for path in unlisted if projects.holds_something(path)]
    found += [path for path in unlisted if path not in kept]
    if found:
        said = f"{len(found)} left over from interrupted work: {_few(workspace, found)}"
        yield Check("Leftovers", "note", said, "They hold nothing and can be deleted.")
    if kept:
        said = f"{len(kept)} with recordings, not in the list: {_few(workspace, kept)}"
        yield Check("Projects", "note", said, "Keep them: the next start lists them again.")
    if unreadable := [folder.path for folder in runs.damaged(workspace)]:
        said = f"{len(unreadable)} that cannot be read: {_few(workspace, unreadable)}"
        yield Check("Runs", "note", said, "Their checkpoints and samples are still in there.")
    silent = [job.request.title for job in queue.jobs(workspace) if job.silent]
    if silent:
        fix = "Stop them; if that fails, restart the computer."
        yield Check("Jobs", "note", f"not answering: {', '.join(silent)}", fix)


def _few(workspace: Workspace, paths: list[Path]) -> str:
    shown = [str(path.relative_to(workspace.root)) for path in paths[:3]]
    return ", ".join([*shown, "..."] if len(paths) > len(shown) else shown)


def engine_checks(models: Path) -> Iterator[Check]:
    """Each engine: whether it can be used, and what it still lacks."""
    if not engines.ENGINES:
        yield Check("Engines", "note", "none comes with this version yet")
    for name in engines.ENGINES:
        yield engine_check(engines.find(name), models)


def engine_check(engine: Engine, models: Path) -> Check:
    name = f"Engine {engine.title}"
    if problem := engine.missing():
        return Check(name, "note", problem, "Without it other engines can be used.")
    try:
        base = bases.find_base(engine, "", models)
    except NotDownloadedError as missing:
        return Check(name, "note", "usable; no base was downloaded", missing.fix)
    return Check(name, "ok", f"usable, base in {base}")


def _nearest(path: Path) -> Path:
    """The path, or the closest folder above it that is there."""
    return path if path.exists() or path == path.parent else _nearest(path.parent)


def _gb(mib: int | None) -> str:
    return "unknown" if mib is None else f"{mib / 1024:.1f}"


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


_SET_UP_AGAIN = "Delete the folder .venv and start Timbre again."
