"""XTTS as the training loop sees it, on a tiny converted base."""

from __future__ import annotations

import pytest
import torch
from TTS.tts.models.xtts import Xtts

from engines.base import Clip, Item, Trainable
from engines.errors import EngineError
from engines.xtts import ENGINE, loading
from engines.xtts.model import features_version
from engines.xtts.settings import XttsSettings
from tests.engines.xtts.tiny import SENTENCES, hum

CLIPS = [
    Clip(hum(1.5, pitch=110), SENTENCES[0], "en"),
    Clip(hum(1.0, pitch=150), SENTENCES[1], "en"),
]


def load(folder, **settings) -> Trainable:
    return ENGINE.load(folder, XttsSettings(**settings))


def items(model):
    made = [
        {name: torch.from_numpy(value) for name, value in features.items()}
        for features in model.features(CLIPS)
    ]
    return [Item(made[0], made[1], 1), Item(made[1], made[0], 2)]


@pytest.fixture(scope="module")
def model(xtts_converted):
    return load(xtts_converted)


def test_a_batch_gives_losses_that_its_weights_can_learn_from(model):
    batch = model.batch(items(model))

    losses = model.network(batch, batch["targets"], *model.turns)
    losses["loss"].backward()

    assert losses["loss"].isfinite() and losses["loss"] > 1
    assert all(each.grad is not None for each in model.parameters("model"))
    assert all(count > 0 for count in batch["targets"].values())


def test_its_weights_are_those_that_coqui_loads_from_the_base(model, xtts_base):
    config = loading.read_config(model._base)
    theirs = Xtts(config)
    theirs.load_checkpoint(config, checkpoint_dir=str(xtts_base), eval=False, strict=True)

    ours = model._xtts.state_dict()

    assert ours.keys() == theirs.state_dict().keys()
    assert all(torch.equal(value, ours[name]) for name, value in theirs.state_dict().items())


def test_only_the_gpt_is_trained_and_moved(model):
    names = [name for name, _ in model.network.named_parameters()]

    assert all(name.startswith("gpt.") for name in names)
    assert {id(each) for each in model.parameters("model")} == {
        id(each) for each in model.network.parameters()
    }
    assert not any(each.requires_grad for each in model._xtts.hifigan_decoder.parameters())
    assert not model._xtts.hifigan_decoder.training


def test_its_blocks_are_those_of_the_transformer(model):
    assert len(model.blocks()) == 2
    assert all(block in model.network.modules() for block in model.blocks())


def test_a_clip_costs_its_text_and_its_codes(model):
    features = model.features(CLIPS[:1])[0]

    assert model.length(features) == len(features["text"]) + len(features["codes"]) > 40


def test_what_only_features_need_is_let_go_of_and_comes_back_when_asked(model):
    before = items(model)
    model.forget_features()

    assert model._featurizer is None
    batch = model.batch(before)
    assert batch["cond"].isfinite().all()
    assert model.problem(CLIPS[0]) == "" and model._featurizer is not None


def test_a_clip_that_cannot_be_learned_from_is_named(model):
    assert "0.20 s" in model.problem(Clip(hum(0.2), SENTENCES[0], "en"))
    assert "no text" in model.problem(Clip(hum(1), " ", "en"))


def test_the_dropout_of_the_base_stays_unless_another_is_wished(xtts_converted, model):
    def shares(model):
        return {each.p for each in model.network.gpt.gpt.modules() if hasattr(each, "p")}

    assert shares(load(xtts_converted, dropout=0.3)) == {0.3}
    assert shares(model) == {0.1}


def test_with_lora_only_its_additions_learn(xtts_converted):
    model = load(xtts_converted, lora_rank=2)

    learns = [name for name, each in model.network.named_parameters() if each.requires_grad]

    assert learns and all("lora_" in name for name in learns)


def test_parts_that_rest_do_not_learn(xtts_converted):
    model = load(xtts_converted, freeze="text_head, conditioning")

    rests = {name for name, each in model.network.named_parameters() if not each.requires_grad}

    assert {name.split(".")[1] for name in rests} == {
        "text_head",
        "conditioning_encoder",
        "conditioning_perceiver",
    }


@pytest.fixture
def copy(xtts_converted, tmp_path):
    for file in xtts_converted.iterdir():
        (tmp_path / file.name).symlink_to(file)
    return tmp_path


@pytest.mark.parametrize("name", ["dvae.safetensors", "mel_stats.safetensors", "vocab.json"])
def test_features_are_made_anew_for_a_base_that_makes_others(copy, model, name):
    assert features_version(copy) == model.features_version
    content = (copy / name).read_bytes()
    (copy / name).unlink()
    (copy / name).write_bytes(content[:-1] + b" ")

    assert features_version(copy) != model.features_version


def test_features_stay_when_only_the_network_is_another(copy, model):
    (copy / "model.safetensors").unlink()

    assert features_version(copy) == model.features_version


def test_a_damaged_base_is_said_to_be_converted_again(copy):
    content = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").unlink()
    (copy / "model.safetensors").write_bytes(content[:-100])

    with pytest.raises(EngineError, match=r"model\.safetensors cannot be loaded") as caught:
        load(copy)

    assert "converted anew" in caught.value.fix
