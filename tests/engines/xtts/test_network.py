"""The loss of XTTS: the same as Coqui's trainer computes, and how it is computed."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from TTS.tts.layers.xtts.gpt import GPT
from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTArgs, GPTTrainer

from engines.xtts.batches import Marks, collate, draw_piece
from engines.xtts.network import XttsNetwork, set_dropout
from tests.engines.xtts.test_batches import OTHER, SAME, SILENCE, UPSTREAM, item, mixed

ONE = {"text": 1, "mel": 1}
"""Totals that leave the sums as they are."""


def make_gpt(seed=0, *, dropout=0.0, label_smoothing=0.0, dim=64, layers=2, heads=2):
    """Make a small GPT in which no weight is 0, so that every one has a gradient."""
    torch.manual_seed(seed)
    gpt = GPT(
        layers=layers,
        model_dim=dim,
        heads=heads,
        start_text_token=199,
        stop_text_token=0,
        max_text_tokens=402,
        max_mel_tokens=605,
        max_prompt_tokens=70,
        number_text_tokens=200,
        num_audio_tokens=1026,
        start_audio_token=1024,
        stop_audio_token=1025,
        use_perceiver_resampler=True,
        code_stride_len=1024,
        label_smoothing=label_smoothing,
    )
    for weight in gpt.parameters():
        weight.data += 0.05 * torch.randn_like(weight)
    set_dropout(gpt, dropout)
    return gpt.train()


def collated(items, settings, gpt):
    return collate(items, settings, Marks.of(gpt), SILENCE)


def coquis(items, settings, gpt):
    """Lay out the same clips, hearing the same pieces, as Coqui's trainer does."""
    pieces = [draw_piece(each, settings) for each in items]
    samples = torch.tensor([int(each.features["samples"]) for each in items])
    pad = torch.nn.utils.rnn.pad_sequence
    return {
        "text_inputs": pad([each.features["text"] for each in items], batch_first=True),
        "text_lengths": torch.tensor([len(each.features["text"]) for each in items]),
        # 83 is what the DVAE makes of silence.
        "audio_codes": pad([i.features["codes"].long() for i in items], True, padding_value=83),
        "wav_lengths": samples,
        "cond_mels": filled_up(collated(items, settings, gpt))[:, None],
        "cond_idxs": torch.tensor([[p.start * 256, p.end * 256] for p in pieces]),
        "cond_lens": None,
    }


def filled_up(batch):
    """What conditions with its silence written out, as Coqui's trainer has it."""
    rows = zip(batch["cond"], batch["cond_counts"], strict=True)
    return torch.stack([row.repeat_interleave(counts, dim=1) for row, counts in rows])


def train_step(gpt, batch):
    """Run GPTTrainer's own train_step, without the gigabytes around it."""
    trainer = SimpleNamespace(args=GPTArgs(), xtts=SimpleNamespace(gpt=gpt))
    trainer.forward = lambda *given: GPTTrainer.forward(trainer, *given)
    return GPTTrainer.train_step(trainer, batch, None)[1]


def gradients(module):
    return {name: weight.grad for name, weight in module.named_parameters()}


def far(found, expected):
    """How far tensors are apart, as a share of the size of the second ones; the worst of them."""
    assert found.keys() == expected.keys()
    apart = {name: (found[name] - value).norm() for name, value in expected.items()}
    assert all(value.norm() > 0 for value in expected.values())
    return max(apart[name] / value.norm() for name, value in expected.items())


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("number", [1, 5])
def test_losses_and_gradients_are_those_of_coquis_trainer(number, label_smoothing):
    theirs = make_gpt(label_smoothing=label_smoothing)
    network = XttsNetwork(copy.deepcopy(theirs))
    items = mixed(number)

    expected = train_step(theirs, coquis(items, UPSTREAM, theirs))
    expected["loss"].backward()
    batch = collated(items, UPSTREAM, network.gpt)
    losses = network(batch, batch["targets"], "model")
    losses["loss"].backward()

    args = GPTArgs()
    parts = {
        "text": expected["loss_text_ce"] / args.gpt_loss_text_ce_weight,
        "mel": expected["loss_mel_ce"] / args.gpt_loss_mel_ce_weight,
        "loss": expected["loss"],
    }
    for name, value in parts.items():
        assert losses[name].item() == pytest.approx(value.item(), rel=1e-5)
    assert far(gradients(network.gpt), gradients(theirs)) < 1e-4


def test_the_corrected_loss_is_that_of_a_slow_loop_over_coquis_answers():
    theirs = make_gpt()
    network = XttsNetwork(copy.deepcopy(theirs))
    items = mixed(4)

    given = coquis(items, SAME, theirs)
    del given["cond_idxs"]
    logits = theirs(**given)[2]
    each_loss = []
    for row, each in enumerate(items):
        piece = draw_piece(each, SAME)
        for place, code in enumerate(each.features["codes"].tolist() + [1025] * 4):
            if not piece.start * 256 // 1024 <= place < piece.end * 256 // 1024:
                each_loss.append(-logits[row, :, place].log_softmax(0)[code])
    batch = collated(items, SAME, network.gpt)
    losses = network(batch, batch["targets"], "model")

    assert losses["mel"].item() == pytest.approx((sum(each_loss) / len(each_loss)).item(), rel=1e-5)


@pytest.mark.parametrize("settings", [SAME, OTHER])
def test_micro_batches_add_up_to_the_batch_however_it_is_cut(settings):
    network = XttsNetwork(make_gpt())
    items = mixed(6)
    whole = collated(items, settings, network.gpt)
    expected = network(whole, whole["targets"], "model")
    expected["loss"].backward()
    expected_gradients = {name: each.clone() for name, each in gradients(network).items()}

    for cut in ([1, 5], [2, 2, 2], [4, 1, 1]):
        network.zero_grad()
        found, left = dict.fromkeys(expected, 0.0), list(items)
        for size in cut:
            part, left = left[:size], left[size:]
            batch = collated(part, settings, network.gpt)
            losses = network(batch, whole["targets"], "model")
            losses["loss"].backward()
            found = {name: found[name] + value.item() for name, value in losses.items()}
        assert found == pytest.approx({n: v.item() for n, v in expected.items()}, rel=1e-5)
        assert far(gradients(network), expected_gradients) < 1e-5


def test_a_longer_neighbour_changes_nothing_for_a_clip():
    network = XttsNetwork(make_gpt())
    short, long = item(4, 12_000, seed=1), item(50, 250_000, seed=2)

    def sums(items):
        return network(collated(items, OTHER, network.gpt), ONE, "model")

    together, alone = sums([short, long]), [sums([short]), sums([long])]
    for name, value in together.items():
        assert value.item() == pytest.approx(sum(each[name].item() for each in alone), rel=1e-5)


class Strict(TorchDispatchMode):
    """Refuse what makes the processor wait for the device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        waits = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal")
        assert func.overloadpacket.__name__ not in waits, f"{func} waits for the device"
        return func(*args, **(kwargs or {}))


def test_the_processor_never_waits_for_the_device():
    network = XttsNetwork(make_gpt(dropout=0.1))
    batch = collated(mixed(3), SAME, network.gpt)

    with Strict():
        network(batch, batch["targets"], "model")["loss"].backward()
    with pytest.raises(AssertionError, match="waits"), Strict():
        theirs = make_gpt()
        train_step(theirs, coquis(mixed(3), UPSTREAM, theirs))


def test_collating_never_asks_the_features_device_anything():
    with Strict():
        batch = collate(mixed(3), SAME, Marks(199, 0, 1024, 1025, 32), SILENCE)

    assert batch["targets"]["mel"] > 0


def test_attention_is_causal_without_a_mask_and_laid_out_for_the_fast_kernels(monkeypatch):
    calls = []
    attend = F.scaled_dot_product_attention

    def watched(query, key, value, **options):
        assert query.stride(-1) == key.stride(-1) == value.stride(-1) == 1
        calls.append((options.get("attn_mask") is None, options.get("is_causal", False)))
        return attend(query, key, value, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    network = XttsNetwork(make_gpt(layers=3))
    batch = collated(mixed(3), OTHER, network.gpt)

    network(batch, batch["targets"], "model")

    gpt = network.gpt
    conditioning = len(gpt.conditioning_encoder.attn) + len(gpt.conditioning_perceiver.layers)
    assert calls == [(False, False)] * conditioning + [(True, True)] * 3


def test_with_half_precision_the_losses_stay_in_full_precision():
    network = XttsNetwork(make_gpt())
    batch = collated(mixed(3), OTHER, network.gpt)
    full = network(batch, batch["targets"], "model")

    with torch.autocast("cpu", torch.bfloat16):
        half = network(batch, batch["targets"], "model")

    for name, value in half.items():
        assert value.dtype == torch.float32
        assert value.item() == pytest.approx(full[name].item(), rel=0.02)


def test_the_weights_and_their_names_are_those_of_the_base():
    gpt = make_gpt()
    before = {name: value.clone() for name, value in gpt.state_dict().items()}

    XttsNetwork(gpt)

    after = gpt.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_dropout_is_set_for_the_whole_transformer():
    network = XttsNetwork(make_gpt())
    batch = collated(mixed(2), OTHER, network.gpt)

    def twice():
        return [network(batch, batch["targets"], "model")["mel"].item() for _ in range(2)]

    first, second = twice()
    assert first == second
    set_dropout(network.gpt, 0.5)
    first, second = twice()
    assert first != second
