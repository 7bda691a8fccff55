"""
The process that is killed: writes as fast as it can, and says so only when a call has returned.

`python -m tests.bench.writer transcript|files FOLDER SEED COUNT`. Each line it prints is the
number of the action that is done now; the first says how many were when it began.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path

from tests.bench import model
from tests.stores import OpenTranscript
from voices import files

SETTINGS = "settings"


def main(what: str, folder: Path, seed: int, count: int) -> None:
    {"transcript": write_transcript, "files": write_files}[what](folder, seed, count)


def write_transcript(folder: Path, seed: int, count: int) -> None:
    state = model.after(seed, count)
    transcript = OpenTranscript(folder / "project.db")
    with suppress(sqlite3.IntegrityError):  # it is there already
        transcript.add_recording(model.RECORDING, "One.wav", 3600.0)
    acknowledge(count)
    while True:
        wish = state.next_wish()
        wish.carry_out(transcript)
        state.follow(wish)
        acknowledge(state.count)


def write_files(folder: Path, seed: int, count: int) -> None:
    """In turn: a file replaced, a folder sealed."""
    acknowledge(count)
    while True:
        count += 1
        if turn(count) == "settings":
            files.write_bytes(folder / SETTINGS, filler(seed, count))
        else:
            with files.new_folder(folder / step(count)) as new:
                for name, content in contents(seed, count).items():
                    (new / name).parent.mkdir(exist_ok=True)
                    (new / name).write_bytes(content)
        acknowledge(count)


def whole(seed: int, count: int) -> dict[str, bytes | dict[str, bytes]]:
    """Everything that is there after so many writes, folders as what is in them."""
    there: dict[str, bytes | dict[str, bytes]] = {}
    for each in range(1, count + 1):
        if turn(each) == "settings":
            there[SETTINGS] = filler(seed, each)
        else:
            there[step(each)] = contents(seed, each)
    return there


def turn(count: int) -> str:
    return ("folder", "settings")[count % 2]


def step(count: int) -> str:
    return f"step-{count:06}"


def contents(seed: int, count: int) -> dict[str, bytes]:
    """The files of a sealed folder: of some pages, small, empty."""
    content = filler(seed, count)
    return {"model.safetensors": content, "deep/facts.json": content[:100], "empty": b""}


def filler(seed: int, count: int) -> bytes:
    luck = random.Random(f"{seed} {count}")
    return luck.randbytes(luck.choice((1, 5_000, 200_000)))


def acknowledge(count: int) -> None:
    os.write(1, f"{count}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
