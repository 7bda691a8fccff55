"""Which scripts are written without spaces between words, and what that means for words in a row."""

from __future__ import annotations

from collections.abc import Sequence

# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, bopomofo, Han, and
# the full-width signs used with them. Korean has spaces.
_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x312F),
    (0x31A0, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFF9F),
    (0x20000, 0x3FFFF),
)
_FIRST = _UNSPACED[0][0]
DENSE = "".join(f"{chr(low)}-{chr(high)}" for low, high in _UNSPACED)
"""The same, to stand in the brackets of a pattern."""


def unspaced(sign: str) -> bool:
    """Whether a sign belongs to a script that writes no spaces between words."""
    code = ord(sign)
    return code >= _FIRST and any(low <= code <= high for low, high in _UNSPACED)


def bare(left: str, right: str) -> bool:
    """Whether no space stands between two neighbours that bring their own."""
    return bool(left and right) and not (left[-1].isspace() or right[0].isspace())


def glued(left: str, right: str, spaced: bool) -> bool:
    """Whether two neighbours are one written word, such as " 3" and ".5" from Whisper."""
    return spaced and bare(left, right) and not (unspaced(left[-1]) or unspaced(right[0]))


def carries_spaces(texts: Sequence[str]) -> bool:
    """Whether the words bring their own spaces, as Whisper's do."""
    return any(text[:1].isspace() or text[-1:].isspace() for text in texts)
