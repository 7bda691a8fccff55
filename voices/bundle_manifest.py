"""What a packed voice says of itself, and the names that its members may have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePosixPath
from typing import Any, NoReturn

import engines
from engines.errors import BundleError, EngineError, NameProblem
from voices import names
from voices.bundle_json import read_json
from voices.bundle_zip import AGAIN, DISTRUST, MOST_NAME_BYTES, MOST_PARTS
from voices.library import ENGINE, FACTS, REFERENCE, SAMPLE

FORMAT = 1
MANIFEST = "manifest.json"
WEIGHTS = ".safetensors"
SUFFIXES = (WEIGHTS, ".json", ".txt")
# What Python unpickles, or may.
PICKLES = (".pth", ".pt", ".bin", ".pkl", ".pickle", ".ckpt", ".npy", ".npz", ".joblib")
MOST_MANIFEST_BYTES = 1_000_000
MOST_BYTES = 20_000_000_000
# All that is looked into before anything is written, so that looking takes a second or two.
MOST_LOOKED_INTO_BYTES = 16_000_000
MOST_WEIGHTS = 16

_MOST_FOLDERS = 4
# No letter outside ASCII: then no two names are one name to a file system that composes accents.
_SEGMENT = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_. -]*[A-Za-z0-9_])?")
_DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10)),
}
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}|")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a packed voice."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a person is shown of a packed voice before they take it in."""

    format: int
    name: str
    engine: str
    language: str
    licence: Mapping[str, Any]
    """Of the engine's code and of the base, as the voice keeps it."""
    consent: Mapping[str, Any]
    """Whose voice it is and that its owner agrees; empty where nobody was asked."""
    members: tuple[Member, ...]

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members)

    def told(self) -> dict[str, Any]:
        """What voice.json says as well."""
        return {name: getattr(self, name) for name in TOLD}

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()


TOLD = ("name", "engine", "language", "licence", "consent")
_FIELDS = {field.name for field in fields(Manifest)}


def told_in(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a voice.json; an earlier one has nothing of consent."""
    return {name: facts.get(name, {} if name in ("licence", "consent") else "") for name in TOLD}


def read(content: bytes) -> Manifest:
    """Understand a manifest; raise BundleError for one that no Timbre wrote."""
    given = read_json(content, MANIFEST)
    if not isinstance(given, dict) or type(given.get("format")) is not int:
        _refuse("does not say which format it has")
    if given["format"] > FORMAT:
        raise BundleError(
            f"The file was packed by a newer Timbre (format {given['format']}; this one reads"
            f" {FORMAT}).",
            "Update Timbre and take the file in again.",
        )
    if given["format"] < 1 or given.keys() != _FIELDS or not isinstance(given["members"], list):
        _refuse("does not have the entries that it must have")
    manifest = Manifest(**{**given, "members": tuple(_member(each) for each in given["members"])})
    check(manifest)
    return manifest


def _member(given: Any) -> Member:
    if not isinstance(given, dict) or given.keys() != {"name", "size", "sha256"}:
        _refuse("has a member without name, size and SHA-256")
    name, size, sha256 = given["name"], given["size"], given["sha256"]
    if not isinstance(name, str) or type(size) is not int or not 0 <= size <= MOST_BYTES:
        _refuse("has a member whose name or size cannot be")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        _refuse("has a member whose SHA-256 is none")
    return Member(name, size, sha256)


def check(manifest: Manifest) -> None:
    """Raise unless a voice can be called this, and can have these members."""
    try:
        if not isinstance(manifest.name, str) or names.clean(manifest.name) != manifest.name:
            _refuse("gives a name that no voice can have")
        engines.find(_text(manifest.engine))
    except (NameProblem, EngineError) as error:
        raise BundleError(f"The voice cannot be used here. {error.what}", error.fix) from error
    if not _LANGUAGE.fullmatch(_text(manifest.language)):
        _refuse("gives a language that is none")
    if not isinstance(manifest.licence, dict) or not isinstance(manifest.consent, dict):
        _refuse("tells licence and consent in another way than Timbre")
    _check_members(manifest)


def _text(given: Any) -> str:
    return given if isinstance(given, str) else "?"


def _check_members(manifest: Manifest) -> None:
    listed = [member.name for member in manifest.members]
    check_names(listed)
    weights = [name for name in listed if name.endswith(WEIGHTS)]
    if not weights or not {FACTS, REFERENCE} <= set(listed):
        _refuse(f"lacks {FACTS}, {REFERENCE} or the weights, so that there is no voice")
    looked_into = sum(each.size for each in manifest.members if each.name.endswith(SUFFIXES[1:]))
    if len(weights) > MOST_WEIGHTS or looked_into > MOST_LOOKED_INTO_BYTES:
        _refuse("lists more JSON, text or files of weights than any engine needs")
    if manifest.size > MOST_BYTES:
        raise BundleError(
            f"The voice has {manifest.size / 1e9:,.1f} GB; at most {MOST_BYTES / 1e9:.0f} GB can"
            " travel in one file.",
            "Ask for a smaller voice.",
        )


# -- Names -------------------------------------------------------------------------------------


def check_names(listed: Iterable[str]) -> None:
    """Raise for a name that leads elsewhere somewhere, and for two that are one somewhere."""
    seen: set[str] = set()
    every = list(listed)
    if len(every) >= MOST_PARTS:  # the manifest is one more
        _refuse(f"lists {len(every):,} members, and a voice has fewer than {MOST_PARTS:,}")
    for name in every:
        if why := problem(name):
            raise BundleError(f"A member is called {_shown(name)}, {why}.", DISTRUST)
        if name.casefold() in seen:
            raise BundleError(
                f"Two members are called {name}, if capital letters do not count.", DISTRUST
            )
        seen.add(name.casefold())
    for name in seen:
        if inside := seen & {str(each) for each in PurePosixPath(name).parents}:
            raise BundleError(f"{inside.pop()} would be a file and a folder at once.", DISTRUST)


def problem(name: str) -> str:
    """Why a member cannot have this name; "" when it can."""
    segments = name.split("/")
    if "\\" in name or ":" in name or name.startswith(("/", "~")) or ".." in segments:
        return "which leads out of the voice's folder"
    if not all(_SEGMENT.fullmatch(segment) for segment in segments):
        return "which not every system can write as it stands"
    if any(segment.casefold().partition(".")[0].strip() in _DEVICES for segment in segments):
        return "which is a device on Windows"
    if len(name) > MOST_NAME_BYTES or len(segments) > _MOST_FOLDERS:
        return "which is too long"
    if name in (FACTS, REFERENCE, SAMPLE):
        return ""
    if segments[0] != ENGINE or len(segments) < 2:
        return "which is no part of a voice"
    suffix = PurePosixPath(name).suffix
    if suffix.lower() in PICKLES:
        return "which may run whatever its maker wrote when it is opened"
    return "" if suffix in SUFFIXES else "a kind of file that no voice needs"


def _shown(name: str) -> str:
    """A name in signs that no screen stumbles over."""
    return ascii(name if len(name) <= 60 else f"{name[:60]}…")


def _refuse(how: str) -> NoReturn:
    raise BundleError(f"The manifest {how}.", AGAIN)
