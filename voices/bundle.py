"""
One `.timbre` file: a finished voice, packed to travel.

    manifest.json      what it is, whose, under which licence, and every member with its SHA-256
    voice.json         where it comes from, without a path
    reference.flac     what the engine is shown of the voice
    sample.flac        how it sounds, where that was spoken
    engine/            safetensors, JSON and text: nothing that could be run

Taking one in looks at everything first, then writes: a voice is there whole, or nothing is.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from engines.errors import BundleError, DiskFullError, NotFoundError
from voices import bundle_manifest as manifests
from voices import bundle_packing as packing
from voices import bundle_parts as contents
from voices import bundle_zip as zips
from voices import files
from voices.bundle_json import read_json
from voices.bundle_manifest import MANIFEST, Manifest, Member
from voices.bundle_parts import Stretch, Told, untold
from voices.library import ENGINE, FACTS

SUFFIX = ".timbre"
KEPT_FREE_BYTES = 2_000_000_000

Room = Callable[[Path], int]
"""How many bytes are free on the disk that holds a folder."""


# -- Out ---------------------------------------------------------------------------------------


def write_bundle(
    voice: Path,
    target: Path,
    engine: Path | None = None,
    *,
    facts: bytes | None = None,
    told: Told = untold,
) -> Manifest:
    """
    Pack a sealed voice; the file appears when all of it is there, and never over another.

    `engine` is a folder with the engine's files as safetensors, for a voice that keeps them in a
    form that could run code; `facts` stands in it instead of voice.json. `told` hears of every byte
    twice: when it is looked at, and when it is written. The same voice makes the same bytes.
    Training audio is never in it.
    """
    files.check_folder(voice, contents=False)
    _refuse_target(target, taken=target.exists())
    packing.refuse_pickles(engine or voice)
    with packing.says_what_to_do_here():
        clean = packing.clean_facts(packing.facts_in(voice) if facts is None else facts)
        sources: dict[str, packing.Source] = {
            FACTS: clean,
            **packing.sources(voice, engine or voice / ENGINE),
        }
        manifests.check_names(sources)
        digests = {name: packing.checked(name, source, told) for name, source in sources.items()}
        manifest = _manifest(clean, digests)
    found = {source: digests[name].sha256 for name, source in sources.items()}
    files.check_sums(voice, {path: found[path] for path in found if isinstance(path, Path)})
    with files.new_file(target) as file:
        _pack(file, manifest, sources, digests, told)
    return manifest


def _manifest(facts: bytes, digests: Mapping[str, contents.Digest]) -> Manifest:
    members = tuple(Member(name, each.size, each.sha256) for name, each in digests.items())
    manifest = Manifest(manifests.FORMAT, **manifests.told_in(json.loads(facts)), members=members)
    return manifests.read(manifest.to_bytes())  # as whoever takes it in will read it


def _pack(
    file: BinaryIO,
    manifest: Manifest,
    sources: Mapping[str, packing.Source],
    digests: Mapping[str, contents.Digest],
    told: Told,
) -> None:
    first = manifest.to_bytes()
    named = [(MANIFEST, len(first), zlib.crc32(first))]
    named += [(name, digests[name].size, digests[name].crc) for name in sources]
    parts = zips.in_order(named)
    file.write(zips.head(parts[0]) + first)
    for part, (name, source) in zip(parts[1:], sources.items(), strict=True):
        file.write(zips.head(part))
        with packing.opened(source) as held:
            if contents.digest(held, file, told) != digests[name]:
                raise BundleError(f"{name} was changed while it was packed.", "Pack it again.")
    file.write(zips.tail(parts))


# -- In ----------------------------------------------------------------------------------------


def look(path: Path) -> Manifest:
    """What a packed voice says of itself, after the same checks as before taking it in."""
    with _bundle(path) as (manifest, _):
        return manifest


def read_bundle(path: Path, target: Path, free_bytes: Room | None = None) -> Manifest:
    """
    Take a voice in: the folder appears sealed and whole, or nothing was written.

    Raise BundleError for a file that is not, to the byte, as Timbre packs voices.
    """
    _refuse_target(target, taken=files.exists(target) or target.is_file())
    with _bundle(path) as (manifest, members):
        _refuse_without_room(manifest, (free_bytes or _free_bytes)(target.parent))
        with files.new_folder(target) as new:
            for member, (part, held) in zip(manifest.members, members, strict=True):
                _unpack(member, part, held, new)
    return manifest


@contextmanager
def _bundle(path: Path) -> Iterator[tuple[Manifest, list[tuple[zips.Part, Stretch]]]]:
    """Open a bundle that passed every check for which nothing has to be written."""
    with _file(path) as file:
        parts = zips.read_parts(file)
        manifest = _read_manifest(file, parts)
        held = [Stretch(file, part.start, part.size) for part in parts[1:]]
        for member, each in zip(manifest.members, held, strict=True):
            contents.check(member.name, each)
            if member.name == FACTS:
                _refuse_other_facts(manifest, each)
        yield manifest, list(zip(parts[1:], held, strict=True))


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    if not path.is_file():
        raise NotFoundError(f"There is no file {path.name} there.", "Choose another one.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise BundleError(
            f"{path.name} cannot be read ({error.strerror}).", "See that you may read it."
        ) from error
    with file:
        yield file


def _read_manifest(file: BinaryIO, parts: Sequence[zips.Part]) -> Manifest:
    """Read it, and compare what it allows with what is there."""
    if parts[0].name != MANIFEST:
        raise BundleError(f"The file does not begin with {MANIFEST}: it is no voice.", zips.AGAIN)
    manifests.check_names(part.name for part in parts[1:])
    held = Stretch(file, parts[0].start, parts[0].size)
    content = contents.whole(MANIFEST, held, manifests.MOST_MANIFEST_BYTES)
    if zlib.crc32(content) != parts[0].crc:
        raise _damaged(MANIFEST)
    manifest = manifests.read(content)
    allowed = [(member.name, member.size) for member in manifest.members]
    if allowed != [(part.name, part.size) for part in parts[1:]]:
        raise BundleError(
            "The file holds other members than its manifest allows, or in other sizes.",
            zips.DISTRUST,
        )
    return manifest


def _refuse_other_facts(manifest: Manifest, held: Stretch) -> None:
    """What a person agreed to is read in one place, and what is kept in the other."""
    facts = read_json(held.read(0, held.size), FACTS)
    if not isinstance(facts, dict) or manifests.told_in(facts) != manifest.told():
        raise BundleError(f"{FACTS} and the manifest tell of two voices.", zips.DISTRUST)


def _refuse_without_room(manifest: Manifest, free: int) -> None:
    if manifest.size > free - KEPT_FREE_BYTES:
        raise DiskFullError(
            f"The voice takes {manifest.size / 1e6:,.0f} MB, {free / 1e6:,.0f} MB is free, and"
            f" {KEPT_FREE_BYTES / 1e9:.0f} GB stays free for everything else.",
            "Free some space and take the voice in again.",
        )


def _unpack(member: Member, part: zips.Part, held: Stretch, new: Path) -> None:
    path = new / member.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        found = contents.digest(held, file)
    if found != contents.Digest(member.size, member.sha256, part.crc):
        raise _damaged(member.name)


def _damaged(name: str) -> BundleError:
    return BundleError(f"{name} is not what was packed: the file is damaged.", zips.AGAIN)


# -- Both --------------------------------------------------------------------------------------


def _refuse_target(target: Path, *, taken: bool) -> None:
    if not target.parent.is_dir():
        raise NotFoundError(f"There is no folder {target.parent}.", "Make it, or choose another.")
    if taken:
        raise BundleError(f"{target.name} is there already.", "Choose another name for it.")


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free
