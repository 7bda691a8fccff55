"""Teaches the vocoder: first to come close, then to deceive nets that know how speech looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from engines.base import Features
from engines.pocket.batches import Pieces, pieces, starts
from engines.pocket.losses import inner, spectral_losses, spectrum
from engines.pocket.pretrain.course import Course, Losses, Plan, Side, device, halved
from engines.pocket.pretrain.size import Size
from engines.pocket.pretrain.speech import as_torch
from engines.pocket.vocoder import Vocoder

_CLOSE_BATCH, _KEEN_BATCH = 16, 8
_CLOSE, _KEPT = 6.0, 1.0
"""What coming close counts beside deceiving, and what looking alike inside of the judges counts."""
_LET_IN = 200
"""Steps over which deceiving comes to count in full."""


class Judge(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """Tells natural spectrograms from made ones, patch by patch: 0.04 M parameters."""

    def __init__(self, size: int, hop: int, width: int = 20) -> None:
        super().__init__()
        self.size, self.hop = size, hop
        self.layers = nn.ModuleList(
            [
                nn.Conv2d(1, width, (7, 5), (4, 1), (3, 2)),
                nn.Conv2d(width, width, (5, 3), (2, 2), (2, 1)),
                nn.Conv2d(width, 2 * width, (5, 3), (2, 2), (2, 1)),
                nn.Conv2d(2 * width, 2 * width, (5, 3), (2, 1), (2, 1)),
            ]
        )
        self.out = nn.Conv2d(2 * width, 1, 3, 1, 1)

    def forward(self, samples: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        x = (spectrum(samples, self.size, self.hop) + 1e-3).log()[:, None] / 2 + 1.5
        seen = []
        with halved():
            for layer in self.layers:
                x = functional.leaky_relu(layer(x), 0.1)
                seen.append(x)
            return self.out(x).float(), [each.float() for each in seen]


def teach(clips: Sequence[Features], size: Size, folder: Path) -> Vocoder:
    """Teach it on natural mel bands that are a little off, as a network's are."""
    torch.manual_seed(size.seed)
    net = Vocoder()
    net.to(device())
    some = [as_torch(each) for each in clips]
    _come_close(net, some, size, folder)
    _deceive(net, some, size, folder)
    net.eval()
    return net


def _come_close(net: Vocoder, clips: Sequence[Features], size: Size, folder: Path) -> None:
    plan = Plan.of(size, "vocoder-close", size.close_steps, 1e-3, warmup=100, betas=(0.8, 0.98))

    def losses(step: int) -> Losses:
        some = _some(clips, _CLOSE_BATCH, size.seed, step)
        return {"loss": spectral_losses(_made(net, some, 0.05), _natural(some)).mean()}

    Course(plan, [Side(net, losses, plan.rate)], folder).run()


def _deceive(net: Vocoder, clips: Sequence[Features], size: Size, folder: Path) -> None:
    plan = Plan.of(
        size, "vocoder-keen", size.keen_steps, 3e-4, warmup=100, betas=(0.8, 0.98),
        longest_gradient=5.0, averaged=0.997,
    )  # fmt: skip
    # Whether the course before was done just now or long ago, they begin the same.
    torch.manual_seed(size.seed + 1)
    judges = nn.ModuleList([Judge(512, 160), Judge(1024, 256), Judge(256, 96)]).to(device())
    made: list[torch.Tensor] = []

    def to_judge(step: int) -> Losses:
        some = _some(clips, _KEEN_BATCH, size.seed + 1, step)
        made[:] = [_made(net, some, 0.1), _natural(some)]
        judged = [(judge(made[1])[0], judge(made[0].detach())[0]) for judge in judges]
        return {
            "loss": _total(((true - 1) ** 2).mean() + (false**2).mean() for true, false in judged)
        }

    def to_deceive(step: int) -> Losses:
        found, wanted = made
        close = spectral_losses(found, wanted).mean()
        keen = found.new_zeros(())
        judges.requires_grad_(False)
        for judge in judges:
            said, seen = judge(found)
            with torch.no_grad():
                _, natural = judge(wanted)
            alike = _total((a - b).abs().mean() for a, b in zip(seen, natural, strict=True))
            keen = keen + ((said - 1) ** 2).mean() + _KEPT * alike
        judges.requires_grad_(True)
        share = min(1.0, (step + 1) / _LET_IN)
        return {"loss": _CLOSE * close + share * keen, "close": close, "keen": keen}

    Course(plan, [Side(judges, to_judge, 5e-4), Side(net, to_deceive, plan.rate)], folder).run()


def _some(clips: Sequence[Features], count: int, seed: int, step: int) -> Pieces:
    chance = torch.Generator().manual_seed(seed * 1_000_003 + step)
    chosen = [clips[int(each)] for each in torch.randint(len(clips), (count,), generator=chance)]
    return pieces(chosen, starts(chosen, [chance] * count), [chance] * count)


def _made(net: Vocoder, some: Pieces, off: float) -> torch.Tensor:
    mels = some.mels + off * torch.randn_like(some.mels)
    with halved():
        found: torch.Tensor = net(
            *(each.to(device()) for each in (mels, some.pitch, some.voiced, some.noise))
        )
    return inner(found)


def _natural(some: Pieces) -> torch.Tensor:
    return inner(some.samples.to(device()))


def _total(each: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.stack([*each]).sum()
