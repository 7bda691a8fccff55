"""Speaking one sentence with a model that may be in the middle of its training."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torchaudio

from engines.base import Sound
from engines.errors import EngineError
from engines.xtts.loading import quietly

# A token of text takes about 3 codes (1/21.5 s each). Twice that is a slow speaker; what goes on
# beyond is noise that finds no end, and weights that have learned nothing never find one.
CODES_AT_LEAST, CODES_PER_TOKEN = 24, 6
SHORTEST_REFERENCE_SECONDS = 0.33
_CLIP_RATE = 22050


@dataclass(frozen=True, slots=True)
class Heard:
    """What the model hears of a reference: how it speaks, and how it sounds."""

    latents: torch.Tensor
    speaker: torch.Tensor


def speak(xtts: Any, text: str, language: str, reference: Sound, seed: int) -> Sound:
    """
    Say a sentence like the reference; the same seed says it the same way.

    Nothing of it stays: the model is left in its mode and on its devices, with the same names,
    and what anybody else draws by chance is as if nothing had been said.
    """
    with at_rest(xtts):
        return say(xtts, text, language, listen(xtts, reference), seed, usual_manner(xtts.config))


def listen(xtts: Any, reference: Sound) -> Heard:
    """Listen to a reference, with the model at rest."""
    audio = _prepared(reference, xtts.config)
    latents = xtts.get_gpt_cond_latents(
        audio,
        _CLIP_RATE,
        length=xtts.config.gpt_cond_len,
        chunk_length=xtts.config.gpt_cond_chunk_len,
    )
    return Heard(latents, xtts.get_speaker_embedding(audio, _CLIP_RATE))


def say(
    xtts: Any, text: str, language: str, like: Heard, seed: int, manner: Mapping[str, float]
) -> Sound:
    """Say a sentence like what was heard, with the model at rest."""
    codes = CODES_AT_LEAST + CODES_PER_TOKEN * _count_tokens(xtts, text, language)
    # transformers refuses a whole number where it expects a share.
    how = {name: (int if name == "top_k" else float)(value) for name, value in manner.items()}
    with own_chance(seed), _able_to_speak(xtts.gpt, codes):
        spoken = xtts.inference(text, language, like.latents, like.speaker, **how)["wav"]
    return Sound(np.ascontiguousarray(spoken, np.float32), xtts.args.output_sample_rate)


def usual_manner(config: Any) -> dict[str, float]:
    """How it speaks unless told otherwise."""
    names = ("temperature", "length_penalty", "repetition_penalty", "top_k", "top_p")
    return {name: config[name] for name in names}


@contextmanager
def at_rest(xtts: Any) -> Iterator[None]:
    """Let it listen and speak, in whatever mode and precision it is, and wherever its parts are."""
    with quietly(), _resting(xtts.gpt), _decoder_beside(xtts), _in_full_precision(xtts):
        yield


def _count_tokens(xtts: Any, text: str, language: str) -> int:
    try:
        count = len(xtts.tokenizer.encode(text.strip().lower(), language))
    except (ImportError, NotImplementedError) as error:
        raise EngineError(
            f"XTTS cannot read {language!r} here: {error}", "Choose a sentence in another language."
        ) from error
    if not count or count >= xtts.args.gpt_max_text_tokens:
        raise EngineError(
            f"The sentence has {count} tokens, and XTTS says from 1 to"
            f" {xtts.args.gpt_max_text_tokens - 1} at once.",
            "Divide it into shorter sentences.",
        )
    return count


def _prepared(reference: Sound, config: Any) -> torch.Tensor:
    """One row of samples at 22,050 Hz, as coqui-tts reads a reference from a file."""
    if reference.seconds < SHORTEST_REFERENCE_SECONDS:
        raise EngineError(
            f"The reference lasts {reference.seconds:.2f} s, which is too short to imitate.",
            "Choose a reference of 3 to 12 s.",
        )
    audio = torch.from_numpy(np.array(reference.samples, np.float32))[None]
    if reference.rate != _CLIP_RATE:
        audio = torchaudio.functional.resample(audio, reference.rate, _CLIP_RATE)
    audio = audio.clip(-1, 1)[:, : _CLIP_RATE * config.max_ref_len]
    if config.sound_norm_refs:
        audio = audio / audio.abs().max().clamp(min=1e-8) * 0.75
    return audio


# -- Leaving no trace --------------------------------------------------------------------------


@contextmanager
def own_chance(seed: int) -> Iterator[None]:
    """Draw by chance from this seed, then go on as if nothing had been drawn."""
    cuda = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    before = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])


@contextmanager
def _resting(gpt: torch.nn.Module) -> Iterator[None]:
    """Nothing is left out at random while it speaks; each part returns to the mode it was in."""
    before = [(module, module.training) for module in gpt.modules()]
    gpt.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


@contextmanager
def _decoder_beside(xtts: Any) -> Iterator[None]:
    """What makes sound of codes is beside the rest while it is needed, in a training only then."""
    decoder = xtts.hifigan_decoder.eval()
    before = next(decoder.parameters()).device
    try:
        yield decoder.to(xtts.device)
    finally:
        decoder.to(before)


@contextmanager
def _in_full_precision(xtts: Any) -> Iterator[None]:
    with torch.inference_mode(), torch.autocast(xtts.device.type, enabled=False):
        yield


@contextmanager
def _able_to_speak(gpt: Any, codes: int) -> Iterator[None]:
    """Lend the parts that generate, which would else be trained and saved along."""
    most = gpt.max_gen_mel_tokens
    gpt.max_gen_mel_tokens = min(most, codes)
    try:
        gpt.init_gpt_for_inference(kv_cache=True)
        gpt.gpt_inference.eval()
        yield
    finally:
        gpt.max_gen_mel_tokens = most
        for owner, name in ((gpt, "gpt_inference"), (gpt.gpt, "wte")):
            if hasattr(owner, name):
                delattr(owner, name)
