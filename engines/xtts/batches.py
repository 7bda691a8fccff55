"""Clips of XTTS put together: what the network reads, where, and what it is to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engines.base import Batch, Item
from engines.xtts.settings import XttsSettings

Indices = NDArray[np.int64]

HOP = 256
"""Samples from one frame of a mel to the next."""
STRIDE = 1024
"""Samples in one code."""
PIECE_FRAMES = (66150 // HOP, 132300 // HOP)
"""The shortest and the longest piece that conditions: 3 and 6 seconds."""
COND_FRAMES = 132300 // HOP + 1
STOPS = 3
"""Stop tokens that follow the codes where the network reads; it answers one more."""
# Few different lengths let the allocator of a GPU use its blocks again.
ROUND_TO = 8


@dataclass(frozen=True, slots=True)
class Marks:
    """What tells the network where texts and codes begin and end, and how it is conditioned."""

    start_text: int
    stop_text: int
    start_audio: int
    stop_audio: int
    latents: int
    """Positions that the conditioning takes, before the text."""

    @staticmethod
    def of(gpt: Any) -> Marks:
        return Marks(
            gpt.start_text_token,
            gpt.stop_text_token,
            gpt.start_audio_token,
            gpt.stop_audio_token,
            len(gpt.conditioning_perceiver.latents),
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """The frames of a clip that condition: [start, end)."""

    start: int
    end: int


def collate(
    items: Sequence[Item], settings: XttsSettings, marks: Marks, silence: torch.Tensor
) -> Batch:
    """
    Put clips together: `silence` is one frame [80] of the mel of nothing.

    Everything that depends on lengths is worked out here with plain numbers, and moved to the
    device in one go, so that the network never has to ask the device anything:

        length                       positions in a row, with what fills it up
        cond, cond_counts            mels to condition on, [clips, 80, frames], and how often each
                                     frame is there: the silence that fills up 6 s is one of them
        text_ids, text_positions     what is read of the texts, one after the other
        mel_ids, mel_positions       and of the codes
        places                       where those come in the rows: latents, then texts, then codes
        text_at, text_targets        where an answer is due, and which
        mel_at, mel_targets
        targets                      how many answers are due
    """
    pieces = [draw_piece(item, settings) for item in items]
    texts, codes = _lengths(items, "text"), _lengths(items, "codes")
    silent = silent_codes(pieces, settings)
    layout = Layout(texts, codes, marks.latents)
    indices = layout.indices(silent)
    indices["cond_from"], indices["cond_counts"] = _cond_from(pieces)
    device = items[0].features["codes"].device
    moved = _move({"marks": _marks(marks), **indices}, device)
    pool = _pool(items, moved.pop("marks"))
    return {
        "length": layout.length,
        "cond": _cond(
            items, pieces, settings, silence.to(device, non_blocking=True), moved.pop("cond_from")
        ),
        "cond_counts": moved.pop("cond_counts").view(len(items), -1),
        "targets": {name: len(indices[f"{name}_at"]) for name in ("text", "mel")},
        **{name: pool[at] if name in FROM_POOL else at for name, at in moved.items()},
    }


# -- What conditions ---------------------------------------------------------------------------


def draw_piece(item: Item, settings: XttsSettings) -> Piece:
    """
    Draw the piece of a clip that conditions: 3 to 6 s, anywhere.

    Where it does not fit, half of the clip is taken if it is the one that is learned, as Coqui's
    trainer does, and the whole of it if it is another one.
    """
    frames = _source(item, settings)["mel"].shape[-1] - 1
    random = np.random.default_rng(item.seed)
    wanted = int(random.integers(PIECE_FRAMES[0], PIECE_FRAMES[1] + 1))
    if wanted > frames:
        wanted = frames // 2 if settings.masks else frames
    start = int(random.integers(0, frames - wanted + 1))
    return Piece(start, start + wanted)


def silent_codes(pieces: Sequence[Piece], settings: XttsSettings) -> list[tuple[int, int]]:
    """Say for each row which answers are not due, [start, end), as they were heard before."""
    if not settings.masks:
        return [(0, 0)] * len(pieces)
    if settings.masking == "corrected":
        return [(piece.start * HOP // STRIDE, piece.end * HOP // STRIDE) for piece in pieces]
    # Coqui's trainer leaves out answers of the last row only, and counts them in frames.
    return [(0, 0)] * (len(pieces) - 1) + [(pieces[-1].start, pieces[-1].end)]


def _source(item: Item, settings: XttsSettings) -> Any:
    return item.features if settings.conditioning == "same" else item.companion


def _cond_from(pieces: Sequence[Piece]) -> tuple[Indices, Indices]:
    """
    Say where each frame comes from when all pieces follow one frame of silence, and how often
    it counts: the silence after a piece as often as it would have to be repeated up to 6 s.
    """
    longest = max(piece.end - piece.start for piece in pieces) + 1
    length = -(-longest // ROUND_TO) * ROUND_TO
    found = np.zeros((len(pieces), length), np.int64)
    counts = np.zeros((len(pieces), length), np.int64)
    before = 1
    for row, count, piece in zip(found, counts, pieces, strict=True):
        frames = piece.end - piece.start
        row[:frames] = np.arange(before, before + frames)
        count[:frames], count[frames] = 1, COND_FRAMES - frames
        before += frames
    return found.ravel(), counts.ravel()


def _cond(
    items: Sequence[Item],
    pieces: Sequence[Piece],
    settings: XttsSettings,
    silence: torch.Tensor,
    cond_from: torch.Tensor,
) -> torch.Tensor:
    mels = [
        _source(item, settings)["mel"][:, piece.start : piece.end]
        for item, piece in zip(items, pieces, strict=True)
    ]
    frames = torch.cat([silence.to(mels[0].dtype)[:, None], *mels], dim=1)
    rows = frames.index_select(1, cond_from).view(len(silence), len(items), -1)
    return rows.transpose(0, 1).float()


# -- What is read, where, and what is answered -------------------------------------------------

START_TEXT, STOP_TEXT, START_AUDIO, STOP_AUDIO = range(4)
FROM_POOL = ("text_ids", "text_targets", "mel_ids", "mel_targets")
"""What is looked up in the pool: the four marks, all texts, all codes."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is, in rows of [latents][START, text][START, codes, STOPS][nothing]."""

    texts: Sequence[int]
    codes: Sequence[int]
    latents: int

    @property
    def length(self) -> int:
        """Positions of the longest row, with START before both and STOPS after the codes."""
        longest = max(map(sum, zip(self.texts, self.codes, strict=True)))
        needed = self.latents + 1 + 1 + longest + STOPS
        return -(-needed // ROUND_TO) * ROUND_TO

    def indices(self, silent: Sequence[tuple[int, int]]) -> dict[str, Indices]:
        """Work out every index; `silent` says which codes of a row no answer is due for."""
        rows = [self._row(number, *each) for number, each in enumerate(silent)]
        found = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        parts = [found.pop(f"{name}_places") for name in ("latent", "text", "mel")]
        return {**found, "places": np.concatenate(parts)}

    def _row(self, number: int, silent_from: int, silent_to: int) -> dict[str, Indices]:
        text, codes = self.texts[number], self.codes[number]
        first = number * self.length
        latent_places = first + np.arange(self.latents)
        text_places = first + self.latents + np.arange(1 + text)
        mel_places = first + self.latents + 1 + text + np.arange(1 + codes + STOPS)
        text_pool = 4 + sum(self.texts[:number]) + np.arange(text)
        mel_pool = 4 + sum(self.texts) + sum(self.codes[:number]) + np.arange(codes)
        due = np.ones(len(mel_places), bool)
        due[silent_from:silent_to] = False
        return {
            "latent_places": latent_places,
            "text_places": text_places,
            "mel_places": mel_places,
            "text_ids": np.r_[START_TEXT, text_pool],
            "text_positions": np.arange(len(text_places)),
            "text_at": text_places,
            "text_targets": np.r_[text_pool, STOP_TEXT],
            "mel_ids": np.r_[START_AUDIO, mel_pool, [STOP_AUDIO] * STOPS],
            "mel_positions": np.arange(len(mel_places)),
            "mel_at": mel_places[due],
            "mel_targets": np.r_[mel_pool, [STOP_AUDIO] * (STOPS + 1)][due],
        }


def _lengths(items: Sequence[Item], name: str) -> list[int]:
    return [len(item.features[name]) for item in items]


def _marks(marks: Marks) -> Indices:
    return np.array([marks.start_text, marks.stop_text, marks.start_audio, marks.stop_audio])


def _pool(items: Sequence[Item], marks: torch.Tensor) -> torch.Tensor:
    """Lay the four marks, all texts and all codes end to end, on the device they are on."""
    texts = torch.cat([item.features["text"] for item in items])
    codes = torch.cat([item.features["codes"] for item in items])
    return torch.cat([marks, texts.long(), codes.long()])


def _move(parts: dict[str, Indices], device: torch.device) -> dict[str, torch.Tensor]:
    """Bring all indices to the device in one transfer that nothing waits for."""
    whole = torch.from_numpy(np.concatenate([*parts.values()]))
    if device.type == "cuda":
        whole = whole.pin_memory().to(device, non_blocking=True)
    pieces = whole.to(device).split([len(each) for each in parts.values()])
    return dict(zip(parts, pieces, strict=True))
