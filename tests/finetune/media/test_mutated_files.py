"""
Files with bytes flipped, cut out, doubled and cut off, at random but the same every time.

`TIMBRE_MUTATIONS=5000` makes more of them.
"""

from __future__ import annotations

import os

import numpy as np

from engines.errors import AudioError
from tests.finetune.media import making
from tests.finetune.media.making import encode, judge, speech

COUNT = int(os.environ.get("TIMBRE_MUTATIONS", "200"))
KINDS = ("wav", "mp3", "m4a", "flac", "opus", "aac", "webm", "wma")


def mutated(content: bytes, rng) -> bytes:
    """One to twenty changes; half of the time in the header, where they do the most."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 20)):
        reach = min(len(data), 600) if rng.random() < 0.5 else len(data)
        at, length = int(rng.integers(0, reach)), int(rng.integers(1, 200))
        match rng.integers(0, 5):
            case 0:
                data[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                data[at : at + 4] = rng.choice(
                    [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"]
                )
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length]
            case 4:
                data[at : at + length] = rng.bytes(length)
        if not data:
            return b""
    return bytes(data[: rng.integers(0, len(data))] if rng.random() < 0.15 else data)


def test_a_mutated_file_is_a_good_result_or_a_sentence(decoder, tmp_path):
    originals = [
        encode(tmp_path / f"made.{kind}", kind, speech(0.6, making.KINDS[kind][2])).read_bytes()
        for kind in KINDS
    ]
    used = 0

    for number in range(COUNT):
        rng = np.random.default_rng(number)
        path = tmp_path / f"{number}.{KINDS[number % len(KINDS)]}"
        path.write_bytes(mutated(originals[number % len(KINDS)], rng))
        used += not isinstance(judge(decoder, path), AudioError)
        path.unlink()

    assert decoder.crashes == []
    assert used > COUNT / 4  # else the mutations are too rough to test what comes after opening
