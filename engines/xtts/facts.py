"""What is known of XTTS without loading anything: languages, limits, what its config may say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from engines.base import Manners

Range = tuple[float, float]
"""The least and the most that a number of the config may be."""

HUB_PAGE = "https://huggingface.co/coqui/XTTS-v2"
REFUSED, REACHED_OUT = 3, 77
"""How the throw-away process says that it refused a file, or was stopped by its guard."""

LANGUAGES = frozenset(
    [
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
)
CLIP_RATE = 22050
MIN_CLIP_SECONDS = 0.5
# Coqui's trainer leaves out clips over 255,995 samples without saying so; the network has
# positions for 605 codes of 1,024 samples, and 250 are used by these.
MAX_CLIP_SAMPLES = 255_995

MODEL_ARGS: dict[str, Range] = {
    "gpt_batch_size": (1, 1),
    "kv_cache": (0, 1),
    "gpt_max_audio_tokens": (64, 8192),
    "gpt_max_text_tokens": (64, 8192),
    "gpt_max_prompt_tokens": (8, 8192),
    "gpt_layers": (1, 96),
    "gpt_n_model_channels": (16, 8192),
    "gpt_n_heads": (1, 128),
    "gpt_number_text_tokens": (8, 1_000_000),
    "gpt_start_text_token": (0, 1_000_000),
    "gpt_stop_text_token": (0, 1_000_000),
    "gpt_num_audio_tokens": (8, 1_000_000),
    "gpt_start_audio_token": (0, 1_000_000),
    "gpt_stop_audio_token": (0, 1_000_000),
    "gpt_code_stride_len": (1024, 1024),
    "gpt_use_masking_gt_prompt_approach": (0, 1),
    "gpt_use_perceiver_resampler": (0, 1),
    "input_sample_rate": (22050, 22050),
    "output_sample_rate": (22050, 48000),
    "output_hop_length": (256, 256),
    "decoder_input_dim": (16, 8192),
    "d_vector_dim": (512, 512),
    "cond_d_vector_in_each_upsampling_layer": (0, 1),
}
"""What shapes the model."""

AUDIO: dict[str, Range] = {
    "sample_rate": (22050, 22050),
    "output_sample_rate": (22050, 48000),
    "dvae_sample_rate": (22050, 22050),
}
SPOKEN: dict[str, Range] = {
    "temperature": (0.01, 2),
    "length_penalty": (-10, 10),
    "repetition_penalty": (0.1, 100),
    "top_k": (0, 10_000),
    "top_p": (0, 1),
    "gpt_cond_len": (1, 600),
    "gpt_cond_chunk_len": (1, 600),
    "max_ref_len": (1, 600),
    "sound_norm_refs": (0, 1),
}
"""How it speaks unless told otherwise."""

MANNERS: dict[str, Range] = {
    "temperature": (0.05, 1.5),
    "repetition_penalty": (1, 20),
    "top_k": (1, 200),
    "top_p": (0.05, 1),
    "speed": (0.5, 2),
}
"""What a person may choose of it while a voice speaks: beyond, it only stammers or rushes."""


def manners(usual: Mapping[str, Any]) -> Manners:
    """What may be chosen of a voice; what it says of itself is never beyond it."""
    found = {}
    for name, (low, high) in MANNERS.items():
        default = float(usual.get(name, 1.0))
        found[name] = min(low, default), default, max(high, default)
    return MappingProxyType(found)
