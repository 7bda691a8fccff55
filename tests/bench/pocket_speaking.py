"""
`python -m tests.bench.pocket_speaking TASK.json`: a process that speaks with a finished voice.

It has one thread and nothing else to do, so that what it takes can be timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from engines.base import Sound
from engines.pocket.facts import RATE, WEIGHTS
from tests.bench.pocket_making import Made
from tests.bench.record import CannotMeasure
from voices import shipped

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 1800.0
_THREADS = "1"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a voice said, and natural speech that went through vocoders."""

    sounds: tuple[Sound, ...]
    copies: tuple[Sound, ...]
    """By the base's vocoder, which never heard this voice."""
    learned_copies: tuple[Sound, ...]
    """By the voice's own, which has learned to make the best of bands that are drawn."""
    load_s: float
    seconds: tuple[float, ...]
    """How long each sentence took."""

    @property
    def rtf(self) -> float:
        """Seconds for each second of sound, after the first sentence."""
        return sum(self.seconds[1:]) / sum(each.seconds for each in self.sounds[1:])

    @property
    def rtf_first(self) -> float:
        return self.seconds[0] / self.sounds[0].seconds


def speak(made: Made, texts: Sequence[str], natural: Sequence[Sound], folder: Path) -> Spoken:
    """Have a voice say texts, the first of them twice, and copy natural speech."""
    folder.mkdir()
    for number, sound in enumerate(natural):
        _write(folder / f"natural-{number}.wav", sound)
    task = {
        **{"engine": str(made.engine), "reference": str(made.reference), "folder": str(folder)},
        **{"texts": [texts[0], *texts], "natural": len(natural)},
        "base": str(shipped.base("pocket", "english")),
    }
    path = folder / "task.json"
    path.write_text(json.dumps(task), encoding="utf-8")
    _in_process(path)
    told = json.loads((folder / "told.json").read_bytes())
    return Spoken(
        tuple(_read(folder / f"spoken-{number}.wav") for number in range(len(texts) + 1)),
        tuple(_read(folder / f"copy-{number}.wav") for number in range(len(natural))),
        tuple(_read(folder / f"learned-copy-{number}.wav") for number in range(len(natural))),
        told["load_s"],
        tuple(told["seconds"]),
    )


def _in_process(task: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.pocket_speaking", str(task)],
        cwd=_ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S,
        env={**os.environ, "OMP_NUM_THREADS": _THREADS},
    )  # fmt: skip
    if done.returncode:
        raise CannotMeasure(f"the voice did not speak:\n{done.stderr[-1500:]}")


# ---- In the process ------------------------------------------------------------------------------


def main(path: Path) -> int:
    """Load the voice, speak, copy; write the sounds and how long each took."""
    import torch

    from engines.pocket import saving, speaking

    torch.set_num_threads(int(_THREADS))
    task = json.loads(path.read_bytes())
    engine, folder = Path(task["engine"]), Path(task["folder"])
    reference = _read(Path(task["reference"]))
    (engine / WEIGHTS).read_bytes()  # so that the disk is warm
    began = time.perf_counter()
    network, _ = saving.load(engine, dropout=0.0)
    like = speaking.Manner.of(reference)
    load_s = time.perf_counter() - began
    seconds = []
    for number, text in enumerate(task["texts"]):
        began = time.perf_counter()
        sound = speaking.speak(network, text, like, seed=number)
        seconds.append(time.perf_counter() - began)
        _write(folder / f"spoken-{number}.wav", sound)
    base, _ = saving.load(Path(task["base"]), dropout=0.0)
    for number in range(task["natural"]):
        natural = _read(folder / f"natural-{number}.wav")
        for name, net in (("copy", base), ("learned-copy", network)):
            _write(folder / f"{name}-{number}.wav", _copied(net.vocoder, natural, number))
    told = {"load_s": load_s, "seconds": seconds}
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    return 0


def _copied(vocoder: object, natural: Sound, seed: int) -> Sound:
    """What the vocoder makes of natural speech's own bands and pitch."""
    import torch

    from engines.pocket import sound as heard

    assert callable(vocoder)
    samples = heard.whole_frames(heard.levelled(heard.at_rate(natural)))
    melody = heard.pitch(samples)
    noise = torch.randn(1, len(samples), generator=torch.Generator().manual_seed(seed))
    told = (heard.mels(samples), melody.logarithms, melody.voiced.astype(np.float32))
    with torch.inference_mode():
        made = vocoder(*(torch.from_numpy(each)[None] for each in told), noise)
    return Sound(made[0].numpy(), RATE)


def _write(path: Path, sound: Sound) -> None:
    soundfile.write(path, sound.samples, sound.rate, subtype="FLOAT")


def _read(path: Path) -> Sound:
    samples, rate = soundfile.read(path, dtype="float32")
    return Sound(np.asarray(samples, np.float32), rate)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
