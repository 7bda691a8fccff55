"""
The throw-away process that opens a stranger's weights and writes them as safetensors.

`python -I converter.py ORDER` runs this file alone. Before it opens anything it gives up the
network, other programs, writing elsewhere, and more memory than the files can need; whatever
reaches for one of them ends the process. Names in a pickle are those of tensors or of stand-ins.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

REFUSED, REACHED_OUT = 3, 77
SAME_AGAIN = "Take the file once more from where it came from; if it stays so, do not use it."

# Config classes that checkpoints of coqui's trainers hold beside the weights, then and now.
_CONFIGS = {
    "TTS.config.shared_configs": ("BaseAudioConfig", "BaseDatasetConfig", "BaseTrainingConfig"),
    "TTS.tts.configs.shared_configs": ("BaseTTSConfig", "CharactersConfig"),
    "TTS.tts.configs.xtts_config": ("XttsConfig", "XttsArgs", "XttsAudioConfig"),
    "TTS.tts.models.xtts": ("XttsConfig", "XttsArgs", "XttsAudioConfig"),
    "TTS.tts.layers.xtts.trainer.gpt_trainer": (
        *("GPTArgs", "GPTTrainerConfig", "XttsArgs", "XttsAudioConfig"),
    ),
}
_DENIED = (
    *(
        "socket.",
        "subprocess.",
        "pty.",
        "ctypes.dl",
        "ctypes.call",
        "pickle.",
        "shutil.",
        "winreg.",
    ),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "os.kill"),
    *("os.ch", "os.link", "os.symlink", "os.truncate", "os.utime", "os.remove", "os.rename"),
    *("os.mkdir", "os.rmdir", "os.putenv", "os.unsetenv", "urllib.", "http.", "webbrowser."),
    *("sqlite3.", "tempfile.", "code.", "cpython.run", "sys.addaudithook"),
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HEADROOM_BYTES = 1 << 30
# A model's tensors may be there twice: as what is trained and as what speaks with it.
_MOST_TIMES_ITS_SIZE = 2.2
_MOST_FILES = 20_000

# What coqui's trainer keeps beside the model, and what only exists while it speaks.
_BESIDE = re.compile(
    r"dvae\.|torch_mel_spectrogram_|gpt\.gpt_inference\.|gpt\.gpt\.wte\."
    r"|gpt\.gpt\.h\.\d+\.attn\.(masked_)?bias$"
)


class Refusal(Exception):
    """Why a file is not taken, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


class StandIn:
    """Takes the place of a config class: holds what was recorded, and does nothing."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass


def main() -> None:
    """Carry out one order."""
    leave_the_network()
    get_ready()
    obey(json.loads(sys.argv[1]))


def obey(order: dict[str, Any]) -> NoReturn:
    """Give up what is not needed, convert, and end; what is refused is said in a line of JSON."""
    target, sources = Path(order["target"]), {k: Path(v) for k, v in order["sources"].items()}
    set_limits(sum(path.stat().st_size for path in sources.values()))
    sys.addaudithook(guard(target))
    try:
        convert(sources, target)
    except Refusal as refusal:
        print(json.dumps([refusal.what, refusal.fix]), flush=True)
        os._exit(REFUSED)
    os._exit(0)


def leave_the_network() -> None:
    """Move where no network exists, on Linux where that is allowed; elsewhere the guard watches."""
    if sys.platform != "linux":
        return
    import ctypes

    new_user, new_network = 0x10000000, 0x40000000
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).unshare(new_user | new_network)


def get_ready() -> None:
    """Import everything that is needed, once through, before nothing may be imported carelessly."""
    import io

    import safetensors.torch
    import torch

    torch.set_num_threads(1)
    for module, names in _CONFIGS.items():
        torch.serialization.add_safe_globals([(StandIn, f"{module}.{name}") for name in names])
    warm = io.BytesIO()
    torch.save({"": torch.zeros(1)}, warm)
    warm.seek(0)
    torch.load(warm, weights_only=True)
    safetensors.torch.save({"": torch.zeros(1)})


def set_limits(size: int) -> None:
    """Forbid more memory, time and output than files of this size can need."""
    if sys.platform == "win32":
        return  # the parent watches
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: round(2 * _MOST_TIMES_ITS_SIZE * size) + (1 << 20),
        resource.RLIMIT_CPU: 300 + size // 5_000_000,
    }
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        used = pages * resource.getpagesize()
        wanted[resource.RLIMIT_AS] = used + _HEADROOM_BYTES + 4 * size
    for limit, value in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some; the parent watches
            resource.setrlimit(limit, (value, value))


def guard(target: Path) -> Callable[[str, tuple[Any, ...]], None]:
    """Make an audit hook that ends the process when it reaches out; it cannot be taken off again."""
    inside = os.path.realpath(target) + os.sep

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith(_DENIED) or (event == "open" and _writes_elsewhere(args, inside)):
            os.write(1, json.dumps(event).encode())
            os._exit(REACHED_OUT)

    return watch


def _writes_elsewhere(args: tuple[Any, ...], inside: str) -> bool:
    path, mode, flags = args
    writes = any(c in mode for c in "wax+") if isinstance(mode, str) else flags & _WRITES
    if not writes or isinstance(path, int):
        return False
    return not os.path.realpath(os.fsdecode(path)).startswith(inside)


def convert(sources: Mapping[str, Path], target: Path) -> None:
    """Write each file in turn, the small ones first."""
    from safetensors.torch import save_file

    speakers = _speakers(sources)
    names = json.dumps(list(speakers), ensure_ascii=False)
    (target / "speakers.json").write_text(names, encoding="utf-8")
    parts = enumerate(speakers.values())
    save_file(
        {f"{n}.{k}": t for n, found in parts for k, t in found.items()},
        target / "speakers.safetensors",
    )
    stats = {"mel_stats": _mel_stats(sources["mel_stats"])} if "mel_stats" in sources else {}
    if "dvae" in sources:  # a base, which is trained from; a voice only speaks
        save_file(stats, target / "mel_stats.safetensors")
        save_file(_dvae(sources["dvae"]), target / "dvae.safetensors")
    save_file({**stats, **_model(sources["model"])}, target / "model.safetensors")


def _model(path: Path) -> dict[str, Any]:
    """Name the weights as the model does, without what trainers keep beside them."""
    state = {_todays_name(str(k)): value for k, value in _inner(_open(path)).items()}
    found = _tensors(path, {k: v for k, v in state.items() if not _BESIDE.match(k)})
    if not any(name.startswith("gpt.") for name in found):
        raise Refusal(
            f"{path.name} holds weights, and they are not those of an XTTS.",
            "Choose the folder of an XTTS v2 base: its model.pth is about 1.9 GB.",
        )
    return found


def _dvae(path: Path) -> dict[str, Any]:
    """Take what turns audio into codes; what would turn them back is never used."""
    state = {str(name): value for name, value in _inner(_open(path)).items()}
    return _tensors(
        path, {k: v for k, v in state.items() if k.startswith(("encoder.", "codebook."))}
    )


def _todays_name(name: str) -> str:
    """Older torches wrote the two halves of a normed weight under other names."""
    name = name.removeprefix("xtts.")
    name = re.sub(r"\.weight_g$", ".parametrizations.weight.original0", name)
    return re.sub(r"\.weight_v$", ".parametrizations.weight.original1", name)


def _mel_stats(path: Path) -> Any:
    import torch

    content = _open(path)
    value = next(iter(content.values()), None) if isinstance(content, dict) else content
    if not isinstance(value, torch.Tensor) or value.shape != (80,):
        raise Refusal(f"{path.name} does not hold 80 numbers, one for each band.", SAME_AGAIN)
    return _tensors(path, {"mel_stats": value})["mel_stats"]


def _speakers(sources: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Read the ready-made speakers, where the base brings some."""
    path = sources.get("speakers")
    if path is None:
        return {}
    if names := sources.get("speaker_names"):
        return _numbered(path, json.loads(names.read_text(encoding="utf-8")))
    content = _open(path)
    if not isinstance(content, dict) or len(content) > 10_000:
        raise Refusal(f"{path.name} is no table of speakers.", SAME_AGAIN)
    return {str(name): _speaker(path, value) for name, value in content.items()}


def _numbered(path: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    flat = _open(path)
    return {
        name: _speaker(
            path,
            {part: flat.get(f"{n}.{part}") for part in ("gpt_cond_latent", "speaker_embedding")},
        )
        for n, name in enumerate(names)
    }


def _speaker(path: Path, value: Any) -> dict[str, Any]:
    parts = ("gpt_cond_latent", "speaker_embedding")
    if not isinstance(value, dict) or not set(parts) <= value.keys():
        raise Refusal(f"{path.name} has a speaker that is not described as XTTS does.", SAME_AGAIN)
    return _tensors(path, {part: value[part] for part in parts})


def _inner(content: Any) -> dict[Any, Any]:
    """Trainers wrap the weights together with what else they keep."""
    for wrapped in ("model", "state_dict"):
        if isinstance(content, dict) and isinstance(content.get(wrapped), dict):
            content = content[wrapped]
    return content if isinstance(content, dict) else {}


def _tensors(path: Path, state: Mapping[Any, Any]) -> dict[str, Any]:
    """Check every tensor before it is touched, then copy it, floats in 32 bits."""
    import torch

    if not state:
        raise Refusal(f"{path.name} holds no weights.", SAME_AGAIN)
    size, room = path.stat().st_size, _MOST_TIMES_ITS_SIZE * path.stat().st_size
    found = {}
    for name, value in state.items():
        plain = isinstance(value, torch.Tensor) and value.layout == torch.strided
        if not plain or value.device.type != "cpu" or value.is_quantized or value.is_complex():
            raise Refusal(
                f"{path.name} has something else than weights in {name!s:.80}.", SAME_AGAIN
            )
        room -= value.numel() * value.element_size()
        if room < 0:
            raise Refusal(
                f"{path.name} has {size / 1e6:,.1f} MB and claims to hold far more.", SAME_AGAIN
            )
        if not torch.isfinite(value).all():
            raise Refusal(
                f"{path.name} has values in {name!s:.80} that are no numbers: its training broke.",
                "Take an earlier checkpoint of it, or another base.",
            )
        found[str(name)] = _copy(value.detach())
    return found


def _copy(value: Any) -> Any:
    import torch

    kind = torch.float32 if value.is_floating_point() else value.dtype
    return torch.empty(value.shape, dtype=kind).copy_(value)


def _open(path: Path) -> Any:
    """Read a file of tensors; no code in it is ever run."""
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        return _unpickle(path)
    except (Refusal, KeyboardInterrupt):
        raise
    except MemoryError as error:
        raise Refusal(f"{path.name} asks for more memory than it can need.", SAME_AGAIN) from error
    except Exception as error:  # a damaged file may fail anywhere in its readers
        raise _unreadable(path, error) from error


def _unpickle(path: Path) -> Any:
    import torch

    packed = zipfile.is_zipfile(path)
    if packed:
        _refuse_a_bomb(path)
    return torch.load(path, map_location="cpu", weights_only=True, mmap=packed)


def _refuse_a_bomb(path: Path) -> None:
    """PyTorch stores as it is; what is packed tighter is no file of PyTorch's."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    unpacked = sum(part.file_size for part in parts)
    stored = all(part.compress_type == zipfile.ZIP_STORED for part in parts)
    if not stored or len(parts) > _MOST_FILES or unpacked > path.stat().st_size:
        raise Refusal(
            f"{path.name} is packed in a way that PyTorch never writes ({len(parts)} parts,"
            f" {unpacked / 1e6:,.0f} MB).",
            SAME_AGAIN,
        )


def _unreadable(path: Path, error: Exception) -> Refusal:
    foreign = re.search(r"GLOBAL ([\w.]+)", str(error)) or re.search(
        r"module (\w+) is bl", str(error)
    )
    if foreign:
        return Refusal(
            f"{path.name} wants to run code that does not belong into a model ({foreign[1]:.80}).",
            "Nothing of it was run. Do not use this file, and tell whoever gave it to you.",
        )
    return Refusal(
        f"{path.name} cannot be read ({type(error).__name__}): it is damaged.", SAME_AGAIN
    )


if __name__ == "__main__":
    main()
