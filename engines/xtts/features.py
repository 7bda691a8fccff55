"""Clips of XTTS as what training needs of them: text tokens, codes of the audio, a mel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torchaudio
from torch import nn
from torch.nn import functional as F

from engines.base import Clip, Features

RATE = 22050
HOP = 256
STRIDE = 1024
"""Samples in one code."""
# GPTTrainer's dataset leaves such clips out without saying so.
MIN_SAMPLES = RATE // 2
MAX_SAMPLES = 255_995
MAX_TOKENS = 200
FLOOR = 1e-5
# What is computed at once, with what fills it up: 1 GB with the DVAE, which has one size.
SAMPLES_AT_ONCE = 60 * RATE


class Mel:
    """
    The mels of coqui-tts's TorchMelSpectrogram, of audio that was mirrored at its ends before.

    Theirs mirrors a whole padded batch, so that the last frames of a clip depend on its neighbours.
    """

    def __init__(self, filter_length: int, norms: torch.Tensor) -> None:
        self.stft = torchaudio.transforms.MelSpectrogram(
            sample_rate=RATE,
            n_fft=filter_length,
            win_length=1024,
            hop_length=HOP,
            f_min=0,
            f_max=8000,
            n_mels=len(norms),
            norm="slaney",
            center=False,
        )
        self.edge = filter_length // 2
        self.norms = norms.float()

    def to(self, device: torch.device | str) -> None:
        self.stft.to(device)
        self.norms = self.norms.to(device)

    def __call__(self, mirrored: torch.Tensor) -> torch.Tensor:
        """Make [b, mels, frames] of [b, samples + 2 * edge]."""
        mel = torch.log(torch.clamp(self.stft(mirrored), min=FLOOR))
        return mel / self.norms[:, None]


class Featurizer:
    """Tokenizer, mels and DVAE of a base: what clips go through once, before training."""

    def __init__(self, tokenizer: Any, dvae: nn.Module, norms: torch.Tensor) -> None:
        self.tokenizer = tokenizer
        self.dvae = dvae.eval().requires_grad_(False)
        self.cond_mel = Mel(2048, norms)
        self.code_mel = Mel(1024, norms)

    @property
    def silence(self) -> torch.Tensor:
        """One frame of the mel of nothing: what fills up a piece that conditions."""
        return math.log(FLOOR) / self.cond_mel.norms

    def to(self, device: torch.device | str) -> Featurizer:
        """Compute on a device from now on."""
        for each in (self.dvae, self.cond_mel, self.code_mel):
            each.to(device)
        return self

    def problem(self, clip: Clip) -> str:
        """Say why XTTS cannot learn from this clip, in a sentence; "" when it can."""
        return _problem_of_sound(clip) or self._problem_of_text(clip)

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        """Turn clips without a problem into text, codes and mel, as many at once as is fast."""
        found: dict[int, Features] = {}
        for numbers in _groups([len(clip.sound.samples) for clip in clips]):
            made = self._features([clips[number] for number in numbers])
            found.update(zip(numbers, made, strict=True))
        return [found[number] for number in range(len(clips))]

    def _features(self, clips: Sequence[Clip]) -> list[Features]:
        samples = [len(clip.sound.samples) for clip in clips]
        frames = [each // HOP + 1 for each in samples]
        with torch.no_grad(), _in_full_precision():
            mirrored = self._mirrored(clips)
            mels = self.cond_mel(mirrored).half().cpu().numpy()
            codes = self._codes(mirrored, frames).to(torch.int16).cpu().numpy()
        return [
            {
                "text": np.array(self._encode(clip), np.int32),
                "codes": codes[row, : -(-samples[row] // STRIDE)].copy(),
                "mel": mels[row, :, : frames[row]].copy(),
                "samples": np.array(samples[row], np.int32),
            }
            for row, clip in enumerate(clips)
        ]

    def _mirrored(self, clips: Sequence[Clip]) -> torch.Tensor:
        """Put the audio of clips into rows, each mirrored at its own ends."""
        edge = self.cond_mel.edge
        longest = max(len(clip.sound.samples) for clip in clips)
        rows = torch.zeros(len(clips), longest + 2 * edge)
        for row, clip in zip(rows, clips, strict=True):
            audio = torch.from_numpy(np.clip(clip.sound.samples, -1, 1))
            row[: len(audio) + 2 * edge] = F.pad(audio[None], (edge, edge), mode="reflect")[0]
        return rows.to(self.cond_mel.norms.device)

    def _codes(self, mirrored: torch.Tensor, frames: Sequence[int]) -> torch.Tensor:
        """Compute the codes of mirrored audio; of a row only those of its frames count."""
        more = self.cond_mel.edge - self.code_mel.edge
        mel = self.code_mel(mirrored[:, more:-more])[:, :, : max(frames)]
        with _nothing_after(self.dvae.encoder, mel.shape[-1], frames):
            return self.dvae.get_codebook_indices(mel)

    # -- Texts ---------------------------------------------------------------------------------

    def _encode(self, clip: Clip) -> list[int]:
        return list(self.tokenizer.encode(clip.text, clip.language))

    def _problem_of_text(self, clip: Clip) -> str:
        if not clip.text.strip():
            return "It has no text."
        if self._token(_tag(clip.language)) is None:
            return f"This base does not know the language {clip.language!r}."
        try:
            spoken = self.tokenizer.preprocess_text(clip.text, clip.language.split("-")[0])
            tokens = self._encode(clip)
        except NotImplementedError:
            return f"XTTS cannot read texts in the language {clip.language!r}."
        except ImportError as missing:
            return f"Its text cannot be read without another package: {missing}."
        except OverflowError:
            return "Its text has a number that is too long to be read out."
        return self._problem_of_tokens(spoken, tokens)

    def _problem_of_tokens(self, spoken: str, tokens: Sequence[int]) -> str:
        if not spoken.strip():
            return "Nothing of its text can be spoken."
        if self._token("[UNK]") in tokens:
            return f"Its text has signs that this base does not know: {self._unknown(spoken)}."
        if self._token("[STOP]") in tokens:
            return "Its text has the sign in it that ends every text: [STOP]."
        if len(tokens) > MAX_TOKENS:
            return (
                f"Its text is too long: {len(tokens)} tokens, and XTTS learns from at most"
                f" {MAX_TOKENS}."
            )
        return ""

    def _unknown(self, spoken: str) -> str:
        """Name the signs that the vocabulary lacks: "ł, ŭ"."""
        unknown = self._token("[UNK]")
        signs = [sign for sign in dict.fromkeys(spoken) if not sign.isspace()]
        found = [s for s in signs if unknown in self.tokenizer.tokenizer.encode(s).ids]
        return ", ".join(found) or spoken

    def _token(self, name: str) -> int | None:
        return self.tokenizer.tokenizer.token_to_id(name)  # type: ignore[no-any-return]


def _tag(language: str) -> str:
    """Give the token that tells the network the language, as VoiceBpeTokenizer.encode writes it."""
    plain = language.split("-")[0]
    return "[zh-cn]" if plain == "zh" else f"[{plain}]"


def _problem_of_sound(clip: Clip) -> str:
    samples, seconds = len(clip.sound.samples), clip.sound.seconds
    if samples < MIN_SAMPLES:
        return f"It lasts {seconds:.2f} s, and XTTS learns from 0.5 s or more."
    if samples > MAX_SAMPLES:
        return f"It lasts {seconds:.2f} s, and XTTS learns from at most {MAX_SAMPLES / RATE:.1f} s."
    return ""


def _groups(samples: Sequence[int]) -> Iterator[list[int]]:
    """Divide clips into groups of like length, each small enough to be computed at once."""
    group: list[int] = []
    for number in sorted(range(len(samples)), key=lambda each: samples[each]):
        # Sorted, so that this one is the longest so far.
        if group and (len(group) + 1) * samples[number] > SAMPLES_AT_ONCE:
            yield group
            group = []
        group.append(number)
    if group:
        yield group


@contextmanager
def _in_full_precision() -> Iterator[None]:
    """Keep TF32 out: a code is the nearest of a thousand, and a GPU should find a CPU's."""
    matmul = torch.backends.cuda.matmul
    before, matmul.allow_tf32 = matmul.allow_tf32, False
    try:
        with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
            yield
    finally:
        matmul.allow_tf32 = before


@contextmanager
def _nothing_after(encoder: nn.Module, longest: int, frames: Sequence[int]) -> Iterator[None]:
    """
    Let each convolution see nothing after the end of a clip, as if the clip were alone.

    Without it the last codes of a clip depend on what it is put together with, because the mel of
    silence is not 0 and neither is what the layers make of it.
    """
    masks: dict[int, torch.Tensor] = {}
    own = torch.tensor(frames)[:, None, None]
    for _ in range(3):  # Two layers halve the length.
        masks[longest] = torch.arange(longest) < own
        longest, own = (longest + 1) // 2, (own + 1) // 2

    def cut(module: nn.Module, inputs: tuple[torch.Tensor]) -> torch.Tensor:
        return inputs[0] * masks[inputs[0].shape[-1]].to(inputs[0].device)

    convolutions = [each for each in encoder.modules() if isinstance(each, nn.Conv1d)]
    hooks = [each.register_forward_pre_hook(cut) for each in convolutions]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
