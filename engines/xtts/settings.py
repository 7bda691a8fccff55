"""What can be chosen for a training of XTTS, beside what holds for every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engines.errors import SettingsError
from engines.settings import Checked, refuse_other, setting

PARTS: Mapping[str, tuple[str, ...]] = {
    "text_embedding": ("text_embedding.", "text_pos_embedding."),
    "audio_embedding": ("mel_embedding.", "mel_pos_embedding."),
    "conditioning": ("conditioning_encoder.", "conditioning_perceiver."),
    "transformer": ("gpt.",),
    "text_head": ("text_head.",),
    "audio_head": ("mel_head.",),
    "norm": ("final_norm.",),
}
"""Parts of the network by the names people choose them with, and how their weights' names begin."""


@dataclass(frozen=True)
class XttsSettings(Checked):
    """How XTTS learns a voice."""

    conditioning: str = setting(
        "other",
        "Where it hears the voice while it learns: other, in another clip, as when it speaks;"
        " same, in a piece of the clip itself",
        choices=("other", "same"),
    )
    masking: str = setting(
        "corrected",
        "With conditioning same, what was heard is not learned: corrected, in every clip;"
        " upstream, in one clip of each batch and at another place, as Coqui's trainer does",
        choices=("corrected", "upstream"),
    )
    lora_rank: int = setting(
        0, "Learn small additions of this rank in place of all weights; 0: all", low=0, high=1024
    )
    lora_alpha: float = setting(
        32.0, "How much the additions count, divided by their rank", low=0.001, high=4096
    )
    freeze: str = setting("", f"Parts that stay as they are, of: {', '.join(PARTS)}")
    dropout: float = setting(
        -1.0,
        "Share of the signal left out at random against learning by heart; -1: as the base has it",
        low=-1,
        high=0.9,
    )

    @property
    def frozen(self) -> tuple[str, ...]:
        """The names in `freeze`."""
        return tuple(name for name in (each.strip() for each in self.freeze.split(",")) if name)

    @property
    def masks(self) -> bool:
        """Whether what was heard as conditioning is left out of what is learned."""
        return self.conditioning == "same"

    def check_together(self) -> None:
        for part in self.frozen:
            refuse_other("freeze", part, PARTS)
        if -1 < self.dropout < 0:
            raise SettingsError(
                f"dropout is {self.dropout:g}.", "Choose -1 to leave it, or a share from 0 to 0.9."
            )
        self._check_that_something_learns()

    def _check_that_something_learns(self) -> None:
        if self.lora_rank and "transformer" in self.frozen:
            raise SettingsError(
                "With lora_rank only additions to the transformer learn, and freeze names it.",
                "Take transformer out of freeze, or set lora_rank to 0.",
            )
        if set(self.frozen) == set(PARTS):
            raise SettingsError("freeze names every part.", "Leave at least one out: it learns.")
