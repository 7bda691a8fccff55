"""Clips of XTTS as what training needs of them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from TTS.tts.layers.tortoise.arch_utils import TorchMelSpectrogram
from TTS.tts.layers.xtts.dvae import DiscreteVAE
from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTTrainer

from engines.base import Clip, Sound
from engines.xtts import features
from engines.xtts.features import MAX_SAMPLES, Featurizer
from tests.engines.xtts.tiny import write_vocab

NORMS = torch.linspace(3, 6, 80)
RATE = 22050


@pytest.fixture(scope="module")
def featurizer(tmp_path_factory):
    vocab = tmp_path_factory.mktemp("base") / "vocab.json"
    write_vocab(vocab)
    return Featurizer(VoiceBpeTokenizer(vocab), make_dvae(), NORMS)


def make_dvae():
    """Make a DVAE like XTTS's in all but its width."""
    torch.manual_seed(0)
    dvae = DiscreteVAE(
        channels=80,
        normalization=None,
        positional_dims=1,
        num_tokens=64,
        codebook_dim=32,
        hidden_dim=32,
        num_resnet_blocks=3,
        kernel_size=3,
        num_layers=2,
        use_transposed_convs=False,
    )
    # As it is made, every frame gets the same code: here what it makes of some sound are the codes.
    with torch.no_grad():
        mel = features.Mel(1024, NORMS)(torch.from_numpy(sound(65 * 1024, seed=9).samples)[None])
        dvae.codebook.embed = dvae.encoder(mel)[0, :, :64]
    return dvae


def sound(samples, seed=0):
    """Something that changes all the time, loud and quiet."""
    random = np.random.default_rng(seed)
    loudness = np.abs(np.sin(np.arange(samples) / 3000 + seed))
    noise = random.normal(size=samples) + np.sin(np.arange(samples) ** 1.3 / 400)
    return Sound((0.2 * loudness * noise).clip(-1, 1).astype(np.float32), RATE)


def clip(samples=40_000, text="the birch canoe slid on the smooth planks.", seed=0, language="en"):
    return Clip(sound(samples, seed), text, language)


@pytest.fixture(scope="module")
def coqui(tmp_path_factory):
    """Make a stand-in for GPTTrainer with what its own computation of features needs."""
    norms = tmp_path_factory.mktemp("norms") / "mel_stats.pth"
    torch.save(NORMS, norms)
    style = {"filter_length": 2048, "hop_length": 256, "win_length": 1024, "mel_fmax": 8000}
    return SimpleNamespace(
        config=SimpleNamespace(audio=SimpleNamespace(sample_rate=RATE, dvae_sample_rate=RATE)),
        torch_mel_spectrogram_style_encoder=TorchMelSpectrogram(**style, mel_norm_file=str(norms)),
        torch_mel_spectrogram_dvae=TorchMelSpectrogram(
            sampling_rate=RATE, mel_norm_file=str(norms)
        ),
        dvae=make_dvae().eval(),
    )


def coquis(coqui, audio, conditioning):
    batch = dict.fromkeys(("text_lengths", "wav_lengths", "padded_text", "cond_idxs"))
    batch |= {"conditioning": conditioning[None, None, None], "wav": audio[None, None]}
    made = GPTTrainer.format_batch_on_device(coqui, batch)
    return made["audio_codes"][0], made["cond_mels"][0, 0]


# Whole numbers of codes, of frames, and what is in between.
LENGTHS = [11_025, 20_480, 40_960 - 1, 40_960 + 1, 65_536, 77_777, 99_999, 150_001]


@pytest.mark.parametrize("samples", LENGTHS)
def test_codes_and_mels_are_those_of_coquis_trainer(featurizer, coqui, samples):
    one = clip(samples)
    audio = torch.from_numpy(one.sound.samples)

    [found] = featurizer.features([one])

    codes, mel = coquis(coqui, audio, audio)
    assert len(found["codes"]) == -(-samples // 1024)
    assert len(set(found["codes"].tolist())) > 4
    assert found["codes"].tolist() == codes[: len(found["codes"])].tolist()
    # What a float16 of this size can tell apart.
    np.testing.assert_allclose(found["mel"].astype(np.float32), mel.numpy(), atol=2e-3)
    assert found["text"].tolist() == featurizer.tokenizer.encode(one.text, "en")
    assert int(found["samples"]) == samples


def test_features_are_the_same_whatever_they_are_made_together_with(featurizer, monkeypatch):
    clips = [clip(samples, seed=seed) for seed, samples in enumerate([*LENGTHS, 30_000, 250_000])]
    together = featurizer.features(clips)

    monkeypatch.setattr(features, "SAMPLES_AT_ONCE", 1)
    alone = featurizer.features(clips)

    for one, other in zip(together, alone, strict=True):
        for name in ("text", "codes", "samples"):
            assert np.array_equal(one[name], other[name])
        np.testing.assert_allclose(
            one["mel"].astype(np.float32), other["mel"].astype(np.float32), atol=2e-3
        )


def test_what_is_kept_of_a_clip_is_small_and_its_own(featurizer):
    long, short = featurizer.features([clip(250_000), clip(12_000)])

    kinds = {name: (value.dtype.name, value.ndim) for name, value in long.items()}
    assert kinds == {
        "text": ("int32", 1),
        "codes": ("int16", 1),
        "mel": ("float16", 2),
        "samples": ("int32", 0),
    }
    assert short["mel"].shape == (80, 12_000 // 256 + 1)
    assert short["mel"].base is None and short["codes"].base is None


def test_a_piece_of_the_mel_is_the_mel_of_the_piece(featurizer, coqui):
    one = clip(200_000)
    start, end = 100, 500
    piece = torch.from_numpy(one.sound.samples[start * 256 : end * 256])

    whole = featurizer.features([one])[0]["mel"].astype(np.float32)

    padded = torch.nn.functional.pad(piece, (0, 132_300 - len(piece)))
    _, mel = coquis(coqui, piece, padded)
    # A window reaches two frames to each side: there one sees the clip, and the other a mirror
    # image at the start and nothing at the end.
    inside = slice(2, end - start - 2)
    np.testing.assert_allclose(whole[:, start:end][:, inside], mel[:, inside], atol=2e-3)
    assert np.abs(whole[:, start:end] - mel[:, : end - start].numpy()).max() > 0.1
    silence = featurizer.silence[:, None].expand(80, 517 - (end - start) - 2)
    torch.testing.assert_close(mel[:, end - start + 2 :], silence)


def test_small_groups_of_like_length_are_computed_at_once():
    groups = [*features._groups([900_000, 10, 500_000, 20, 600_000, 1])]

    assert groups == [[5, 1, 3], [2, 4], [0]]
    assert [*features._groups([])] == []


def test_many_clips_come_back_in_their_order(featurizer):
    sizes = [30_000, 12_000, 200_000, 12_001, 90_000]

    found = featurizer.features([clip(samples) for samples in sizes])

    assert [int(each["samples"]) for each in found] == sizes


def test_a_clip_that_can_be_learned_from_has_no_problem(featurizer):
    assert featurizer.problem(clip()) == ""
    assert featurizer.problem(clip(MAX_SAMPLES)) == ""
    assert featurizer.problem(clip(RATE // 2)) == ""


@pytest.mark.parametrize(
    ("samples", "says"), [(RATE // 2 - 1, "from 0.5 s"), (MAX_SAMPLES + 1, "at most 11.6 s")]
)
def test_a_clip_too_short_or_too_long_is_named(featurizer, samples, says):
    assert says in featurizer.problem(clip(samples))


@pytest.mark.parametrize(
    ("text", "language", "says"),
    [
        (" \n", "en", "It has no text."),
        ('"', "en", "Nothing of its text can be spoken."),
        ("A café ☕ and 漢.", "en", "does not know: ☕, 漢."),
        ("a word " * 60, "en", "and XTTS learns from at most 200."),
        ("hello", "xx", "does not know the language 'xx'"),
        ("9" * 400, "en", "too long to be read out"),
    ],
)
def test_a_text_that_cannot_be_learned_from_is_named_with_the_reason(
    featurizer, text, language, says
):
    assert says in featurizer.problem(clip(text=text, language=language))


def test_a_language_with_a_region_is_known_by_its_language(featurizer):
    assert featurizer.problem(clip(language="pt-br", text="uma palavra.")) == ""


def test_a_package_that_a_language_needs_is_named(featurizer, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypinyin", None)

    said = featurizer.problem(clip(language="zh-cn", text="你好"))

    assert "pypinyin" in said


def test_codes_are_computed_in_full_precision_whatever_training_computes_in(
    featurizer, monkeypatch
):
    matmul, seen = torch.backends.cuda.matmul, []
    encode = featurizer.dvae.get_codebook_indices

    def watched(mel):
        seen.append((matmul.allow_tf32, torch.backends.cudnn.allow_tf32))
        return encode(mel)

    monkeypatch.setattr(featurizer.dvae, "get_codebook_indices", watched)

    matmul.allow_tf32 = True
    try:
        featurizer.features([clip()])
        after = matmul.allow_tf32
    finally:
        matmul.allow_tf32 = False

    assert seen == [(False, False)] and after


def test_nothing_of_the_decoder_is_changed_by_making_features(featurizer):
    featurizer.features([clip()])

    assert not any(each._forward_pre_hooks for each in featurizer.dvae.modules())
    assert not any(weight.requires_grad for weight in featurizer.dvae.parameters())
