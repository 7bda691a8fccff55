"""The tiny Whisper itself: transformers' own classes, and what makes so small a one learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from faster_whisper.feature_extractor import FeatureExtractor
from torch import nn
from torch.nn import functional as F
from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

from tests.whisper.tokens import TIMESTAMPS, Tokens
from tests.whisper.windows import FRAMES, IGNORED, Window

WIDTH, HEADS, LAYERS = 128, 4, 2
LOOKING_HEADS = (0, 1)  # of the last decoder layer: these learn where a word is heard
PAUSE = "pau"


@dataclass(frozen=True)
class Losses:
    """What one batch still gets wrong."""

    text: torch.Tensor
    times: torch.Tensor
    phones: torch.Tensor
    looking: torch.Tensor

    def total(self) -> torch.Tensor:
        return self.text + 0.3 * self.times + self.phones + 0.3 * self.looking

    def numbers(self) -> list[float]:
        return [loss.item() for loss in (self.text, self.times, self.phones, self.looking)]


def make(tokens: Tokens) -> WhisperForConditionalGeneration:
    end = tokens.endoftext
    model = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=tokens.size,
            num_mel_bins=80,
            d_model=WIDTH,
            encoder_layers=LAYERS,
            decoder_layers=LAYERS,
            encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS,
            encoder_ffn_dim=3 * WIDTH,
            decoder_ffn_dim=3 * WIDTH,
            dropout=0.0,
            pad_token_id=end,
            bos_token_id=tokens.startoftranscript,
            eos_token_id=end,
            decoder_start_token_id=tokens.startoftranscript,
            suppress_tokens=None,
            begin_suppress_tokens=None,
        )
    )
    with torch.no_grad():
        # A timestamp starts as the encoder's own mark of that moment: it has little to learn.
        places = model.model.encoder.embed_positions.weight
        first = tokens.first_timestamp
        model.model.decoder.embed_tokens.weight[first : first + TIMESTAMPS - 1] = 0.05 * places
    model.generation_config = _generation(tokens)
    return model


def _generation(tokens: Tokens) -> GenerationConfig:
    config = GenerationConfig(
        decoder_start_token_id=tokens.startoftranscript,
        eos_token_id=tokens.endoftext,
        pad_token_id=tokens.endoftext,
        bos_token_id=tokens.startoftranscript,
        max_length=448,
    )
    config.alignment_heads = [[LAYERS - 1, head] for head in LOOKING_HEADS]
    names = ("startoftranscript", "startofprev", "nospeech", "en", "translate", "transcribe")
    config.suppress_tokens = [getattr(tokens, name) for name in (*names, "startoflm")]
    config.begin_suppress_tokens = [tokens.tokenizer.token_to_id("Ġ"), tokens.endoftext]
    return config


class Learner(nn.Module):
    """A Whisper with what it only needs while it learns.

    Predicting text alone leaves it at 60 % of the words. Naming the phone in every frame makes the
    encoder hear, and two heads told where each word is make the decoder look there.
    """

    def __init__(self, model: WhisperForConditionalGeneration, tokens: Tokens, phones: list[str]):
        super().__init__()
        self.whisper = model
        self.tokens = tokens
        self.phone_ids = {name: number for number, name in enumerate(phones)}
        self.phone_head = nn.Linear(WIDTH, len(phones))
        extractor = FeatureExtractor()
        self.register_buffer("mel", torch.tensor(extractor.mel_filters).float(), persistent=False)
        hann = torch.tensor(np.hanning(401)[:-1], dtype=torch.float32)
        self.register_buffer("hann", hann, persistent=False)
        looking = model.model.decoder.layers[-1].encoder_attn
        looking.register_forward_pre_hook(self._remember)

    def forward(self, windows: list[Window], scrub: np.random.Generator) -> tuple[Losses, float]:
        """The losses of a batch, and the share of text tokens it got right."""
        features = self._features(windows, scrub)
        heard = self._encode(features)
        inputs, labels = self._tokens_of(windows)
        decoder = self.whisper.model.decoder
        hidden = decoder(input_ids=inputs, encoder_hidden_states=heard, use_cache=False)
        logits = self.whisper.proj_out(hidden.last_hidden_state)
        of_text = (labels >= 0) & (labels < self.tokens.first_timestamp)
        of_time = labels >= self.tokens.first_timestamp
        text = F.cross_entropy(logits[of_text], labels[of_text])
        phones = self.phone_head(heard).flatten(0, 1)
        losses = Losses(
            text,
            self._times(logits[of_time], labels[of_time]) if of_time.any() else text * 0,
            F.cross_entropy(phones, self._phones_of(windows, heard.shape[1]).flatten()),
            self._looking(windows, heard),
        )
        right = (logits[of_text].argmax(-1) == labels[of_text]).float().mean().item()
        return losses, right

    @torch.autocast("cpu", enabled=False)
    def _features(self, windows: list[Window], scrub: np.random.Generator) -> torch.Tensor:
        """Log-mel as faster-whisper makes it: zero, not silence, after the end of the sound."""
        samples = torch.tensor(np.stack([window.samples for window in windows]))
        spectrum = torch.stft(samples, 400, 160, window=self.hann, return_complex=True)
        power = spectrum[..., :-1].abs() ** 2
        log = torch.log10(torch.clamp(self.mel @ power, min=1e-10))
        log = torch.maximum(log, log.amax((1, 2), keepdim=True) - 8)
        features = (log + 4) / 4
        for row, window in zip(features, windows, strict=True):
            if scrub.random() < 0.5:  # a few bands missing, so that it leans on no single one
                low = scrub.integers(0, 70)
                row[low : low + scrub.integers(1, 9)] = row.mean()
            row[:, int(window.heard_s * 100) + 1 :] = 0
        return features

    def _encode(self, features: torch.Tensor) -> torch.Tensor:
        """The encoder on windows of any length; transformers' own forward takes 30 s only."""
        encoder = self.whisper.model.encoder
        hidden = F.gelu(encoder.conv2(F.gelu(encoder.conv1(features)))).transpose(1, 2)
        hidden = hidden + encoder.embed_positions.weight[: hidden.shape[1]]
        for layer in encoder.layers:
            hidden = layer(hidden, None)
        return encoder.layer_norm(hidden)

    def _tokens_of(self, windows: list[Window]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(len(window.inputs) for window in windows)
        inputs = torch.full((len(windows), longest), self.tokens.endoftext)
        labels = torch.full((len(windows), longest), IGNORED)
        for row, window in enumerate(windows):
            inputs[row, : len(window.inputs)] = torch.tensor(window.inputs)
            labels[row, : len(window.labels)] = torch.tensor(window.labels)
        return inputs, labels

    def _phones_of(self, windows: list[Window], frames: int) -> torch.Tensor:
        names = torch.full((len(windows), frames), self.phone_ids[PAUSE])
        for row, window in enumerate(windows):
            for name, start, end in window.phones:
                names[row, round(start * FRAMES) : round(end * FRAMES)] = self.phone_ids[name]
        return names

    def _times(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Cross-entropy that forgives a neighbour: 20 ms beside is nearly right."""
        log = logits[:, self.tokens.first_timestamp :].log_softmax(-1)
        whole = logits.log_softmax(-1)[:, self.tokens.first_timestamp :].logsumexp(-1)
        near = torch.arange(-2, 3)
        share = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1])
        at = (labels - self.tokens.first_timestamp)[:, None] + near
        picked = log.gather(1, at.clamp(0, TIMESTAMPS - 1))
        return -((picked * share).sum(1) + whole).mean()

    def _remember(self, _module, arguments) -> None:
        self._asking = arguments[0]

    def _looking(self, windows: list[Window], heard: torch.Tensor) -> torch.Tensor:
        """How far the looking heads are from spreading evenly over the frames of each token."""
        frames = heard.shape[1]
        rows, positions, starts, ends = [], [], [], []
        for row, window in enumerate(windows):
            for position, start, end in window.looks:
                first = min(round(start * FRAMES), frames - 2)
                rows.append(row)
                positions.append(position)
                starts.append(first)
                ends.append(min(max(round(end * FRAMES), first + 2), frames))
        attention = self.whisper.model.decoder.layers[-1].encoder_attn
        size = WIDTH // HEADS
        batch, length, _ = self._asking.shape
        queries = attention.q_proj(self._asking) * size**-0.5
        queries = queries.view(batch, length, HEADS, size)[:, :, LOOKING_HEADS]
        keys = attention.k_proj(heard).view(batch, -1, HEADS, size)
        scores = torch.einsum("blhd,bfhd->blhf", queries, keys[:, :, LOOKING_HEADS])
        log = scores.log_softmax(-1)[torch.tensor(rows), torch.tensor(positions)]
        summed = F.pad(log.double().cumsum(-1), (1, 0))
        first, last = torch.tensor(starts), torch.tensor(ends)
        pick = torch.arange(len(rows))
        mean = (summed[pick, :, last] - summed[pick, :, first]) / (last - first)[:, None]
        # Taken from the entropy of the even spread, so that a perfect look costs nothing.
        return -(mean + (last - first)[:, None].log()).mean().float()
