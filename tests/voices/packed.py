"""
Voices to pack, and a zip written by other code than Timbre's, in which anything can be wrong.

With nothing wrong it gives Timbre's own bytes (test_bundle.py sees to that), so that each hostile
file is refused for what was done to it and for nothing else.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from safetensors.numpy import save

from voices import files

FACTS = {
    "v": 1,
    "name": "Ánna’s voice",
    "engine": "pocket",
    "language": "en-GB",
    "licence": {"code": "Apache-2.0", "base": ["CC0"]},
    "consent": {"owner": "Anna", "agreed": True, "said": "I agree, and/or so. https://a.b/c/d"},
    "from": {"project": "Book", "run": "0123456789ab", "step": 120},
    "scores": {"similarity": 0.93},
    "sample_text": "It costs 3/4 of that/those.",
}


def flac(seconds=0.2, rate=16_000, channels=1, seed=0) -> bytes:
    noise = np.random.default_rng(seed).integers(-900, 900, (int(seconds * rate), channels))
    file = io.BytesIO()
    soundfile.write(file, noise.astype(np.int16), rate, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def weights(seed=0) -> bytes:
    chance = np.random.default_rng(seed)
    kinds = ("float32", "float16", "int64", "uint8", "bool")
    return save(
        {
            f"block.{n}.weight": chance.random(tuple(chance.integers(0, 9, n % 4))).astype(
                kinds[n % len(kinds)]
            )
            for n in range(chance.integers(1, 12))
        },
        {"format": "pt"},
    )


def a_voice(folder: Path, facts=FACTS, engine=None, **others) -> Path:
    """A sealed voice, as a training leaves it."""
    made = (
        {"model.safetensors": weights(), "pocket.json": b'{"v": 1}'} if engine is None else engine
    )
    with files.new_folder(folder) as new:
        content = {"voice.json": json.dumps(facts).encode(), "reference.flac": flac(), **others}
        content |= {f"engine/{name}": each for name, each in made.items()}
        for name, each in content.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(each)
    return folder


def random_voice(folder: Path, seed: int) -> Path:
    """Another voice for each seed: other engine files, sounds, names in other scripts."""
    chance = random.Random(seed)
    name = "".join(chance.choices("abcXYZ äß日本語🎙’", k=chance.randint(1, 30))).strip() or "x"
    facts = {**FACTS, "name": name, "language": chance.choice(["en", "de", "zh-cn", ""])}
    engine = {
        f"part{n}/w{n}.safetensors": weights(seed * 10 + n) for n in range(chance.randint(1, 3))
    }
    engine["config.json"] = json.dumps(
        {"rate": seed, "text": name, "deep": [[{"a": None}]]}
    ).encode()
    if chance.random() < 0.5:
        engine["vocab.txt"] = "\n".join(chance.choices(" aäß日/.~\\", k=200)).encode()
    sounds = {
        "reference.flac": flac(chance.uniform(0.05, 1), chance.choice([16000, 24000]), seed=seed)
    }
    if chance.random() < 0.5:
        sounds["sample.flac"] = flac(0.1, 22_050, 2, seed)
    return a_voice(folder, facts, engine, **sounds)


# -- The same by hand --------------------------------------------------------------------------


@dataclass
class Raw:
    """One member, and what is said of it; None is the truth."""

    name: bytes
    content: bytes
    flags: int = 0
    method: int = 0
    crc: int | None = None
    size: int | None = None
    mode: int = 0o100644
    extra: bytes = b""
    local_name: bytes | None = None
    local_size: int | None = None
    at: int | None = None
    behind: bytes = b""


def raws(members: dict[str, bytes], manifest: dict | bytes | None = None) -> list[Raw]:
    """Members with the manifest that they need, or with another one."""
    told = manifest_of(members) if manifest is None else manifest
    if not isinstance(told, bytes):
        told = json.dumps(told, ensure_ascii=False, indent=1).encode()
    return [Raw(name.encode(), each) for name, each in {"manifest.json": told, **members}.items()]


def manifest_of(members: dict[str, bytes], facts=FACTS, /, **other) -> dict:
    listed = [
        {"name": name, "size": len(each), "sha256": hashlib.sha256(each).hexdigest()}
        for name, each in members.items()
    ]
    told = {name: facts[name] for name in ("name", "engine", "language", "licence", "consent")}
    return {"format": 1, **told, "members": listed, **other}


def good(**others: bytes) -> dict[str, bytes]:
    """The members of a voice in their order; others are added or take a member's place."""
    facts = json.dumps(FACTS).encode()
    engine = {"engine/model.safetensors": weights(), "engine/pocket.json": b'{"v": 1}'}
    return {"voice.json": facts, "reference.flac": flac(), **engine, **others}


def zipped(members: list[Raw], count=None, comment=b"", disk=0, between=b"", begins=None) -> bytes:
    """A zip of these members, with the lies that they and the arguments tell."""
    out, directory = bytearray(), bytearray()
    for each in members:
        crc = zlib.crc32(each.content) if each.crc is None else each.crc
        said = len(each.content) if each.size is None else each.size
        here = said if each.local_size is None else each.local_size
        local = each.name if each.local_name is None else each.local_name
        packed = len(each.content) if each.method or each.size is None else said
        at = len(out) if each.at is None else each.at
        common = (20, each.flags, each.method, 0, 0x21, crc)
        if each.at is None:
            out += struct.pack("<4s5H3L2H", b"PK\3\4", *common, packed, here, len(local), 0)
            out += local + each.content + each.behind
        out += between
        directory += struct.pack(
            "<4s6H3L5H2L",
            *(b"PK\1\2", 3 << 8 | 20, *common, packed, said, len(each.name), len(each.extra)),
            *(0, 0, 0, each.mode << 16, at),
        )
        directory += each.name + each.extra
    number = len(members) if count is None else count
    begins = len(out) if begins is None else begins
    end = (b"PK\5\6", disk, disk, number, number, len(directory), begins, len(comment))
    return bytes(out + directory) + struct.pack("<4s4H2LH", *end) + comment
