"""Files that are no base, or want to be more than one: written byte by byte, nothing is run."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

Maker = Callable[[Path, Path], None]
"""Spoils a base; what it hides there would make the file at the second path."""


def call(module: str, name: str, argument: str) -> bytes:
    """The middle of a pickle: call a function with a text."""
    return f"c{module}\n{name}\n(".encode() + text(argument) + b"tR"


def text(content: str) -> bytes:
    return b"X" + struct.pack("<I", len(content.encode())) + content.encode()


def touch(canary: Path) -> bytes:
    return call("posix", "system", f"touch {canary}")


def packed(content: bytes) -> bytes:
    """A file of PyTorch's with this pickle in it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/version", "3\n")
    return made.getvalue()


def torch_file(part: str, middle: Callable[[Path], bytes]) -> Maker:
    def spoil(base: Path, canary: Path) -> None:
        (base / part).write_bytes(packed(b"\x80\x02" + middle(canary) + b"."))

    return spoil


def in_speakers(base: Path, canary: Path) -> None:
    nested = b"}" + text("Ada") + b"}" + text("gpt_cond_latent") + touch(canary) + b"ss"
    (base / "speakers_xtts.pth").write_bytes(packed(b"\x80\x02" + nested + b"."))


def in_the_config_beside_weights(base: Path, canary: Path) -> None:
    inner = b"cTTS.tts.configs.xtts_config\nXttsConfig\n(" + touch(canary) + b"tR"
    (base / "model.pth").write_bytes(packed(b"\x80\x02}" + text("config") + inner + b"s."))


def legacy(base: Path, canary: Path) -> None:
    (base / "model.pth").write_bytes(b"\x80\x02" + touch(canary) + b".")


def legacy_tar(base: Path, canary: Path) -> None:
    with tarfile.open(base / "model.pth", "w") as archive:
        for name in ("storages", "tensors", "pickle"):
            content = b"\x80\x02" + touch(canary) + b"."
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def npy(base: Path, canary: Path) -> None:
    head = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
    (base / "mel_stats.pth").write_bytes(start + b"\x80\x02" + touch(canary) + b".")


def renamed_to_safetensors(base: Path, canary: Path) -> None:
    (base / "model.safetensors").write_bytes(packed(b"\x80\x02" + touch(canary) + b"."))


def bomb(base: Path, canary: Path) -> None:
    with zipfile.ZipFile(base / "model.pth", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}.")
        archive.writestr("archive/data/0", bytes(300_000_000))


def claims_a_terabyte(base: Path, canary: Path) -> None:
    torch.save({"gpt.x": torch.zeros(1).expand(1 << 38)}, base / "model.pth")


def lying_safetensors(base: Path, canary: Path) -> None:
    (base / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")


def truncated(base: Path, canary: Path) -> None:
    torch.save({"gpt.x": torch.zeros(1000)}, base / "model.pth")
    whole = (base / "model.pth").read_bytes()
    (base / "model.pth").write_bytes(whole[: len(whole) // 2])


def no_numbers(base: Path, canary: Path) -> None:
    torch.save({"gpt.x": torch.tensor([1.0, float("nan")])}, base / "model.pth")


def sparse(base: Path, canary: Path) -> None:
    torch.save({"gpt.x": torch.eye(3).to_sparse()}, base / "model.pth")


def another_models(base: Path, canary: Path) -> None:
    torch.save({"model": {"encoder.weight": torch.zeros(3)}}, base / "model.pth")


def only_a_text(base: Path, canary: Path) -> None:
    torch.save("weights", base / "dvae.pth")


def wrong_mel_stats(base: Path, canary: Path) -> None:
    torch.save(torch.ones(81), base / "mel_stats.pth")


def speakers_of_another_kind(base: Path, canary: Path) -> None:
    torch.save({"Ada": torch.zeros(3)}, base / "speakers_xtts.pth")


def bytes_in(part: str, content: bytes) -> Maker:
    return lambda base, canary: (base / part).write_bytes(content) and None


RUNS_CODE = "wants to run code|no file of PyTorch|cannot be read|no safetensors"
CORPUS: dict[str, tuple[Maker, str]] = {
    "os.system": (torch_file("model.pth", touch), r"run code .*posix"),
    "nested in speakers": (in_speakers, r"speakers_xtts.pth wants to run code .*posix"),
    "in mel_stats": (torch_file("mel_stats.pth", touch), r"mel_stats.pth wants to run code"),
    "in dvae": (torch_file("dvae.pth", touch), r"dvae.pth wants to run code"),
    "inside a known config": (in_the_config_beside_weights, r"run code .*posix"),
    "legacy": (legacy, r"run code .*posix"),
    "legacy tar": (legacy_tar, r"no file of PyTorch's"),
    "npy": (npy, r"no file of PyTorch's"),
    "renamed to safetensors": (renamed_to_safetensors, r"cannot be read"),
    "eval": (
        torch_file("model.pth", lambda to: call("builtins", "eval", f"open({str(to)!r}, 'w')")),
        r"run code .*eval",
    ),
    "open": (
        torch_file("model.pth", lambda to: b"cio\nopen\n(" + text(str(to)) + text("w") + b"tR"),
        r"run code .*io.open",
    ),
    "subprocess": (
        torch_file("model.pth", lambda to: call("subprocess", "getoutput", f"touch {to}")),
        r"run code .*subprocess",
    ),
    "torch itself": (
        torch_file("model.pth", lambda to: call("torch.hub", "load", str(to))),
        r"run code .*torch.hub",
    ),
    "another class of coqui's": (
        torch_file("model.pth", lambda to: call("TTS.utils.manage", "ModelManager", str(to))),
        r"run code .*TTS.utils.manage",
    ),
    "a bomb": (bomb, r"packed in a way that PyTorch never writes"),
    "a terabyte": (claims_a_terabyte, r"claims to hold far more"),
    "lying safetensors": (lying_safetensors, r"cannot be read"),
    "truncated": (truncated, r"cannot be read"),
    "NaN": (no_numbers, r"no numbers: its training broke"),
    "sparse": (sparse, r"something else than weights|wants to run code"),
    "another model": (another_models, r"not those of an XTTS"),
    "only a text": (only_a_text, r"dvae.pth holds no weights"),
    "wrong mel_stats": (wrong_mel_stats, r"does not hold 80 numbers"),
    "other speakers": (speakers_of_another_kind, r"a speaker that is not described"),
    "empty": (bytes_in("model.pth", b""), r"nothing in model.pth"),
    "a text": (bytes_in("model.pth", b"Not found"), r"no file of PyTorch's"),
    "a web page": (bytes_in("dvae.pth", b"\n<!DOCTYPE html><p>Sign in"), r"a web page"),
    "a pointer": (
        bytes_in("model.pth", b"version https://git-lfs.github.com/spec/v1\n"),
        r"only a pointer",
    ),
    "config is a list": (bytes_in("config.json", b"[]"), r"not that of an XTTS"),
    "config is deep": (bytes_in("config.json", b"[" * 200_000), r"config.json cannot be read"),
    "config is no text": (bytes_in("config.json", b"\xff\xfe\x00"), r"config.json cannot be read"),
    "vocab of another": (bytes_in("vocab.json", b'{"model": {"vocab": {"a": 1}}}'), r"vocabulary"),
    "vocab is a number": (bytes_in("vocab.json", b"7"), r"vocabulary"),
}
"""Name -> how it is made, and what is said of it."""
