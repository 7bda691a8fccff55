"""
What XTTS hears of a voice, computed without the silence that fills it up.

Coqui's trainer pads each piece to 6 s with silence and runs the conditioning encoder over all of
it. Every frame of that silence is the same, and nothing in the encoder looks at positions: in its
attention and its norms the silence acts like one frame that counts as often as it is there. So it
is one frame here, with its count. What comes out is the same; on clips of 1 to 11 s, where pieces
are 0.5 to 6 s long, more than half of the encoder's work is gone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


def latents(gpt: Any, frames: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """
    Give what the network is conditioned on, [clips, latents, width].

    `frames` is [clips, 80, length], `counts` [clips, length]: how often a frame is there, 0 for
    what only fills up a row.
    """
    encoder, perceiver = gpt.conditioning_encoder, gpt.conditioning_perceiver
    weights = counts.float()
    bias = weights.log()
    hidden = _pointwise(encoder.init, frames.transpose(1, 2))
    for block in encoder.attn:
        hidden = _block(block, hidden, weights, bias[:, None, None])
    return _perceive(perceiver, hidden, bias)


def _block(block: Any, hidden: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor) -> Any:
    normed = weighted_norm(block.norm, hidden, weights)
    rows, length, width = normed.shape
    each = width // block.num_heads
    # Their weights have q, k and v of a head beside each other.
    qkv = _pointwise(block.qkv, normed).view(rows, length, block.num_heads, 3 * each)
    q, k, v = qkv.transpose(1, 2).split(each, dim=-1)
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=_for_all(bias, q, k))
    added = _pointwise(block.proj_out, found.transpose(1, 2).reshape(rows, length, width))
    return (hidden if block.tortoise_norm else normed) + added


def _perceive(perceiver: Any, hidden: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    context = perceiver.proj_context(hidden)
    found = perceiver.latents.expand(len(context), -1, -1).to(context.dtype)
    # The latents look at each other too, each of them once.
    both = F.pad(bias, (found.shape[1], 0))[:, None, None]
    for attention, feed_forward in perceiver.layers:
        found = _look(attention, found, context, both) + found
        found = feed_forward(found) + found
    normed: torch.Tensor = perceiver.norm(found)
    return normed


def _look(attention: Any, found: torch.Tensor, context: torch.Tensor, bias: torch.Tensor) -> Any:
    keys, values = attention.to_kv(torch.cat((found, context), dim=1)).chunk(2, dim=-1)
    q, k, v = (
        part.unflatten(-1, (attention.heads, -1)).transpose(1, 2)
        for part in (attention.to_q(found), keys, values)
    )
    seen = F.scaled_dot_product_attention(q, k, v, attn_mask=_for_all(bias, q, k))
    return attention.to_out(seen.transpose(1, 2).flatten(2))


def weighted_norm(norm: Any, hidden: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Normalise groups of channels over all frames, each as often as it counts: GroupNorm32."""
    rows, length, width = hidden.shape
    grouped = hidden.float().view(rows, length, norm.num_groups, -1)
    share = (weights / (weights.sum(1, keepdim=True) * grouped.shape[-1]))[:, :, None, None]
    centred = grouped - (grouped * share).sum((1, 3), keepdim=True)
    spread = (centred.square() * share).sum((1, 3), keepdim=True)
    normed = (centred * (spread + norm.eps).rsqrt()).view(rows, length, width)
    return torch.addcmul(norm.bias, normed, norm.weight).to(hidden.dtype)


def _pointwise(convolution: nn.Conv1d, hidden: torch.Tensor) -> torch.Tensor:
    """A convolution over one frame at a time, which is a matrix: [clips, length, width]."""
    return F.linear(hidden, convolution.weight.squeeze(-1), convolution.bias)


def _for_all(bias: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """The same bias for every query, as the kernels want it."""
    return bias.to(q.dtype).expand(len(q), q.shape[1], q.shape[2], k.shape[2])
