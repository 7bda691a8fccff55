"""Packs CMUdict into words.xz: python -m engines.pocket.pretrain.dictionary CMUDICT_FILE."""

from __future__ import annotations

import lzma
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from engines.pocket.pronouncing import WORDS_FILE, packed

_WORD = re.compile(r"'?[a-z]+(?:'[a-z]+)*'?")
_LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def read_cmudict(lines: Iterable[str]) -> dict[str, list[tuple[str, ...]]]:
    """Read every pronunciation in order, leaving out comments and words with digits or signs."""
    words: dict[str, list[tuple[str, ...]]] = {}
    for line in lines:
        head, *phones = line.partition("#")[0].split() or [""]
        word = re.sub(r"\(\d+\)$", "", head)
        if _WORD.fullmatch(word) and tuple(phones) not in words.setdefault(word, []):
            words[word].append(tuple(phones))
    return {word: ways for word, ways in sorted(words.items()) if ways}


def pack(words: dict[str, list[tuple[str, ...]]], licence: str) -> bytes:
    """Write the licence as a header, then a line for each word, all compressed."""
    header = [f"# {line}".rstrip() for line in licence.splitlines()]
    lines = [" ".join([word, *map(packed, ways)]) for word, ways in words.items()]
    text = "\n".join([*header, *lines]) + "\n"
    return lzma.compress(text.encode(), format=lzma.FORMAT_XZ, filters=_LZMA)


def main(cmudict: Path) -> None:
    licence = (cmudict.parent / "LICENSE").read_text(encoding="utf-8")
    with cmudict.open(encoding="utf-8") as lines:
        words = read_cmudict(lines)
    WORDS_FILE.write_bytes(pack(words, licence))
    print(f"{len(words)} words, {WORDS_FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
