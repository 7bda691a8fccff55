"""The part of XTTS that is trained, and its loss: Coqui's, without what makes it slow."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from engines.base import Batch, Losses, Totals
from engines.xtts import conditioning


class XttsNetwork(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """
    A coqui-tts GPT and the loss it learns from.

    Coqui's own forward lays out [conditioning][texts][codes], each padded, and masks the padding,
    which keeps the fast kinds of attention out. Here each row's real positions come first and
    what fills it up last, where nothing can look at it: causal attention needs no mask then. What
    the network reads is the same, so is what it answers, and nothing is computed for padding.
    """

    def __init__(self, gpt: nn.Module, *, text_weight: float = 0.01, mel_weight: float = 1.0):
        super().__init__()
        self.gpt = gpt
        self.text_weight = text_weight
        self.mel_weight = mel_weight
        gpt.gpt.set_attn_implementation("sdpa")

    def forward(self, batch: Batch, totals: Totals, turn: str = "model") -> Losses:
        """Give this micro-batch's share of a step's loss; `batch` is what `collate` makes."""
        hidden = self.hidden(batch).flatten(0, 1)
        text = self._loss(hidden, batch, "text", self.gpt.text_head) / max(totals["text"], 1)
        mel = self._loss(hidden, batch, "mel", self.gpt.mel_head) / max(totals["mel"], 1)
        return {
            "loss": self.text_weight * text + self.mel_weight * mel,
            "text": text.detach(),
            "mel": mel.detach(),
        }

    def hidden(self, batch: Batch) -> torch.Tensor:
        """Run the transformer over the packed rows: [clips, length, width]."""
        gpt = self.gpt
        latents = conditioning.latents(gpt, batch["cond"], batch["cond_counts"])
        text = gpt.text_embedding(batch["text_ids"])
        text = text + gpt.text_pos_embedding.emb(batch["text_positions"])
        mel = gpt.mel_embedding(batch["mel_ids"])
        mel = mel + gpt.mel_pos_embedding.emb(batch["mel_positions"])
        parts = torch.cat([latents.flatten(0, 1).to(text.dtype), text, mel])
        clips, width = len(latents), parts.shape[-1]
        rows = parts.new_zeros(clips * batch["length"], width)
        rows = rows.index_copy(0, batch["places"], parts)
        return self._transformer(rows.view(clips, -1, width))

    def _transformer(self, hidden: torch.Tensor) -> torch.Tensor:
        # GPT2Model.forward looks whether its positions are several sequences in one, which makes
        # the processor wait for the GPU, and under torch.compile gives up causal attention.
        gpt2 = self.gpt.gpt
        hidden = gpt2.drop(hidden)
        for block in gpt2.h:
            hidden = block(hidden)
        return gpt2.ln_f(hidden)

    def _loss(self, hidden: torch.Tensor, batch: Batch, name: str, head: nn.Module) -> torch.Tensor:
        """Sum the cross-entropy of the answers that are due, in full precision."""
        due = self.gpt.final_norm(hidden.index_select(0, batch[f"{name}_at"]))
        return F.cross_entropy(
            head(due).float(),
            batch[f"{name}_targets"],
            reduction="sum",
            label_smoothing=self.gpt.label_smoothing,
        )


def set_dropout(gpt: nn.Module, share: float) -> None:
    """Set how much the transformer leaves out at random while it learns."""
    for module in gpt.gpt.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
