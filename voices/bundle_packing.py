"""What of a voice goes into its bundle: only what can do no harm and tells nobody's secrets."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines.errors import BundleError
from voices.bundle_json import read_json
from voices.bundle_manifest import PICKLES, TOLD
from voices.bundle_parts import Digest, Stretch, Told, check, digest
from voices.bundle_privacy import cleaned, home_in, place_in
from voices.library import ENGINE, FACTS, REFERENCE, SAMPLE

Source = Path | bytes
"""A file, or what is written instead of it."""


def refuse_pickles(folder: Path) -> None:
    found = [each for each in folder.rglob("*") if each.suffix.lower() in PICKLES]
    if found:
        raise BundleError(
            f"The voice holds {found[0].name}, which may run code where it is opened, and such"
            " files do not travel.",
            "Pack it with its weights as safetensors, or export it for the engine's own tools.",
        )


@contextmanager
def says_what_to_do_here() -> Iterator[None]:
    """The checks of who takes a voice in tell them to ask for it again; here it can be mended."""
    try:
        yield
    except BundleError as error:
        fix = "Put that right in the voice, and pack it again. Nothing was written."
        raise BundleError(error.what, fix) from error


def sources(voice: Path, engine: Path) -> dict[str, Source]:
    """What goes in, by the name that it has there; whatever else lies in the folder stays."""
    found: dict[str, Source] = {
        name: voice / name for name in (REFERENCE, SAMPLE) if (voice / name).is_file()
    }
    for path in sorted(engine.rglob("*"), key=Path.as_posix):
        if path.is_symlink():
            raise BundleError(f"{path.name} of the voice is a link.", "Put the file itself there.")
        if path.is_file():
            found[f"{ENGINE}/{path.relative_to(engine).as_posix()}"] = path
    return found


def facts_in(voice: Path) -> bytes:
    path = voice / FACTS
    return path.read_bytes() if path.is_file() else b""


def clean_facts(content: bytes) -> bytes:
    """What is known of a voice as it is, or without the paths that are in it."""
    facts = read_json(content, FACTS)
    if not isinstance(facts, dict):
        raise BundleError(f"{FACTS} of the voice is not what Timbre writes.", "Make it again.")
    # What the person called it stays, even when they are called so themselves.
    told = {name: facts[name] for name in TOLD if name in facts}
    clean = {**cleaned(facts, Path.home()), **told}
    return content if clean == facts else json.dumps(clean, ensure_ascii=False, indent=1).encode()


@contextmanager
def opened(source: Source) -> Iterator[Stretch]:
    if isinstance(source, bytes):
        yield Stretch(io.BytesIO(source), 0, len(source))
        return
    with source.open("rb") as file:
        yield Stretch(file, 0, file.seek(0, io.SEEK_END))


def checked(name: str, source: Source, told: Told) -> Digest:
    """Look at a member as whoever takes it in will, and for what names the user here."""
    home = Path.home()
    with opened(source) as held:
        check(name, held, lambda text: place_in(text) or home_in(text, home))
        return digest(held, told=told)
