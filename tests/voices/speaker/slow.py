"""The real process of the speaker, with an engine that takes a minute for a sentence."""

import sys
import time
from pathlib import Path

import numpy as np

import engines
from engines.base import Sound
from voices.speaker import process


class SlowVoice:
    sample_rate = 24_000

    def __init__(self, folder):
        self.manners = {}
        self._folder = folder

    def longest_text(self, language):
        return 200

    def speak(self, text, language, reference, seed):
        print("an engine that prints")
        (self._folder / "begun").write_text(text)
        deadline = time.monotonic() + (60 if "slowly" in text else 0)
        try:
            while time.monotonic() < deadline:
                time.sleep(0.01)
        except BaseException as stop:
            (self._folder / "stopped").write_text(f"{type(stop).__name__} {time.time()}")
            raise
        return Sound(np.sin(np.arange(24_000, dtype=np.float32) / 9) * 0.3, 24_000)


class SlowEngine:
    title = "Slow"
    languages = frozenset({"en"})

    def speaks(self, language):
        return language in self.languages

    def open_voice(self, folder, device="cpu"):
        return SlowVoice(Path(folder).parent)


if __name__ == "__main__":
    engines.find = lambda name: SlowEngine()
    sys.exit(process.main())
