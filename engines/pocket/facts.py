"""What is fixed about pocket: its sounds, its frames, its limits."""

from __future__ import annotations

from types import MappingProxyType

from engines.base import Manners

# The voices it learned from speak at 16 kHz, and a net this small has nothing to gain above 8 kHz.
RATE = 16_000
HOP = 256
"""Samples from one frame to the next: 62.5 frames a second."""
WINDOW = 1024
BANDS = 80
MIN_CLIP_SECONDS = 0.6
# Longer ones are allowed by nothing but patience: memory and time grow in proportion.
MAX_CLIP_SECONDS = 16.0

MANNERS: Manners = MappingProxyType({"speed": (0.5, 1.0, 2.0)})

PAUSE = "pau"
VOWELS = (
    *("aa", "ae", "ah", "ao", "aw", "ax", "ay", "eh"),
    *("er", "ey", "ih", "iy", "ow", "oy", "uh", "uw"),
)
CONSONANTS = (
    *("b", "ch", "d", "dh", "f", "g", "hh", "jh", "k", "l", "m", "n", "ng", "p", "r"),
    *("s", "sh", "t", "th", "v", "w", "y", "z", "zh"),
)
# ax is CMU's AH0: the synthesisers that taught the base tell the two apart, and people do.
PHONES = ("", PAUSE, *VOWELS, *CONSONANTS)
"""By number; 0 fills up."""
STRESSES = ("", "none", "secondary", "primary")
"""Of vowels; consonants have the first."""
MARKS = ("", ",", ".", "?", "!")
"""What ends the phrase that a sound is in."""

FULL_SCALE = 32767
"""What 1.0 is where samples are kept as whole numbers."""
PITCH_IN_MANNER = -3
"""Where the mean pitch stands among the numbers that describe a voice (features.manner)."""

WEIGHTS, CONFIG = "model.safetensors", "pocket.json"
