"""
Files that call themselves voices and are none: each made here, each wrong in one way.

`HOSTILE` maps a name to what makes the bytes and what the refusal must say. Makers get the folder
that nothing may be written into, and a command that no pickle may come to run.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from tests.voices.packed import Raw, good, manifest_of, raws, zipped


@dataclass(frozen=True)
class Trap:
    """Where it would be seen that something was written, or run."""

    elsewhere: Path
    canary: Path

    def __reduce__(self):
        return (exec, (f"open({str(self.canary)!r}, 'w').close()",))


@dataclass(frozen=True)
class Hostile:
    make: Callable[[Trap], bytes]
    said: str
    writes: bool = False
    """Whether it is only found out while it is unpacked."""


HOSTILE: dict[str, Hostile] = {}


def hostile(name: str, said: str, make: Callable[[Trap], bytes], *, writes: bool = False) -> None:
    assert name not in HOSTILE
    HOSTILE[name] = Hostile(make, said, writes)


def case(said: str, *, writes: bool = False):
    def kept(make):
        hostile(make.__name__.replace("_", " "), said, make, writes=writes)
        return make

    return kept


def with_member(name: str, content: bytes = b"{}") -> bytes:
    return zipped(raws(good(**{name: content})))


def with_changed(index: int, **changes) -> bytes:
    """A good one with the member at a place changed: 0 manifest, 1 facts, 3 weights, 4 JSON."""
    members = raws(good())
    members[index] = replace(members[index], **changes)
    return zipped(members)


def with_manifest(**other) -> bytes:
    return zipped(raws(good(), manifest_of(good(), **other)))


GOOD = zipped(raws(good()))
LEADS_OUT, NOT_WRITABLE = "leads out of the voice's folder", "not every system can write"
A_DEVICE, NO_PART, CHANGED = "a device on Windows", "no part of a voice", "cut short, was changed"
NO_WEIGHTS, NO_SOUND, NO_JSON = "does not hold weights", "no sound as Timbre", "no JSON that Timbre"
STRANGE = "a name that no part of a voice has"

# -- Names -------------------------------------------------------------------------------------

for shown, member, refusal in (
    ("parent", "../evil.json", LEADS_OUT),
    ("parent in the middle", "engine/../../evil.json", LEADS_OUT),
    ("parent at the end", "engine/..", LEADS_OUT),
    ("parent of Windows", "..\\evil.json", LEADS_OUT),
    ("backslashes", "engine\\evil.json", LEADS_OUT),
    ("drive", "C:\\evil.json", LEADS_OUT),
    ("place on a drive", "C:evil.json", LEADS_OUT),
    ("network share", "\\\\host\\share\\evil.json", LEADS_OUT),
    ("network share with slashes", "//host/share/evil.json", LEADS_OUT),
    ("device path", "\\\\?\\C:\\evil.json", LEADS_OUT),
    ("home", "~/evil.json", LEADS_OUT),
    ("stream", "engine/pocket.json:evil.json", LEADS_OUT),
    ("this folder", "./evil.json", NOT_WRITABLE),
    ("empty folder", "engine//evil.json", NOT_WRITABLE),
    ("dot at the end", "engine/evil.json.", NOT_WRITABLE),
    ("blank at the end", "engine/evil.json ", NOT_WRITABLE),
    ("folder with a blank at the end", "engine/deep /evil.json", NOT_WRITABLE),
    ("hidden", "engine/.evil.json", NOT_WRITABLE),
    ("question mark", "engine/evil?.json", NOT_WRITABLE),
    ("folder only", "engine/deep/", NOT_WRITABLE),
    ("CON", "engine/CON.json", A_DEVICE),
    ("NUL in a folder", "engine/nul/evil.json", A_DEVICE),
    ("COM1 with two suffixes", "engine/Com1.a.json", A_DEVICE),
    ("LPT9 and a blank", "engine/lpt9 .json", A_DEVICE),
    ("too deep", "engine/a/b/c/d/evil.json", "too long"),
    ("beside the voice", "evil.json", NO_PART),
    ("second manifest", "engine/../manifest.json", LEADS_OUT),
    ("training audio", "clips/0001.flac", NO_PART),
    ("more sound", "engine/0001.flac", "a kind of file that no voice needs"),
    ("program", "engine/setup.py", "a kind of file that no voice needs"),
    ("zip in the zip", "engine/inner.zip", "a kind of file that no voice needs"),
    ("capital letters", "engine/POCKET.json", "capital letters do not count"),
    ("file and folder at once", "engine/pocket.json/evil.json", "a file and a folder at once"),
):
    hostile(f"name: {shown}", refusal, lambda _, member=member: with_member(member))

for shown, member in (
    ("composed and decomposed accents", "engine/é.json"),
    ("turned reading order", "engine/\u202egnosj.json"),
    ("fullwidth dots", "engine/．．/evil.json"),
    ("zero byte", "engine/a\0.json"),
    ("line break", "engine/a\n.json"),
    ("10,000 letters", f"engine/{'a' * 10_000}.json"),
):
    hostile(f"name: {shown}", STRANGE, lambda _, member=member: with_member(member))


@case(LEADS_OUT)
def an_absolute_name(trap):
    return with_member(f"{trap.elsewhere}/evil.json")


@case("capital letters do not count")
def the_same_name_twice(trap):
    members = raws(good())
    return zipped([*members, members[4]])


@case("no part of a voice")
def a_second_manifest(trap):
    members = raws(good())
    return zipped([*members, members[0]])


# -- What is no file, or runs ------------------------------------------------------------------

for shown, mode in (("link", 0o120777), ("folder", 0o040755), ("device", 0o020666)):
    hostile(f"a {shown}", "a link, a folder", lambda _, mode=mode: with_changed(4, mode=mode))


@case("a link, a folder")
def a_link_to_elsewhere_and_a_file_through_it(trap):
    link = Raw(b"engine/deep", str(trap.elsewhere).encode(), mode=0o120777)
    return zipped([*raws(good()), link, Raw(b"engine/deep/evil.json", b"{}")])


# What says "hard link" to Unix's own zip: a field of its own.
hostile(
    "a hard link", CHANGED, lambda _: with_changed(4, extra=struct.pack("<2H4s", 13, 4, b"link"))
)


def torch_zip(trap: Trap) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("archive/data.pkl", pickle.dumps(trap))
        packed.writestr("archive/version", "3")
    return file.getvalue()


def legacy_tar(trap: Trap) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as packed:
        content = pickle.dumps(trap)
        entry = tarfile.TarInfo("pickle")
        entry.size = len(content)
        packed.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def pickled_array(trap: Trap) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([trap], object), allow_pickle=True)
    return file.getvalue()


MAY_RUN = "may run whatever its maker wrote"
for shown, member, content, refusal in (
    ("as itself", "engine/model.pth", pickle.dumps, MAY_RUN),
    ("in capitals", "engine/model.PTH", pickle.dumps, MAY_RUN),
    ("as bin", "engine/pytorch_model.bin", pickle.dumps, MAY_RUN),
    ("as optimizer", "engine/optimizer.pt", pickle.dumps, MAY_RUN),
    ("as random state", "engine/rng_state.pth", torch_zip, MAY_RUN),
    ("as speakers", "engine/speakers_xtts.pth", torch_zip, MAY_RUN),
    ("as an array", "engine/mel.npy", pickled_array, MAY_RUN),
    ("as a checkpoint", "engine/last.ckpt", legacy_tar, MAY_RUN),
    ("as metadata", "engine/.metadata", pickle.dumps, NOT_WRITABLE),
    ("renamed to safetensors", "engine/model.safetensors", pickle.dumps, NO_WEIGHTS),
    ("of torch renamed to safetensors", "engine/model.safetensors", torch_zip, NO_WEIGHTS),
    ("of old torch renamed to safetensors", "engine/w.safetensors", legacy_tar, NO_WEIGHTS),
    ("renamed to JSON", "engine/pocket.json", pickle.dumps, NO_JSON),
    ("renamed to text", "engine/vocab.txt", legacy_tar, "no text"),
    ("renamed to sound", "reference.flac", pickle.dumps, NO_SOUND),
    ("as an array renamed to sound", "sample.flac", pickled_array, NO_SOUND),
):
    hostile(
        f"a pickle {shown}",
        refusal,
        lambda trap, member=member, content=content: with_member(member, content(trap)),
    )

# -- The zip itself ----------------------------------------------------------------------------

hostile("nothing", "no voice that Timbre packed", lambda _: b"")
hostile("a web page", "no voice that Timbre packed", lambda _: b"<!doctype html>" * 99)
hostile("a tar", "no voice that Timbre packed", legacy_tar)
hostile("an empty zip", "no voice that Timbre packed", lambda _: zipped([]))
hostile("half a file", CHANGED, lambda _: GOOD[: len(GOOD) // 2])
hostile("the first bytes", CHANGED, lambda _: GOOD[:9])
hostile("all but the last byte", CHANGED, lambda _: GOOD[:-1])
hostile("something behind", CHANGED, lambda _: GOOD + b"#!/bin/sh\n")
hostile("something before", "no voice that Timbre packed", lambda _: b"#!/bin/sh\n" + GOOD)
hostile("another zip before", CHANGED, lambda _: zipped(raws(good())) + GOOD)
hostile("a comment", CHANGED, lambda _: zipped(raws(good()), comment=b"PK\5\6 hello"))
hostile("several disks", CHANGED, lambda _: zipped(raws(good()), disk=1))
hostile("a member that is not listed", CHANGED, lambda _: zipped(raws(good()), count=4))
hostile("a list that says too much", CHANGED, lambda _: zipped(raws(good()), count=9))
hostile("a gap", CHANGED, lambda _: zipped(raws(good()), between=b"hidden"))
hostile("something behind a member", CHANGED, lambda _: with_changed(4, behind=b"hidden"))
hostile("sums behind the content", CHANGED, lambda _: with_changed(4, flags=8))
hostile("a password", "locked with a password", lambda _: with_changed(3, flags=1))
hostile("a strong password", "locked with a password", lambda _: with_changed(3, flags=0x41))
hostile("hidden names", "locked with a password", lambda _: with_changed(3, flags=0x2000))
hostile("a size too large", CHANGED, lambda _: with_changed(4, size=9000))
hostile("a size too small", CHANGED, lambda _: with_changed(3, size=20))
hostile("two sizes", CHANGED, lambda _: with_changed(3, local_size=20))
hostile("two names", CHANGED, lambda _: with_changed(4, local_name=b"../evilpocket.json"))
hostile("a wrong checksum", "not what was packed", lambda _: with_changed(4, crc=1), writes=True)
hostile("a wrong checksum of the manifest", "not what was packed", lambda _: with_changed(0, crc=1))
hostile("the content at another place", CHANGED, lambda _: with_changed(4, at=0))
hostile("a list at another place", CHANGED, lambda _: zipped(raws(good()), begins=40))
hostile("a list behind the end", "has no end", lambda _: zipped(raws(good()), begins=0xFFFFFFF0))
hostile("a list in 64 bits, not there", CHANGED, lambda _: zipped(raws(good()), begins=0xFFFFFFFF))
hostile(
    "a second name",
    CHANGED,
    lambda _: with_changed(4, extra=struct.pack("<2H9s", 0x7075, 9, b"\1../../a")),
)
hostile(
    "a size in 64 bits that is none",
    "",
    lambda _: with_changed(3, size=0xFFFFFFFF, extra=struct.pack("<2H2Q", 1, 16, 5, 5)),
)
hostile(
    "sizes in 64 bits without need",
    CHANGED,
    lambda _: with_changed(4, extra=struct.pack("<2H2Q", 1, 16, 8, 8)),
)
hostile("half a size in 64 bits", "", lambda _: with_changed(3, size=0xFFFFFFFF, extra=b"\1\0\x10"))


@case("says it holds 65,535 parts")
def a_hundred_thousand_members(trap):
    many = [Raw(f"engine/{n}.json".encode(), b"") for n in range(100_000)]
    return zipped(many, count=0xFFFF)


@case("says it holds 1,001 parts")
def one_member_too_many(trap):
    members = {f"engine/{n}.json": b"1" for n in range(996)}
    return zipped(raws(good(**members)))


@case(CHANGED)
def a_second_list_in_64_bits(trap):
    """What one program takes from the 64-bit list, another takes from the 32-bit one."""
    inner = zipped(raws(good(**{"engine/evil.json": b"{}"})))
    end = len(inner) - 22
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 5, 5, 99, end)
    return inner[:end] + large + struct.pack("<4sLQL", b"PK\6\7", 0, end, 1) + inner[end:]


@case("claims to become 500,000,000")
def half_a_gigabyte_in_half_a_megabyte(trap):
    return with_changed(3, content=_deflated_zeros(500_000_000), method=8, size=500_000_000)


@case("claims to become")
def packed_tighter_at_all(trap):
    return with_changed(4, content=_deflated(b'{"v": 1}' * 9), method=8, size=72)


@case("claims to become")
def packed_in_another_way(trap):
    return with_changed(4, method=14, size=80)


@case(CHANGED)
def overlapping_members(trap):
    """Many names for one content, as bombs have that need no nesting."""
    members = raws(good())
    at = len(zipped(members[:3])) - sum(46 + len(each.name) for each in members[:3]) - 22
    return zipped(
        [
            *members,
            *(replace(members[3], name=b"engine/%d.safetensors" % n, at=at) for n in range(500)),
        ]
    )


@case(CHANGED)
def a_member_inside_another(trap):
    members = raws(good())
    inner = zipped([Raw(b"engine/evil.json", b"{}")])
    members[3] = replace(members[3], content=inner)
    return zipped([*members, Raw(b"engine/evil.json", b"{}", at=len(zipped(members[:3])))])


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


@cache
def _deflated_zeros(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = bytes(1_000_000)
    return b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()


# -- The manifest ------------------------------------------------------------------------------

DEEP = b"[" * 100_000 + b"]" * 100_000
TWICE = json.dumps(manifest_of(good())).encode()[:-1] + b', "name": "Other"}'
TWO_VOICES = "tell of two voices"

hostile("no manifest", "does not begin with manifest.json", lambda _: zipped(raws(good())[1:]))
hostile("manifest at the end", "does not begin with", lambda _: zipped(raws(good())[::-1]))
hostile("manifest too new", "a newer Timbre", lambda _: with_manifest(format=2))
hostile("manifest of format 0", "does not have the entries", lambda _: with_manifest(format=0))
hostile("manifest of format true", "which format", lambda _: with_manifest(format=True))
hostile("manifest with more", "does not have the entries", lambda _: with_manifest(run="me"))
hostile("manifest is a list", "which format", lambda _: zipped(raws(good(), b"[]")))
hostile("manifest too deep", NO_JSON, lambda _: zipped(raws(good(), DEEP)))
hostile("manifest with two names", "stands there twice", lambda _: zipped(raws(good(), TWICE)))
hostile("manifest in other signs", "not UTF-8", lambda _: zipped(raws(good(), b'{"a": "\xff"}')))
hostile("manifest with half a sign", NO_JSON, lambda _: zipped(raws(good(), b'{"a": "\\ud800"}')))
hostile("manifest too large", "may have 1 MB", lambda _: zipped(raws(good(), b" " * 1_100_000)))
hostile(
    "manifest with a number without end", NO_JSON, lambda _: zipped(raws(good(), b"9" * 900_000))
)
hostile("another name than the facts", TWO_VOICES, lambda _: with_manifest(name="Another"))
hostile("another consent", TWO_VOICES, lambda _: with_manifest(consent={"agreed": False}))
hostile("another licence", TWO_VOICES, lambda _: with_manifest(licence={}))
hostile(
    "a name that turns the text",
    "turns the reading order",
    lambda _: with_manifest(name="a\u202eb"),
)
hostile("a name without end", "longer than", lambda _: with_manifest(name="a" * 90_000))
hostile("an engine that is none", "no engine called", lambda _: with_manifest(engine="os"))
hostile("an engine that is a number", "no engine called", lambda _: with_manifest(engine=1))
hostile(
    "a language that is none", "a language that is none", lambda _: with_manifest(language="../x")
)
hostile("consent as text", "in another way", lambda _: with_manifest(consent="yes"))
hostile("members as text", "entries that it must have", lambda _: with_manifest(members="all"))
hostile("no members", "other members", lambda _: zipped(raws({}, manifest_of(good()))))
hostile(
    "a member too much",
    "other members",
    lambda _: zipped([*raws(good()), Raw(b"engine/a.txt", b"a")]),
)
hostile("a member too few", "other members", lambda _: zipped(raws(good())[:-1]))
hostile(
    "no weights",
    "there is no voice",
    lambda _: zipped(raws({k: v for k, v in good().items() if "engine" not in k})),
)


def with_member_said(**other) -> bytes:
    told = manifest_of(good())
    told["members"][3] |= other
    return zipped(raws(good(), told))


@case("at most 20 GB can travel")
def members_of_thirty_gigabytes(trap):
    told = manifest_of(good())
    for member in told["members"][1:3]:
        member["size"] = 15 * 10**9
    return zipped(raws(good(), told))


hostile("a member of another size", "other members", lambda _: with_member_said(size=9))
hostile("a member of negative size", "size cannot be", lambda _: with_member_said(size=-8))
hostile("a member of size true", "size cannot be", lambda _: with_member_said(size=True))
hostile("a member of endless size", "size cannot be", lambda _: with_member_said(size=10**30))
hostile("a member with a number for a name", "size cannot be", lambda _: with_member_said(name=1))
hostile(
    "a member whose sum is none", "SHA-256 is none", lambda _: with_member_said(sha256="../" * 9)
)
hostile(
    "a member with another sum",
    "not what was packed",
    lambda _: with_member_said(sha256="0" * 64),
    writes=True,
)
