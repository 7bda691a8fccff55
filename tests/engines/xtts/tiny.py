"""A tiny XTTS base of random weights, made of the real classes, as real users have one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from TTS.tts.configs.xtts_config import XttsArgs, XttsAudioConfig, XttsConfig
from TTS.tts.layers.xtts.dvae import DiscreteVAE
from TTS.tts.models import xtts
from TTS.tts.models.xtts import Xtts

from engines.base import Sound

LANGUAGES = [
    "en",
    "es",
    "fr",
    "de",
    "it",
    "pt",
    "pl",
    "tr",
    "ru",
    "nl",
    "cs",
    "ar",
    "zh-cn",
    "ja",
    "hu",
    "ko",
    "hi",
]
LETTERS = "abcdefghijklmnopqrstuvwxyzàáâäçèéêíñóöúüßабвгдежзийклмнопрстуфхцчшщъыьэюя'.,!?-"
SENTENCES = (
    "the birch canoe slid on the smooth planks.",
    "rice is often served in round bowls.",
    "glue the sheet to the dark blue background.",
)


def make_base(
    folder: Path,
    *,
    seed: int = 0,
    dim: int = 64,
    layers: int = 2,
    heads: int = 2,
    old_pickles: bool = False,
) -> Path:
    """
    Write a base folder with a small GPT; HifiDecoder (23 M) and DVAE (52 M) have fixed sizes.

    With `old_pickles` model.pth holds its config as an object too, as the first v2 checkpoints.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_vocab(folder / "vocab.json")
    config = tiny_config(folder / "vocab.json", dim=dim, layers=layers, heads=heads)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Xtts(config)
        model.mel_stats = torch.rand(80) + 4.5
        write_model(folder / "model.pth", model, old_pickles=old_pickles)
        torch.save(model.mel_stats.clone(), folder / "mel_stats.pth")
        torch.save(make_dvae(config).state_dict(), folder / "dvae.pth")
        torch.save(make_speakers(dim), folder / "speakers_xtts.pth")
    config.save_json(str(folder / "config.json"))
    return folder


def tiny_config(vocab: Path, *, dim: int, layers: int, heads: int) -> XttsConfig:
    ids = Tokenizer.from_file(str(vocab)).get_vocab()
    args = XttsArgs(
        gpt_layers=layers,
        gpt_n_model_channels=dim,
        gpt_n_heads=heads,
        decoder_input_dim=dim,
        gpt_number_text_tokens=max(ids.values()) + 1,
        gpt_start_text_token=ids["[START]"],
        gpt_stop_text_token=ids["[STOP]"],
        gpt_num_audio_tokens=1026,
        gpt_start_audio_token=1024,
        gpt_stop_audio_token=1025,
        gpt_use_masking_gt_prompt_approach=True,
        gpt_use_perceiver_resampler=True,
    )
    audio = XttsAudioConfig(sample_rate=22050, dvae_sample_rate=22050, output_sample_rate=24000)
    # What the published v2 says, where it differs from what the class would do.
    spoken = {"temperature": 0.75, "repetition_penalty": 5.0, "gpt_cond_len": 30, "max_ref_len": 30}
    return XttsConfig(model_args=args, audio=audio, languages=LANGUAGES, **spoken)


def write_vocab(path: Path) -> None:
    tokens = ["[STOP]", "[UNK]", "[SPACE]", *[f"[{each}]" for each in LANGUAGES], "[START]"]
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=200,
        special_tokens=tokens,
        initial_alphabet=list(LETTERS),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.save(str(path))


def make_dvae(config: XttsConfig) -> DiscreteVAE:
    return DiscreteVAE(
        channels=80,
        normalization=None,
        positional_dims=1,
        num_tokens=config.model_args.gpt_num_audio_tokens - 2,
        codebook_dim=512,
        hidden_dim=512,
        num_resnet_blocks=3,
        kernel_size=3,
        num_layers=2,
        use_transposed_convs=False,
    )


def make_speakers(dim: int) -> dict[str, dict[str, torch.Tensor]]:
    return {
        name: {
            "gpt_cond_latent": torch.randn(1, 32, dim),
            "speaker_embedding": torch.nn.functional.normalize(torch.randn(1, 512, 1), dim=1),
        }
        for name in ("Ada Ash", "Ben Beech")
    }


def write_model(path: Path, model: Xtts, *, old_pickles: bool = False) -> None:
    content = {"model": model.state_dict()}
    if not old_pickles:
        torch.save(content, path)
        return
    with _classes_where_they_were():
        torch.save({"config": model.config, **content}, path)


@contextmanager
def _classes_where_they_were() -> Iterator[None]:
    """Record the config's parts under the module they lived in when v2 came out."""
    parts = (XttsArgs, XttsAudioConfig)
    now = XttsArgs.__module__
    try:
        for each in parts:
            each.__module__ = xtts.__name__
        yield
    finally:
        for each in parts:
            each.__module__ = now


def hum(seconds: float, *, rate: int = 22050, pitch: float = 140.0) -> Sound:
    """Something like a voice: a pitch that moves, with overtones and pauses."""
    time = np.arange(int(seconds * rate)) / rate
    phase = 2 * np.pi * np.cumsum(pitch * (1 + 0.2 * np.sin(3 * time))) / rate
    tones = sum(np.sin(n * phase) / n for n in range(1, 8))
    loudness = 0.1 * (0.6 + 0.4 * np.sin(7 * time))
    return Sound((loudness * tones).astype(np.float32), rate)
