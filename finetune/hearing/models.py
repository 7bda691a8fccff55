"""Which Whisper: what there is, what is advised, where it lies, and how it comes here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engines.errors import EngineError, NotDownloadedError, NotFoundError
from finetune import downloads, https
from finetune.downloads import Progress
from finetune.hearing.compute import need_mib
from finetune.https import Stop
from voices import files

PATTERNS = (
    *("config.json", "preprocessor_config.json", "model.bin", "tokenizer.json"),
    "vocabulary.*",
)
_OTHER_WAYS = (
    "choose a folder that holds one, bring the text of your recordings, or record with prompts"
)
_SMALL_COPIES = "--copy_files tokenizer.json preprocessor_config.json --quantization float16"


@dataclass(frozen=True, slots=True)
class Model:
    """One Whisper that can be downloaded, converted for ctranslate2."""

    name: str
    repository: str
    size_mb: int
    """About how much is downloaded."""
    good_for: str
    english_only: bool = False
    licence: str = "MIT"

    def hears(self, language: str | None) -> bool:
        """Whether it knows the language; None is "whichever it is"."""
        return not self.english_only or language == "en"


def _systran(name: str, size_mb: int, good_for: str) -> Model:
    return Model(name, f"Systran/faster-whisper-{name}", size_mb, good_for, name.endswith(".en"))


def _distilled(name: str, size_mb: int, good_for: str) -> Model:
    repository = f"Systran/faster-{name.replace('distil-', 'distil-whisper-')}"
    return Model(name, repository, size_mb, good_for, english_only=True)


_TURBO = "mobiuslabsgmbh/faster-whisper-large-v3-turbo"
_DISTIL_3_5 = "distil-whisper/distil-large-v3.5-ct2"

CATALOGUE = (
    _systran("tiny", 75, "A first try in a minute; it mishears a lot."),
    _systran("tiny.en", 75, "A first try in a minute; it mishears a lot."),
    _systran("base", 145, "Clear voices on an old computer."),
    _systran("base.en", 145, "Clear voices on an old computer."),
    _systran("small", 484, "Good on a processor, in the larger languages."),
    _systran("small.en", 484, "Good on a processor."),
    _systran("medium", 1530, "Better than small, but turbo is faster and hears more."),
    _systran("medium.en", 1530, "Better than small, for those who do not want turbo."),
    Model("turbo", _TURBO, 1620, "Nearly as good as the largest, and several times faster."),
    _systran("large-v3", 3090, "The best in most languages; it wants a GPU."),
    _systran("large-v2", 3090, "Where large-v3 makes things up in silence."),
    _systran("large-v1", 3090, "The first large one, kept for comparison."),
    _distilled("distil-small.en", 332, "Faster than small.en and about as good."),
    _distilled("distil-medium.en", 789, "Between distil-small.en and the large ones."),
    _distilled("distil-large-v2", 1510, "The older of the fast large ones."),
    _distilled("distil-large-v3", 1510, "Fast and good for long recordings."),
    Model("distil-large-v3.5", _DISTIL_3_5, 1510, "The newest of the fast large ones.", True),
)
OTHER_NAMES = {"large": "large-v3", "large-v3-turbo": "turbo"}


@dataclass(frozen=True, slots=True)
class Advice:
    """Which Whisper to take, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A Whisper that is on this computer."""

    name: str
    folder: Path
    size_mb: float
    """Its weights on the disk, from which its need of memory follows."""


def model_of(name: str) -> Model:
    """A Whisper by its name, or raise with what there is."""
    known = {model.name: model for model in CATALOGUE}
    found = known.get(OTHER_NAMES.get(name, name))
    if found is None:
        raise NotFoundError(
            f"There is no Whisper called {name!r}.",
            f"There is: {', '.join(known)}; or give the path of a folder that holds one.",
        )
    return found


def advised(gpu_memory_mib: int | None, language: str | None) -> Advice:
    """Advise by the memory of the GPU, None without one, and the language, None if unknown."""
    for name in ("large-v3", "turbo"):
        need = need_mib(model_of(name).size_mb, "float16")
        if gpu_memory_mib is not None and gpu_memory_mib >= need:
            return Advice(
                name,
                f"{model_of(name).good_for} It needs about {need:,} of the {gpu_memory_mib:,} MiB"
                " that the GPU has.",
            )
    name = "small.en" if language == "en" else "small"
    where = "without a GPU" if gpu_memory_mib is None else f"with {gpu_memory_mib:,} MiB on the GPU"
    return Advice(name, f"It goes at a good pace {where}; turbo mishears less and takes longer.")


def find(name_or_folder: str, models_folder: Path, cache: Path | None = None) -> Found:
    """
    Find a Whisper on this computer: in a folder, among the downloaded, in Hugging Face's cache.

    Its files are checked by their sizes only; their content was checked when it was downloaded.
    Raise NotFoundError, EngineError for a folder with something else, or NotDownloadedError.
    """
    if _is_path(name_or_folder):
        return _in_folder(Path(name_or_folder).expanduser())
    model = model_of(name_or_folder)
    folder = folder_of(model, models_folder)
    if files.exists(folder):
        return _found(model.name, folder)
    cached = _in_cache(model, cache)
    if cached is None:
        raise _not_downloaded(model, damaged=folder.exists())
    return _found(model.name, cached)


def fetch(name: str, models_folder: Path, progress: Progress, stop: Stop) -> Found:
    """Download a Whisper, as `downloads.download`; one that is there stays as it is."""
    model = model_of(name)
    folder = folder_of(model, models_folder)
    if not files.exists(folder):
        wanted = downloads.hub_files(model.repository, PATTERNS, stop)
        downloads.download(wanted, folder, progress, stop)
    _refuse_other(folder)
    return _found(model.name, folder)


def folder_of(model: Model, models_folder: Path) -> Path:
    """Where a downloaded one lies."""
    return models_folder / f"whisper-{model.name}"


def _is_path(text: str) -> bool:
    """A name of the catalogue is never a folder, whatever lies beside the program."""
    if text in OTHER_NAMES or any(text == model.name for model in CATALOGUE):
        return False
    return any(sign in text for sign in "/\\~") or _is_so(Path(text).is_dir)


def _found(name: str, folder: Path) -> Found:
    return Found(name, folder, (folder / "model.bin").stat().st_size / 1e6)


def _in_folder(folder: Path) -> Found:
    if not _is_so(folder.exists):
        raise NotFoundError(f"There is nothing at {folder}.", "Check the path of the folder.")
    _refuse_other(folder)
    return _found(folder.name, folder)


def _is_so(asked: Callable[[], bool]) -> bool:
    try:
        return asked()
    except (OSError, ValueError):  # no name that a disk could have
        return False


def _in_cache(model: Model, cache: Path | None) -> Path | None:
    """What another program has downloaded whole; it is only read."""
    from huggingface_hub import try_to_load_from_cache  # half a second

    path = try_to_load_from_cache(model.repository, "model.bin", cache_dir=cache)
    if not isinstance(path, str) or _lacks(Path(path).parent):
        return None
    return Path(path).parent


def _lacks(folder: Path) -> list[str]:
    """What a Whisper for ctranslate2 would need and is not in the folder."""
    # Without tokenizer.json faster-whisper would fetch one from the network.
    needs = ("model.bin", "config.json", "tokenizer.json", "vocabulary.*")
    return [need for need in needs if not any(path.is_file() for path in folder.glob(need))]


def _refuse_other(folder: Path) -> None:
    """Raise unless it is a folder with a Whisper for ctranslate2."""
    if not folder.is_dir():
        raise EngineError(
            f"{folder.name} is a file, and a Whisper is a folder.",
            "Choose the folder with model.bin in it; a .pt file of OpenAI's cannot be used:"
            " take the same size by its name, as large-v3.",
        )
    lacks = _lacks(folder)
    if "model.bin" in lacks:
        raise _unconverted(folder) if _is_unconverted(folder) else _no_whisper(folder)
    if not _begins_as_whisper(folder / "model.bin"):
        raise _no_whisper(folder)
    if lacks:
        raise EngineError(
            f"The Whisper in {folder} lacks {' and '.join(lacks)}.",
            "Copy what is missing from where it was converted.",
        )


def _is_unconverted(folder: Path) -> bool:
    weights = ("*.safetensors", "pytorch_model*.bin")
    return any(True for pattern in weights for _ in folder.glob(pattern))


def _unconverted(folder: Path) -> EngineError:
    return EngineError(
        f"{folder} holds weights for transformers, which Whisper is not run with here.",
        f'Convert it once: ct2-transformers-converter --model "{folder}" --output_dir'
        f' "{folder}-ct2" {_SMALL_COPIES}; then choose the new folder.',
    )


def _no_whisper(folder: Path) -> EngineError:
    return EngineError(
        f"{folder} holds no Whisper for ctranslate2.",
        "Choose a folder with its model.bin, config.json, tokenizer.json and vocabulary, or one"
        " that can be downloaded by its name, as large-v3.",
    )


def _begins_as_whisper(weights: Path) -> bool:
    """Whether the weights say what they are, after their format's number and a length."""
    with weights.open("rb") as file:
        return file.read(18)[6:] == b"WhisperSpec\0"


def _not_downloaded(model: Model, damaged: bool) -> NotDownloadedError:
    is_not = "is on this computer, but damaged" if damaged else "is not on this computer yet"
    what = f"Whisper {model.name} ({model.size_mb:,} MB) {is_not}."
    if https.is_offline():
        return NotDownloadedError(
            f"{what} Timbre was told to stay offline.", f"{_OTHER_WAYS.capitalize()}."
        )
    return NotDownloadedError(what, f"Download it, {_OTHER_WAYS}.")
