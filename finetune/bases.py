"""
Bases: the weights that trainings start from, as their owners have them and as engines load them.

    voices/starter/<engine>-<base>/           shipped with Timbre (voices/shipped.py)
    models/<engine>-<base>/                   downloaded, on consent to its licence
    models/converted/<engine>-<fingerprint>/  written once of any base, wherever it lies
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

import engines
from engines.base import Base, Engine
from engines.errors import DownloadError, NotDownloadedError, NotFoundError
from finetune import downloads
from finetune.downloads import Progress
from finetune.https import Stop
from finetune.jobs.events import Event, Said
from voices import files, shipped

_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class Listed:
    """A base that an engine knows of."""

    engine: Engine
    base: Base
    name: str
    """What a person types."""
    folder: Path | None
    """Where it is; None when it is not on this computer."""
    problem: str = ""
    """Why what lies there cannot be used."""


def find_base(engine: Engine, named: str, models: Path) -> Path:
    """
    Find a base: a folder that a person names, one of the downloaded, or the engine's first.

    Its files are looked for by name only; that they are weights is seen when they are converted.
    """
    known = {name: base for base in engine.bases for name in _names_of(engine, base)}
    if named and named not in known:
        folder = Path(named).expanduser().absolute()
        _files_of(engine, folder)
        return folder
    base = known[named] if named else engine.bases[0]
    folder = folder_of(engine, base, models)
    if not _is_here(base, folder):
        raise _not_here(engine, base, damaged=folder.exists())
    return folder


def listed(models: Path) -> Iterator[Listed]:
    """Every base of every engine, and whether it is here."""
    for name in sorted(engines.ENGINES):
        engine = engines.find(name)
        for base in engine.bases:
            folder = folder_of(engine, base, models)
            here = _is_here(base, folder)
            problem = "" if here or not folder.exists() else "damaged: download it again"
            called = _names_of(engine, base)[0]
            yield Listed(engine, base, called, folder if here else None, problem)


def downloadable(named: str) -> tuple[Engine, Base] | None:
    """The engine and the base that a person means by a name of `models list`."""
    for name in engines.ENGINES:
        engine = engines.find(name)
        for base in engine.bases:
            if named in _names_of(engine, base):
                return engine, base
    return None


def download_base(
    engine: Engine, base: Base, models: Path, agreed: bool, progress: Progress, stop: Stop
) -> Path:
    """Download a base whose licence somebody agreed to; what was interrupted goes on."""
    folder = folder_of(engine, base, models)
    if files.exists(folder):
        return folder
    if not base.repository:
        raise NotFoundError(
            f"{engine.title}: the base {base.name} cannot be downloaded.",
            "Name a folder that holds it with --base.",
        )
    if not agreed:
        raise _not_agreed(engine, base)
    wanted = downloads.hub_files(base.repository, engine.base_files, stop, base.revision)
    _refuse_changed_list(engine, base, {each.name for each in wanted})
    downloads.download(wanted, folder, progress, stop)
    return folder


def folder_of(engine: Engine, base: Base, models: Path) -> Path:
    """Where a shipped or a downloaded one lies."""
    if base.shipped:
        return shipped.base(engine.name, base.name)
    return models / f"{engine.name}-{base.name}"


def converted(engine: Engine, base: Path, models: Path, say: Callable[[Event], None]) -> Path:
    """The folder with a base as the engine loads it, written when it is asked for first."""
    parent = models / "converted"
    parent.mkdir(exist_ok=True)
    folder = parent / f"{engine.name}-{fingerprint(engine, base, models, say)}"
    # Two that want the same base at once: the second waits and finds it.
    with FileLock(parent / f"{folder.name}.lock"):
        if not files.exists(folder):
            say(Said(f"{engine.title}: the base is converted, once. Nothing in it is run."))
            with files.new_folder(folder) as new:
                engine.convert(base, new)
    return folder


def fingerprint(
    engine: Engine, base: Path, models: Path, say: Callable[[Event], None] = lambda event: None
) -> str:
    """What tells a base from any other, by its content; files that did not change are not read."""
    parts = _files_of(engine, base)
    memory = models / "converted" / "read.json"
    seen = _read_memory(memory)
    new = {
        str(path): [*_stamp(path), ""]
        for path in parts
        if seen.get(str(path), [])[:2] != _stamp(path)
    }
    if new:
        megabytes = sum(Path(path).stat().st_size for path in new) / 1e6
        say(Said(f"{engine.title}: the base is read to know it again ({megabytes:,.0f} MB)."))
        for path in new:
            new[path][2] = _sha256(Path(path))
        memory.parent.mkdir(exist_ok=True)
        files.write_json(memory, {**_read_memory(memory), **new})
    known = {**seen, **new}
    said = "".join(f"{path.name} {known[str(path)][2]}\n" for path in sorted(parts))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def _read_memory(path: Path) -> dict[str, list[object]]:
    """What was read of which file; nothing when that cannot be told, and it is read again."""
    with suppress(OSError, ValueError):
        said = json.loads(path.read_bytes())
        if isinstance(said, dict):
            return {name: known for name, known in said.items() if isinstance(known, list)}
    return {}


def _stamp(path: Path) -> list[object]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _is_here(base: Base, folder: Path) -> bool:
    # What ships has no manifest: it is as whole as the rest of Timbre.
    return folder.is_dir() if base.shipped else files.exists(folder)


def _names_of(engine: Engine, base: Base) -> tuple[str, ...]:
    """What a person may type for it: the engine's name alone means its first base."""
    whole = f"{engine.name}-{base.name}"
    return (engine.name, whole, base.name) if base == engine.bases[0] else (whole, base.name)


def _files_of(engine: Engine, folder: Path) -> list[Path]:
    """The files of a base; raise when it is not whole."""
    if not folder.is_dir():
        raise NotFoundError(
            f"There is no folder {folder}.", f"Name one that holds a base of {engine.title}."
        )
    return engine.base_in(folder)


def _not_here(engine: Engine, base: Base, damaged: bool) -> NotDownloadedError:
    what = "is damaged" if damaged else "is not on this computer"
    if not base.repository:
        return NotDownloadedError(
            f"{engine.title}: the base {base.name} {what}.",
            "Name a folder that holds it with --base.",
        )
    typed = _names_of(engine, base)[0]
    return NotDownloadedError(
        f"{engine.title}: the base {base.name} {what}.",
        f"`launch.py models download {typed}` fetches it ({base.download_mb:,} MB, licence:"
        f" {base.licence}), or --base names a folder that holds it.{_without_download()}",
    )


def _without_download() -> str:
    """Which engine can be used at once."""
    known = [engines.find(name) for name in sorted(engines.ENGINES)]
    found = [each for each in known if any(base.shipped for base in each.bases)]
    spoken = ", ".join(sorted(found[0].languages)) if found else ""
    return f" --engine {found[0].name} needs no download, and speaks {spoken}." if found else ""


def _not_agreed(engine: Engine, base: Base) -> NotDownloadedError:
    typed = _names_of(engine, base)[0]
    return NotDownloadedError(
        f"{engine.title}: the base {base.name} is under the licence {base.licence}, to which you"
        " have to agree first.",
        f"Read it at {downloads.HUB}/{base.repository}; then `launch.py models download {typed}"
        " --agree`.",
    )


def _refuse_changed_list(engine: Engine, base: Base, found: set[str]) -> None:
    lacks = [name for name in engine.base_files if name not in found]
    if lacks:
        raise DownloadError(
            f"{base.repository} does not have {_and(lacks)} any more.",
            "Name a folder that holds the base with --base.",
        )


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
