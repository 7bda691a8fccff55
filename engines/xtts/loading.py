"""A converted base as coqui-tts's own classes, without making up weights first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from torch.overrides import TorchFunctionMode
from transformers.utils import logging as transformers_logging
from TTS.tts.configs.xtts_config import XttsArgs, XttsAudioConfig, XttsConfig
from TTS.tts.layers.xtts.dvae import DiscreteVAE
from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
from TTS.tts.models.xtts import Xtts

from engines.errors import EngineError
from engines.xtts.convert import clean_config

Shapes = dict[str, tuple[int, ...]]
Speakers = dict[str, dict[str, torch.Tensor]]

_AGAIN = "Choose the base again: it is converted anew."


def load(folder: Path) -> Any:
    """Bring the Xtts of a converted base into memory, on the CPU, in 32 bits."""
    model = build(folder)
    _fill(model, folder / "model.safetensors")
    model.hifigan_decoder.eval().requires_grad_(False)
    return model


def load_dvae(folder: Path) -> nn.Module:
    """Bring in what turns audio into codes; what would turn them back is left out."""
    dvae = build_dvae(read_config(folder))
    _fill(dvae, folder / "dvae.safetensors")
    return dvae.eval().requires_grad_(False)


def mel_stats(folder: Path) -> torch.Tensor:
    """Read what each band of a mel is divided by."""
    return load_file(folder / "mel_stats.safetensors")["mel_stats"]


def speakers(folder: Path) -> Speakers:
    """Read the ready-made speakers of a base, by name."""
    names = json.loads((folder / "speakers.json").read_text(encoding="utf-8"))
    found: Speakers = {name: {} for name in names}
    for flat, value in load_file(folder / "speakers.safetensors").items():
        number, _, part = flat.partition(".")
        found[names[int(number)]][part] = value
    return found


def read_config(folder: Path) -> XttsConfig:
    """Read a config.json as coqui-tts's own record; a stranger's voice may have one not cleaned."""
    given = clean_config(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    args, audio = XttsArgs(**given.pop("model_args")), XttsAudioConfig(**given.pop("audio"))
    return XttsConfig(model_args=args, audio=audio, **given)


def expected_shapes(folder: Path) -> Mapping[str, Shapes]:
    """Say what the weights of a converted base must be called, and how large they are."""
    model = build(folder)
    return {
        "mel_stats.safetensors": {"mel_stats": (80,)},
        "dvae.safetensors": _shapes(build_dvae(model.config)),
        "model.safetensors": _shapes(model),
    }


def build(folder: Path) -> Any:
    """Make the model that a folder describes; its weights hold whatever was in memory."""
    try:
        config, tokenizer = read_config(folder), VoiceBpeTokenizer(folder / "vocab.json")
        _count_tokens(config.model_args, tokenizer)
        with quietly(), _Uninitialised():
            model = Xtts(config)
    except Exception as error:  # tokenizers' Rust half raises Exception itself
        what = f"vocab.json and config.json make no model ({type(error).__name__}: {error})."
        raise EngineError(what[:300], "Take all files of the base from the same place.") from error
    model.tokenizer = tokenizer
    return model


def build_dvae(config: XttsConfig) -> nn.Module:
    """Make the encoder and the codebook that XTTS uses, which have one size."""
    with _Uninitialised():
        dvae = DiscreteVAE(
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
    dvae.decoder = nn.Identity()
    dvae.discrete_loss = nn.Identity()
    return dvae


@contextmanager
def quietly() -> Iterator[None]:
    """Keep transformers from warning of token ids that only its own models use."""
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)


def _count_tokens(args: XttsArgs, tokenizer: VoiceBpeTokenizer) -> None:
    """Let the vocabulary decide, as coqui-tts does when it loads a folder."""
    args.gpt_number_text_tokens = tokenizer.get_number_tokens()
    args.gpt_start_text_token = tokenizer.tokenizer.token_to_id("[START]")
    args.gpt_stop_text_token = tokenizer.tokenizer.token_to_id("[STOP]")


def _fill(module: nn.Module, path: Path) -> None:
    try:
        module.load_state_dict(load_file(path), strict=True)
    except Exception as error:  # safetensors, torch and the system each have their own
        said = str(error).strip().partition("\n")[0]
        raise EngineError(f"{path.name} cannot be loaded: {said:.200}", _AGAIN) from error


def _shapes(module: nn.Module) -> Shapes:
    return {name: tuple(value.shape) for name, value in module.state_dict().items()}


class _Uninitialised(TorchFunctionMode):  # type: ignore[misc]  # torch is Any for mypy
    """
    Leave out the making up of weights that are read from a file right after.

    At the full size it takes 10 of 11.4 s (Xeon, one thread).
    """

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if getattr(function, "__module__", "") in ("torch.nn.init", "transformers.initialization"):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))
