"""A tiny base learns twenty clips by heart, and coqui-tts speaks with what comes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch
from TTS.tts.configs.xtts_config import XttsArgs, XttsConfig

from engines.base import Clip, Sound
from engines.xtts import ENGINE, coqui
from engines.xtts.features import Featurizer
from engines.xtts.settings import XttsSettings
from finetune.best import Heard
from finetune.jobs.events import Step
from finetune.runs import RunFolder
from finetune.settings import TrainSettings
from finetune.training import devices, settling
from finetune.training.features import Source, gather
from finetune.training.loop import Lessons, Loop
from tests.engines.xtts import coqui_alone
from tests.engines.xtts.tiny import hum, make_base, make_dvae

SPEECH = sorted((Path(__file__).parents[2] / "whisper" / "speech").glob("*.flac"))
WORDS = ("birch", "canoe", "rice", "bowls", "dark", "blue", "sheet", "round", "glue", "planks")
CLIPS = 20


def speech(number: int) -> Clip:
    """A second or so of speech, and four words that stand for what is said in it."""
    samples, rate = soundfile.read(SPEECH[number % len(SPEECH)], dtype="float32")
    luck = np.random.default_rng(number)
    length = int(luck.uniform(0.8, 1.2) * rate)
    start = int(luck.integers(0, len(samples) - length))
    audio = soxr.resample(samples[start : start + length], rate, 22050)
    text = " ".join(luck.choice(WORDS, 4))
    return Clip(Sound(np.asarray(audio, np.float32), 22050), text, "en")


def teach_codes(base: Path) -> None:
    """Let the random DVAE tell sounds apart: its codes are what it makes of these clips."""
    dvae = make_dvae(XttsConfig(model_args=XttsArgs(gpt_num_audio_tokens=1026)))
    dvae.load_state_dict(torch.load(base / "dvae.pth", weights_only=True))
    made: list[torch.Tensor] = []
    featurizer = Featurizer(None, dvae, torch.load(base / "mel_stats.pth", weights_only=True))
    hook = dvae.encoder.register_forward_hook(lambda *given: made.append(given[2]))
    with torch.no_grad():
        mirrored = featurizer._mirrored([speech(number) for number in range(CLIPS)])
        featurizer._codes(mirrored, [mirrored.shape[-1] // 256 - 7] * CLIPS)
    hook.remove()
    vectors = made[0].transpose(1, 2).flatten(0, 1)
    drawn = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(0))
    chosen = vectors[drawn.repeat(-(-1024 // len(drawn)))[:1024]]
    dvae.codebook.embed.copy_(chosen.T)
    torch.save(dvae.state_dict(), base / "dvae.pth")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """The model after its run, and what the run told of its steps."""
    folder = tmp_path_factory.mktemp("learned")
    base = make_base(folder / "base", dim=128, layers=2)
    teach_codes(base)
    (folder / "converted").mkdir()
    ENGINE.convert(base, folder / "converted")
    model = ENGINE.load(folder / "converted", XttsSettings(dropout=0.0))
    sources = [
        Source(f"{number:04}", f"clip {number}", lambda number=number: speech(number))
        for number in range(CLIPS)
    ]
    store = gather(model, sources, folder / "features", lambda event: None, lambda: False)
    settings = TrainSettings(
        epochs=25, batch=10, learning_rate=3e-3, weight_decay=0.0, listen_every=10**6,
        save_every=10**6,
    )  # fmt: skip
    run = RunFolder(folder / "run")
    for each in (run.path, run.checkpoints, run.best):
        each.mkdir()
    told: list[Step] = []
    Loop(
        *(
            run,
            model,
            Lessons(store, CLIPS, [""] * CLIPS, ""),
        ),
        settling.settle(settings, ENGINE.advised, CLIPS, CLIPS),
        devices.accelerator_for("cpu", "fp32"),
        Heard,
        lambda event: told.append(event) if isinstance(event, Step) else None,
        lambda wish: False,
    ).run()
    return model, told


def test_twenty_clips_are_learned_by_heart(learned):
    model, told = learned

    codes = {
        int(code) for number in range(3) for code in model.features([speech(number)])[0]["codes"]
    }
    assert len(codes) > 40  # there is something to learn
    assert told[-1].parts["mel"] < told[0].parts["mel"] / 10


def test_coqui_tts_speaks_with_it(learned, tmp_path):
    model, _ = learned
    for name in ("voice", "exported"):
        (tmp_path / name).mkdir()
    soundfile.write(tmp_path / "reference.flac", hum(1).samples, 22050)
    model.save(tmp_path / "voice")

    coqui.export(tmp_path / "voice", tmp_path / "reference.flac", tmp_path / "exported")

    coqui_alone.check(coqui_alone.speak(tmp_path / "exported"))
