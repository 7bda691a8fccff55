"""
Makes the demo recording of its script: `python -m engines.pocket.pretrain.demo FOLDER`.

Read by a voice that the base was never taught with, with pauses as a reader makes them.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile

from engines.pocket.facts import RATE
from engines.pocket.pretrain.teachers import Teacher, say
from engines.pocket.sound import levelled

READER = Teacher("rms", "flite", "rms", 0.0)
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.25, 0.8


def main(folder: Path) -> None:
    """Read script.txt of a folder into recording.opus."""
    lines = (folder / "script.txt").read_text(encoding="utf-8").splitlines()
    chance = random.Random(1)
    parts = [_silence(chance)]
    with TemporaryDirectory() as between:
        for said in say(READER, lines, Path(between)):
            parts += [said.samples, _silence(chance)]
    samples = levelled(np.concatenate(parts))
    soundfile.write(folder / "recording.opus", samples, RATE, format="OGG", subtype="OPUS")


def _silence(chance: random.Random) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    seconds = chance.uniform(_SHORTEST_PAUSE, _LONGEST_PAUSE)
    return np.zeros(round(seconds * RATE), np.float32)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
