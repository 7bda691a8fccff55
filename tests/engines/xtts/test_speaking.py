"""Speaking in the middle of a training: the same for the same seed, and nothing of it stays."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from engines.base import Sound
from engines.errors import EngineError
from engines.xtts import ENGINE, speaking
from engines.xtts.settings import XttsSettings
from tests.engines.xtts.tiny import hum

TEXT = "Rice."


@pytest.fixture(scope="module")
def model(xtts_converted):
    return ENGINE.load(xtts_converted, XttsSettings())


@pytest.fixture(scope="module")
def spoken(model):
    """What it says with seed 5, in training mode, and everything that could have changed."""
    model.network.train()
    model._xtts.gpt.gpt.h[0].eval()
    torch.manual_seed(1), random.seed(1), np.random.seed(1)
    before = everything(model)
    sound = model.speak(TEXT, "en", hum(4), 5)
    return sound, before, everything(model)


def everything(model) -> dict[str, object]:
    """Names, modes, places, gradients, and what would be drawn by chance next."""
    network = model.network
    return {
        "names": [name for name, _ in network.named_parameters()],
        "modules": [name for name, _ in network.named_modules()],
        "state": list(network.state_dict()),
        "modes": [module.training for module in network.modules()],
        "trained": [each.requires_grad for each in network.parameters()],
        "inference": [each.is_inference() for each in model._xtts.parameters()],
        "weights": [float(each.detach().double().sum()) for each in network.parameters()],
        "positions": model._xtts.gpt.max_gen_mel_tokens,
        "chance": (torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state())),
        "grad": torch.is_grad_enabled(),
    }


def test_it_speaks_at_24_khz_and_not_silence(spoken):
    sound, _, _ = spoken

    assert sound.rate == 24000 and 0.2 < sound.seconds < 4
    assert np.isfinite(sound.samples).all() and np.abs(sound.samples).max() > 1e-3
    assert sound.samples.dtype == np.float32 and sound.samples.ndim == 1


@pytest.mark.parametrize(
    "what",
    [
        "names",
        "modules",
        "state",
        "modes",
        "trained",
        "inference",
        "weights",
        "positions",
        "chance",
        "grad",
    ],
)
def test_nothing_of_it_stays(spoken, what):
    _, before, after = spoken

    assert after[what] == before[what]


def test_the_same_seed_says_it_the_same_way_and_another_does_not(model, spoken):
    torch.manual_seed(99), random.seed(99)
    model.network.eval()

    again, other = (model.speak(TEXT, "en", hum(4), seed) for seed in (5, 6))

    assert again.samples.tobytes() == spoken[0].samples.tobytes()
    assert other.samples.tobytes() != again.samples.tobytes()


def test_the_network_can_learn_after_it_has_spoken(model, spoken):
    for weight in model.network.parameters():
        (weight * 1.0).sum().backward()
        assert weight.grad is not None
    model.network.zero_grad()


def test_the_reference_may_have_any_rate(model, spoken):
    sound = model.speak("No.", "en", hum(1, rate=48000), 5)

    assert sound.seconds > 0.2 and np.isfinite(sound.samples).all()


def test_weights_that_never_find_an_end_are_cut_off(model, monkeypatch):
    asked = []
    generate = model._xtts.gpt.generate
    monkeypatch.setattr(
        model._xtts.gpt,
        "generate",
        lambda *args, **how: (
            asked.append(model._xtts.gpt.max_gen_mel_tokens) or generate(*args, **how)
        ),
    )

    model.speak("No.", "en", hum(1), 5)

    tokens = len(model._xtts.tokenizer.encode("no.", "en"))
    assert asked == [speaking.CODES_AT_LEAST + speaking.CODES_PER_TOKEN * tokens]


def test_a_failure_while_speaking_leaves_nothing_behind_either(model, monkeypatch):
    before = everything(model)
    monkeypatch.setattr(model._xtts, "inference", lambda *args, **how: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        model.speak(TEXT, "en", hum(1), 5)

    assert everything(model) == before


@pytest.mark.parametrize(
    ("text", "language", "reference", "said"),
    [
        (TEXT, "en", hum(0.2), "lasts 0.20 s, which is too short"),
        ("so " * 400, "en", hum(1), "tokens, and XTTS says from 1 to 401"),
        (TEXT, "sv", hum(1), "cannot read 'sv'"),
    ],
)
def test_what_cannot_be_said_is_refused_in_words(model, text, language, reference, said):
    with pytest.raises(EngineError, match=said):
        model.speak(text, language, reference, 5)


def test_it_speaks_with_additions_of_lora_and_they_are_heard(xtts_converted, spoken):
    model = ENGINE.load(xtts_converted, XttsSettings(lora_rank=2))
    before = everything(model)

    same = model.speak(TEXT, "en", hum(4), 5)
    after = everything(model)
    with torch.no_grad():
        for weight in model.parameters("model"):
            weight += 0.5 * torch.randn_like(weight)
    changed = model.speak(TEXT, "en", hum(4), 5)

    assert same.samples.tobytes() == spoken[0].samples.tobytes() and after == before
    assert changed.samples.tobytes() != same.samples.tobytes()


def test_loud_references_are_clipped_as_coqui_does(model):
    loud = Sound(hum(1).samples * 50, 22050)

    prepared = speaking._prepared(loud, model._xtts.config)

    assert prepared.abs().max() == 1 and prepared.shape == (1, 22050)
