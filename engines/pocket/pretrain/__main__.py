"""
Makes the base that pocket ships with, from nothing: `python -m engines.pocket.pretrain FOLDER`.

    corpus -> acoustic network            (one core)
           -> aligner -> vocoder          (another)
           -> model.safetensors + pocket.json

The same seed gives the same weights on the same machine. Stopped or killed, it goes on where it
was. It takes about 50 minutes of two cores, and a GPU when there is one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from engines.pocket.facts import CONFIG, WEIGHTS
from engines.pocket.pretrain.size import Size

_MODULE = "engines.pocket.pretrain"
_ROWS = (("acoustic",), ("aligner", "vocoder"))
"""What is done beside what, in order."""
STAGES = ("corpus", "acoustic", "aligner", "vocoder", "pack")
_VOCODER_EVERY = 3
"""Every third sentence is enough for the vocoder, which sees seconds of them."""


def main() -> int:
    """Do all of it, or one stage."""
    options = _options()
    size = Size(**{name: getattr(options, name) for name in asdict(Size())})
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    if options.stage:
        _STAGES[options.stage](folder, size)
        return 0
    _in_process(folder, size, "corpus")
    _side_by_side(folder, size, _ROWS)
    _in_process(folder, size, "pack")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m engines.pocket.pretrain", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the work and its result are kept")
    parser.add_argument("--stage", choices=STAGES, help="only this part")
    for name, value in asdict(Size()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    return parser.parse_args()


def _command(folder: Path, size: Size, stage: str) -> list[str]:
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(size).items()]
    return [sys.executable, "-m", _MODULE, str(folder), f"--stage={stage}", *sizes]


def _in_process(folder: Path, size: Size, stage: str) -> None:
    begun = time.monotonic()
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(_command(folder, size, stage), check=True, env=alone)
    _note_time(folder, stage, time.monotonic() - begun)


def _note_time(folder: Path, stage: str, seconds: float) -> None:
    """Keep how long a stage took; one that was cut off counts from its last beginning."""
    path = folder / f"{stage}.seconds"
    path.write_text(f"{seconds:.1f}\n", encoding="ascii")


def _minutes(folder: Path) -> float:
    """How long all of it took, on the path that takes longest."""
    took = {path.stem: float(path.read_text(encoding="ascii")) for path in folder.glob("*.seconds")}
    rows = [sum(took.get(stage, 0.0) for stage in row) for row in _ROWS]
    return (took.get("corpus", 0.0) + max(rows)) / 60


def _side_by_side(folder: Path, size: Size, rows: Sequence[Sequence[str]]) -> None:
    """Two processes with a thread each do more than one with two."""

    def do(row: Sequence[str]) -> None:
        for stage in row:
            _in_process(folder, size, stage)

    with ThreadPoolExecutor(len(rows)) as pool:
        list(pool.map(do, rows))


# ---- The stages ----


def _corpus(folder: Path, size: Size) -> None:
    from engines.pocket.pretrain import material

    for done, total in material.make(folder / "corpus", size.sentences, size.seed, workers=2):
        sys.stdout.write(f"corpus {done}/{total}\n")
        sys.stdout.flush()


def _acoustic(folder: Path, size: Size) -> None:
    from engines.pocket.pretrain import material, speech

    taught = material.load(folder / "corpus", size.sentences, size.seed)
    some = [each for each in taught if not each.is_check]
    net = speech.teach(some, size, folder)
    _keep(net, folder / "acoustic.safetensors")


def _aligner(folder: Path, size: Size) -> None:
    from engines.pocket.pretrain import aligner, material

    taught = material.load(folder / "corpus", size.sentences, size.seed)
    some = [each.features for each in taught if not each.is_check]
    _keep(aligner.teach(some, size, folder), folder / "aligner.safetensors")


def _vocoder(folder: Path, size: Size) -> None:
    from engines.pocket.pretrain import material, sounding

    taught = material.load(folder / "corpus", size.sentences, size.seed, with_samples=True)
    some = [each.features for each in taught if not each.is_check][::_VOCODER_EVERY]
    net = sounding.teach(some, size, folder)
    _keep(net, folder / "vocoder.safetensors")


def _pack(folder: Path, size: Size) -> None:
    from engines.pocket import weights
    from engines.pocket.shape import SHIPPED

    made = {**asdict(size), "minutes": round(_minutes(folder), 1)}
    weights.write(
        folder / "base",
        {name: weights.read(folder / f"{name}.safetensors") for name in weights.NETS},
        {"v": 1, "shape": SHIPPED.to_json(), "made": made},
    )
    sys.stdout.write(f"{folder / 'base' / WEIGHTS} and {CONFIG} are there.\n")


def _keep(net: object, path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    assert isinstance(net, torch.nn.Module)
    save_file({name: each.cpu().contiguous() for name, each in net.state_dict().items()}, path)


_STAGES = {
    "corpus": _corpus,
    "acoustic": _acoustic,
    "aligner": _aligner,
    "vocoder": _vocoder,
    "pack": _pack,
}

if __name__ == "__main__":
    raise SystemExit(main())
