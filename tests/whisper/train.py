"""Make the tiny Whisper from nothing: `python -m tests.whisper.train`.

Speaks a corpus, trains on it on one thread, converts the result to int8 and keeps it in
tests/whisper/model. Stopped at any time, it goes on from where it was when started again.
The model that is kept was trained in five sittings (half an hour, mostly with --bfloat16), which
chose the steps and the mix of windows anew: another run gives one like it, not the same one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import numpy as np

from tests.whisper import corpus as corpora
from tests.whisper import tokens as tokenizing
from tests.whisper.voices import SynthesiserMissing
from tests.whisper.windows import batch_of, shape_of_step

MODEL = Path(__file__).parent / "model"
PEAK_RATE = 1.8e-3
SAVE_EVERY = 100


def main() -> int:
    arguments = _arguments()
    # Two threads on shared cores were three times slower than one: they wait for each other.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    started = time.monotonic()
    try:
        corpus = corpora.gathered(arguments.work, arguments.utterances, arguments.seed)
    except SynthesiserMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    hours = sum(len(said.samples) for said in corpus) / 16_000 / 3600
    print(f"{len(corpus)} sentences, {hours:.2f} h, {time.monotonic() - started:.0f} s", flush=True)
    learn(corpus, arguments.work, arguments.steps, arguments.seed, arguments.bfloat16)
    convert(arguments.work / "whisper", arguments.out)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the tiny Whisper of the tests.")
    work = Path(tempfile.gettempdir()) / "timbre-tiny-whisper"
    parser.add_argument("--work", type=Path, default=work, help="where it keeps what it has so far")
    parser.add_argument("--out", type=Path, default=MODEL)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--utterances", type=int, default=3000)
    parser.add_argument("--steps", type=int, default=2960)
    faster = "nearly twice as fast on a processor with bfloat16, much slower on another"
    parser.add_argument("--bfloat16", action="store_true", help=faster)
    return parser.parse_args()


def learn(
    corpus: list[corpora.Utterance], work: Path, steps: int, seed: int, bfloat16: bool = False
) -> None:
    """Train for the given steps, from the checkpoint if there is one, and save for conversion."""
    import torch

    from tests.whisper.network import PAUSE, Learner, make

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tokens = tokenizing.make()
    phones = sorted({phone.name for said in corpus for phone in said.phones} | {PAUSE})
    learner = Learner(make(tokens), tokens, phones)
    weights = [weight for weight in learner.parameters() if weight.requires_grad]
    print(f"{sum(w.numel() for w in weights) / 1e6:.2f} M weights", flush=True)
    optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.98), weight_decay=0.01)
    step = _restore(work, learner, optimizer)
    recent: list[list[float]] = []
    started = time.monotonic()
    while step < steps:
        # A step's randomness comes from its number alone: stopping and going on changes nothing.
        rng = Random(f"{seed}-{step}")
        windows = batch_of(corpus, tokens, shape_of_step(rng, step / steps), rng)
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            losses, right = learner(windows, np.random.default_rng(rng.getrandbits(32)))
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps)
        optimizer.zero_grad()
        losses.total().backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        step += 1
        recent.append([*losses.numbers(), right])
        if step % 25 == 0:
            text, times, sounds, looking, accuracy = np.mean(recent, axis=0)
            recent.clear()
            print(
                f"{time.monotonic() - started:5.0f} s  step {step}  text {text:.3f}"
                f"  times {times:.3f}  phones {sounds:.3f}  looking {looking:.3f}"
                f"  right {accuracy:.1%}",
                flush=True,
            )
        if step % SAVE_EVERY == 0 or step == steps:
            _save(work, learner, optimizer, step)
    (work / "whisper").mkdir(exist_ok=True)
    learner.whisper.save_pretrained(work / "whisper")
    tokenizing.save(tokens, work / "whisper")


def rate_at(step: int, steps: int) -> float:
    """Up in 80 steps, level, and down to nothing over the last third.

    A level middle lets a run end sooner or later than first thought: only the end has to be done.
    """
    down = min(1.0, (steps - step) / (steps / 3))
    return PEAK_RATE * min(1.0, (step + 1) / 80) * down


def _restore(work: Path, learner, optimizer) -> int:
    import torch

    checkpoint = work / "checkpoint.pt"
    if not checkpoint.exists():
        return 0
    state = torch.load(checkpoint, weights_only=True)
    learner.load_state_dict(state["learner"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def _save(work: Path, learner, optimizer, step: int) -> None:
    import torch

    state = {
        "step": step,
        "learner": learner.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(state, work / "checkpoint.new")
    (work / "checkpoint.new").replace(work / "checkpoint.pt")


def convert(whisper: Path, out: Path) -> None:
    """Turn transformers' folder into the one faster-whisper loads."""
    from ctranslate2.converters import TransformersConverter

    files = ["tokenizer.json", "preprocessor_config.json"]
    TransformersConverter(str(whisper), copy_files=files).convert(
        str(out), quantization="int8", force=True
    )


if __name__ == "__main__":
    raise SystemExit(main())
