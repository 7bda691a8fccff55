"""A base of XTTS as its owner has it, made into safetensors and JSON that can do no harm."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from engines.errors import EngineError
from engines.xtts import facts

CONVERTED = (
    *("model.safetensors", "dvae.safetensors", "mel_stats.safetensors", "speakers.safetensors"),
    *("speakers.json", "config.json", "vocab.json"),
)
# Which parts are looked for, and whether they must be there. The first v2 came without speakers,
# and fine-tuned ones do; those who fine-tune leave out what only trains.
_BASE = {"model": True, "dvae": True, "mel_stats": True, "speakers": False}
_VOICE = {"model": True, "mel_stats": False, "speakers": False}
_CONVERTER = Path(__file__).with_name("converter.py")
_FOUND_AS = {
    "model": ("model.safetensors", "model.pth", "best_model.pth"),
    "dvae": ("dvae.safetensors", "dvae.pth"),
    "mel_stats": ("mel_stats.safetensors", "mel_stats.pth"),
    "speakers": ("speakers.safetensors", "speakers_xtts.pth"),
}
_WHERE = f"Take it from {facts.HUB_PAGE} and put it into the folder beside the others."
_NOT_ONE = "Choose the folder of an XTTS v2, or download it again."
_MOST_JSON_BYTES = 64_000_000
# What a process needs of its surroundings. Tokens, proxies and passwords live in the rest;
# TIMBRE_JOB lets the job's keeper find it.
_KEPT = (
    *("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("LANG", "LC_ALL", "LC_CTYPE", "TIMBRE_JOB"),
)
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """When the process that opens a base is ended, as no healthy one needs so much."""

    grace_seconds: float = 180.0
    """PyTorch alone takes 2 to 20 s to come, from a slow disk."""
    seconds_per_mb: float = 0.5
    memory_mb: int = 1500
    memory_per_byte: float = 4.0

    def seconds(self, size: int) -> float:
        return self.grace_seconds + self.seconds_per_mb * size / 1e6

    def bytes(self, size: int) -> float:
        return self.memory_mb * 2**20 + self.memory_per_byte * size


def convert(base: Path, folder: Path, limits: Limits | None = None) -> None:
    """
    Write a base, as its owner has it, into an empty folder: safetensors and JSON, nothing else.

    Raise EngineError for what is no base of XTTS v2; then the folder is empty again.
    """
    with _nothing_when_refused(folder):
        _convert(base, folder, limits or Limits(), _BASE)
        _refuse_what_does_not_fit(folder)


def convert_to_speak(given: Path, folder: Path, limits: Limits | None = None) -> None:
    """Write the same without what only trains, which fine-tuned ones often come without."""
    with _nothing_when_refused(folder):
        _convert(given, folder, limits or Limits(), _VOICE)
        _refuse_without_mel_stats(folder)
        _refuse_what_does_not_fit(folder, ("model.safetensors",))


@contextmanager
def _nothing_when_refused(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for name in CONVERTED:
            (folder / name).unlink(missing_ok=True)
        raise


def _convert(base: Path, folder: Path, limits: Limits, parts: Mapping[str, bool]) -> None:
    sources = _sources(base, parts)
    config = clean_config(read_json(base / "config.json"))
    vocab = read_json(base / "vocab.json")
    _refuse_foreign_vocab(vocab)
    for path in sources.values():
        _refuse_what_is_no_weights(path)
    _open_where_it_can_do_no_harm(sources, folder, limits)
    _write_json(folder / "config.json", config)
    _write_json(folder / "vocab.json", vocab)


def files_in(base: Path) -> list[Path]:
    """Every file of a base that counts; raise EngineError for one that is missing."""
    sources = _sources(base, _BASE)
    return [base / "config.json", base / "vocab.json", *sources.values()]


# -- What is there -----------------------------------------------------------------------------


def _sources(base: Path, parts: Mapping[str, bool]) -> dict[str, Path]:
    """Find the files, under any of the names that they have with their owners."""
    for name in ("config.json", "vocab.json"):
        if not (base / name).is_file():
            raise _missing(base, name)
    found = {}
    for part, needed in parts.items():
        names = _FOUND_AS[part]
        here = [base / name for name in names if (base / name).is_file()]
        if here:
            found[part] = here[0]
        elif needed:
            raise _missing(base, names[-1] if part != "model" else "model.pth")
    if found.get("speakers", base).suffix == ".safetensors":
        found["speaker_names"] = base / "speakers.json"
    return found


def _missing(base: Path, name: str) -> EngineError:
    why = {
        "dvae.pth": " It is needed to train, and fine-tuned folders often come without it.",
        "mel_stats.pth": " It is needed to train, and fine-tuned folders often come without it.",
    }
    fix = _WHERE if name != "model.pth" else f"{_NOT_ONE} It is at {facts.HUB_PAGE}."
    return EngineError(f"{base.name} has no {name}.{why.get(name, '')}", fix)


def read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > _MOST_JSON_BYTES:
            raise EngineError(f"{path.name} is far too large for what it should be.", _NOT_ONE)
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise EngineError(f"{path.name} cannot be read: it is no JSON.", _NOT_ONE) from error
    except OSError as error:
        raise EngineError(f"{path.name} cannot be read ({error.strerror}).", _NOT_ONE) from error


def _refuse_foreign_vocab(vocab: Any) -> None:
    known = vocab.get("model", {}) if isinstance(vocab, dict) else {}
    tokens = known.get("vocab") if isinstance(known, dict) else None
    needed = {"[STOP]", "[UNK]", "[SPACE]", "[START]"}
    if not isinstance(tokens, dict) or not needed <= tokens.keys():
        raise EngineError("vocab.json is not the vocabulary of an XTTS.", _NOT_ONE)


def _refuse_what_is_no_weights(path: Path) -> None:
    """Say plainly what a failed download or a renamed file is, before any process starts."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        what = f"{path.name} cannot be read ({error.strerror})."
        raise EngineError(
            what, "Copy the whole folder again, and see that you may read it."
        ) from error
    if not head:
        raise EngineError(f"There is nothing in {path.name}.", "Download or copy it again.")
    if path.suffix == ".json":
        return
    begins = head.lstrip()[:14].lower()
    if begins.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise EngineError(
            f"{path.name} is a web page and no model: the download failed.",
            "Download it again, signed in if the site asks for it.",
        )
    if begins.startswith(b"version https:"):
        raise EngineError(
            f"{path.name} is only a pointer to the model, as git leaves it without LFS.",
            f"Download the file itself from {facts.HUB_PAGE}.",
        )
    known = (b"PK\x03\x04", b"\x80") if path.suffix == ".pth" else (b"",)
    if not head.startswith(known):
        raise EngineError(f"{path.name} is no file of PyTorch's.", _NOT_ONE)


# -- The configuration, only what is known -----------------------------------------------------


def clean_config(given: Any) -> dict[str, Any]:
    """Keep what shapes and voices the model, each checked; paths and everything else go."""
    if not isinstance(given, dict) or given.get("model") != "xtts":
        raise EngineError("config.json is not that of an XTTS.", _NOT_ONE)
    args = _known(given.get("model_args"), facts.MODEL_ARGS)
    if not args.get("gpt_use_perceiver_resampler"):
        raise EngineError(
            "This is a base of XTTS v1, which works in another way.",
            f"Choose an XTTS v2 base: {facts.HUB_PAGE}.",
        )
    named = given.get("languages")
    spoken = [each for each in named if isinstance(each, str)] if isinstance(named, list) else []
    return {
        "model": "xtts",
        "model_args": args,
        "audio": _known(given.get("audio"), facts.AUDIO),
        "languages": spoken or sorted(facts.LANGUAGES),
        **_known(given, facts.SPOKEN),
    }


def _known(given: Any, table: Mapping[str, facts.Range]) -> dict[str, Any]:
    if not isinstance(given, dict):
        return {}
    found = {name: given[name] for name in table if given.get(name) is not None}
    for name, value in found.items():
        _refuse_out_of_range(name, value, *table[name])
    return found


def _refuse_out_of_range(name: str, value: Any, low: float, high: float) -> None:
    if not isinstance(value, (bool, int, float)) or not low <= value <= high:
        raise EngineError(f"config.json has {name} {value!r:.40}, which no XTTS has.", _NOT_ONE)


# -- The process that opens them ---------------------------------------------------------------


def _open_where_it_can_do_no_harm(
    sources: Mapping[str, Path], folder: Path, limits: Limits
) -> None:
    paths = {name: str(path.resolve()) for name, path in sources.items()}
    order = json.dumps({"sources": paths, "target": str(folder.resolve())})
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", "-X", "utf8", str(_CONVERTER), order],
        cwd=folder,
        env={name: os.environ[name] for name in _KEPT if name in os.environ} | _ONE_THREAD,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=_no_window(),
    )
    try:
        size = sum(path.stat().st_size for path in sources.values())
        answer = _watch(process, limits.seconds(size), limits.bytes(size))
    finally:
        process.kill()
        process.communicate()
    _raise_what_it_said(process.returncode, answer)


def _no_window() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NO_WINDOW
    return 0


def _watch(process: subprocess.Popen[bytes], seconds: float, most_bytes: float) -> bytes:
    """Wait for its answer, and end it when it takes too long or grows too large."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return process.communicate(timeout=_POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                raise _endless("time") from None
            if _resident(process.pid) > most_bytes:
                raise _endless("memory") from None


def _resident(pid: int) -> int:
    with suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0  # it is gone; that is noticed where its answer ends


def _endless(what: str) -> EngineError:
    return EngineError(
        f"Opening the base takes more {what} than any XTTS needs: a file of it is damaged.",
        "Close other programs and try once more; if it stays so, download the base again.",
    )


def _raise_what_it_said(code: int, answer: bytes) -> None:
    """Turn any end but a good one into words."""
    if code == 0:
        return
    said = _said(answer)
    if code == facts.REFUSED and isinstance(said, list):
        raise EngineError(str(said[0]), str(said[1]))
    if code == facts.REACHED_OUT:
        raise EngineError(
            f"A file of this base tried to do what no model has to do ({said}), and was stopped.",
            "Do not use this base, and tell whoever gave it to you.",
        )
    raise EngineError(
        f"The base could not be opened: its reader ended with code {code}.",
        "If the disk is full or memory short, make room; else the base is damaged: take it again.",
    )


def _said(answer: bytes) -> Any:
    try:
        return json.loads(answer.splitlines()[-1])
    except (ValueError, IndexError):
        return "unknown"


# -- Whether it all fits together --------------------------------------------------------------


def _refuse_without_mel_stats(folder: Path) -> None:
    if "mel_stats" not in shapes(folder / "model.safetensors"):
        raise EngineError(
            "Neither the model nor a file beside it has mel_stats, by which XTTS hears a voice.",
            f"Take mel_stats.pth from {facts.HUB_PAGE} and put it beside the model.",
        )


def _refuse_what_does_not_fit(folder: Path, files: Sequence[str] = ()) -> None:
    """Compare names and shapes with those the model's own classes have for this config."""
    from engines.xtts import loading

    expected = loading.expected_shapes(folder)
    for file in files or expected:
        wanted, found = expected[file], shapes(folder / file)
        name = file.replace(".safetensors", ".pth")
        for weight in sorted(wanted.keys() | found.keys()):
            if wanted.get(weight) != found.get(weight):
                raise _misfit(name, weight, wanted.get(weight), found.get(weight))


def _misfit(
    name: str, weight: str, wanted: tuple[int, ...] | None, found: tuple[int, ...] | None
) -> EngineError:
    said = f"{name} does not fit config.json and vocab.json: {weight:.100} is {_size(found)}, and"
    return EngineError(
        f"{said} {_size(wanted)} is expected.", "Take all files of the base from the same place."
    )


def _size(shape: tuple[int, ...] | None) -> str:
    return "not there" if shape is None else " × ".join(map(str, shape)) or "one number"


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Read only the head of a safetensors file: names and shapes."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        head = json.loads(file.read(length))
    return {name: tuple(each["shape"]) for name, each in head.items() if name != "__metadata__"}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
