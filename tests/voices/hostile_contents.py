"""The same with a sound zip: what is wrong is in a member's own content."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import soundfile

from tests.voices.hostile import (
    DEEP,
    NO_JSON,
    NO_SOUND,
    NO_WEIGHTS,
    TWO_VOICES,
    hostile,
    with_member,
)
from tests.voices.packed import FACTS, flac, good, manifest_of, raws, weights, zipped

PLACE = "names a place"
for shown, text in (
    ("of Linux", "/home/anna/x.json"),
    ("of a Mac", "see /Users/anna smith/x.json"),
    ("of Windows", "C:\\Users\\anna"),
    ("on a share, which would send a password", "\\\\evil.example\\share\\vocab"),
    ("in the home folder", "~/.ssh/id_rsa"),
    ("as an address", "file:///etc/passwd"),
):
    config = json.dumps({"deep": [{"vocab": text}]}).encode()
    hostile(
        f"a config that names a file {shown}",
        PLACE,
        lambda _, config=config: with_member("engine/pocket.json", config),
    )

hostile("JSON too deep", NO_JSON, lambda _: with_member("engine/a.json", b"[" * 40 + b"]" * 40))
hostile(
    "JSON with a long number",
    "a number without end",
    lambda _: with_member("engine/a.json", b"9" * 900),
)
hostile("JSON without end", NO_JSON, lambda _: with_member("engine/a.json", DEEP))
hostile("JSON too large", "may have 8 MB", lambda _: with_member("engine/a.json", b" " * 8_000_001))
hostile(
    "JSON of many lists",
    "too many values",
    lambda _: with_member("engine/a.json", b"[" + b"[]," * 2_000_000 + b"0]"),
)
hostile(
    "a path as a name in JSON",
    PLACE,
    lambda _: with_member("engine/a.json", b'{"/home/anna/a": 1}'),
)
hostile(
    "much text",
    "more JSON, text or files of weights",
    lambda _: zipped(raws(good(**{f"engine/{n}.txt": b"a " * 3_000_000 for n in range(3)}))),
)
hostile("text with zeros", "zeros in it", lambda _: with_member("engine/a.txt", b"a\0b"))
hostile(
    "text that names a place", PLACE, lambda _: with_member("engine/a.txt", b"a\n/home/anna/b\n")
)
FACTS_AS_LIST = good(**{"voice.json": json.dumps(list(FACTS)).encode()})
LIST_TOLD = manifest_of(FACTS_AS_LIST, FACTS)
hostile("facts that are a list", TWO_VOICES, lambda _: zipped(raws(FACTS_AS_LIST, LIST_TOLD)))


def tensors(header, data: bytes = b"\0" * 8, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(begin=0, end=8, shape=(2,), dtype="F32") -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


for shown, content in (
    ("nothing in it", b""),
    ("a header without end", tensors({}, length=2**63 - 1)),
    ("a header of 100 MB", tensors({}, length=100_000_000)),
    ("a header that is too large", tensors(b"{}" + b" " * 1_100_000)),
    ("a header that is a list", tensors(b"[]")),
    ("notes that are no text", tensors({"__metadata__": {"a": 1}, "w": tensor()})),
    ("tensors over each other", tensors({"a": tensor(0, 8), "b": tensor(4, 8, (1,))})),
    (
        "a gap with something in it",
        tensors({"a": tensor(0, 4, (1,)), "b": tensor(8, 12, (1,))}, b"\0" * 12),
    ),
    ("something behind the tensors", tensors({"a": tensor()}, b"\0" * 8 + b"MZ hidden")),
    ("a tensor outside the file", tensors({"a": tensor(0, 8000, (2000,))})),
    ("a tensor before the file", tensors({"a": tensor(-8, 0)})),
    ("a tensor backwards", tensors({"a": tensor(8, 0)})),
    ("a shape that is larger", tensors({"a": tensor(0, 8, (1000, 1000))})),
    ("a shape of less than nothing", tensors({"a": tensor(0, 8, (-1, -2))})),
    ("a shape of yes", tensors({"a": tensor(0, 8, (True, 2))})),
    ("a shape of many dimensions", tensors({"a": tensor(0, 8, (1,) * 60 + (2,))})),
    ("a type that is code", tensors({"a": tensor(dtype="os.system")})),
    ("a tensor of more", tensors({"a": tensor() | {"run": "me"}})),
):
    hostile(
        f"weights with {shown}",
        NO_WEIGHTS,
        lambda _, content=content: with_member("engine/model.safetensors", content),
    )

hostile(
    "weights with one tensor twice",
    NO_JSON,
    lambda _: with_member("engine/model.safetensors", tensors(b'{"a": 1, "a": 2}')),
)
hostile(
    "weights with a header too deep",
    NO_JSON,
    lambda _: with_member("engine/model.safetensors", tensors(DEEP)),
)
hostile(
    "weights that tell a path",
    PLACE,
    lambda _: with_member(
        "engine/model.safetensors",
        tensors({"__metadata__": {"from": "/home/anna/run"}, "a": tensor()}),
    ),
)
hostile(
    "many weights",
    "more JSON, text or files of weights",
    lambda _: zipped(raws(good(**{f"engine/{n}.safetensors": weights(n) for n in range(40)}))),
)


def flac_blocks(*blocks: tuple[int, bytes]) -> bytes:
    """A sound with more blocks behind its first."""
    plain = flac()
    more = b"".join(bytes([kind]) + len(each).to_bytes(3, "big") + each for kind, each in blocks)
    return plain[:42] + more + plain[42:]


def lying_flac(frames: int, rate: int = 16_000) -> bytes:
    plain = bytearray(flac())
    numbers = int.from_bytes(plain[18:26], "big")
    numbers = (rate << 44) | (numbers >> 36 & 0xFF) << 36 | frames
    plain[18:26] = numbers.to_bytes(8, "big")
    return bytes(plain)


def silence(seconds: int) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.zeros(seconds * 8000, np.int16), 8000, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def wav() -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.zeros(99), 16_000, format="WAV")
    return file.getvalue()


for shown, make in (
    ("nothing in it", lambda: b""),
    ("another format", wav),
    ("a playlist in it", lambda: b"#EXTM3U\nfile:///etc/passwd\n"),
    ("its end missing", lambda: flac(2)[:-9000]),
    ("only its beginning", lambda: flac()[:30]),
    ("noise for sound", lambda: flac()[:60] + bytes(range(256)) * 40),
    ("an hour of silence", lambda: silence(3600)),
    ("days said", lambda: lying_flac(2**36 - 1)),
    ("no length said", lambda: lying_flac(0)),
    ("a rate of 655,350", lambda: lying_flac(3200, 655_350)),
    ("a rate of 0", lambda: lying_flac(3200, 0)),
    ("eight channels", lambda: flac(channels=8)),
    ("no sound", lambda: flac(0)),
    ("a picture", lambda: flac_blocks((6, b"MZ" * 99))),
    ("a program's own block", lambda: flac_blocks((2, b"evil" * 9))),
    ("blocks without end", lambda: flac_blocks(*[(1, bytes(2**24 - 1))])),
    ("blocks beyond the end", lambda: b"fLaC\0\xff\xff\xff" + bytes(34)),
):
    hostile(
        f"a sound with {shown}",
        NO_SOUND,
        lambda _, make=make: with_member("reference.flac", make()),
    )

hostile(
    "a sound that tells a path",
    PLACE,
    lambda _: with_member(
        "sample.flac", flac_blocks((4, b"\0\0\0\0\1\0\0\0\x16\0\0\0FROM=/home/anna/x.flac"))
    ),
)
hostile(
    "a sound of 33 MB",
    "may have 32 MB",
    lambda _: with_member("sample.flac", flac() + bytes(33_000_000)),
)
