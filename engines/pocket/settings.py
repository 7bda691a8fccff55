"""What can be chosen for a training of pocket."""

from __future__ import annotations

from dataclasses import dataclass

from engines.settings import Checked, setting


@dataclass(frozen=True)
class PocketSettings(Checked):
    """How a voice is learned."""

    dropout: float = setting(
        0.1, "Share of what the network thinks that is left out at random", low=0, high=0.9
    )
    # Real bands are sharper than what the network draws: the vocoder must know both.
    drawn_share: float = setting(
        0.7, "How often the vocoder learns from bands that the network drew", low=0, high=1
    )
