"""A finished voice of XTTS in memory, to speak: coqui-tts's own classes, and nothing that trains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engines.base import Sound, chosen
from engines.errors import EngineError
from engines.references import References
from engines.xtts import facts, loading, speaking
from engines.xtts.saving import WEIGHTS


class Voice:
    """Speaks one sentence at a time; what it heard of a reference it keeps."""

    def __init__(self, folder: Path, device: str) -> None:
        self._xtts = load(folder).to(device)
        self.sample_rate: int = self._xtts.args.output_sample_rate
        self._usual = speaking.usual_manner(self._xtts.config)
        self.manners = facts.manners(self._usual)
        self._references = References(lambda sound: speaking.listen(self._xtts, sound))

    def longest_text(self, language: str) -> int:
        """
        As coqui-tts has it for each language: what is longer may be cut off.

        The numbers are about as long as the texts that XTTS v2 learned from.
        """
        limits: Mapping[str, int] = self._xtts.tokenizer.char_limits
        return limits.get(language.split("-")[0], min(limits.values()))

    def speak(
        self, text: str, language: str, reference: Sound, seed: int, **manners: float
    ) -> Sound:
        how = {**self._usual, **chosen(self.manners, manners)}
        with speaking.at_rest(self._xtts):
            like = self._references.heard(reference)
            return speaking.say(self._xtts, text, language, like, seed, how)


def load(folder: Path) -> Any:
    """Bring the Xtts of a finished voice into memory, every weight of it and no other."""
    if not (folder / WEIGHTS).exists() and (folder / "model.pth").exists():
        raise EngineError(
            "This voice was saved in an older form (model.pth), which is not opened: such files"
            " can hold programs.",
            "Train on from its run (train --from); the voice that comes of it can be opened.",
        )
    try:
        return loading.load(folder).requires_grad_(False)
    except EngineError as error:
        raise EngineError(
            f"The voice cannot be opened. {error.what}",
            "Take it once more from where it came from, or from its run.",
        ) from error
