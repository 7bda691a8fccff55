"""
What was spoken: its sound, its text and its settings, kept until somebody deletes it.

    workspace/spoken/<id>/spoken.json  what was said, how, and where each sentence is
                          speech.flac  the sound, written while it is being spoken
"""

from __future__ import annotations

import io
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from engines.base import Sound
from engines.errors import NotFoundError
from voices import files, names
from voices.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Whole = NDArray[np.int16]

FOLDER, FACTS, SOUND = "spoken", "spoken.json", "speech.flac"
# A prime: the seeds that sentences are said again with never meet those of their own further tries.
_NEXT_SEED = 15_485_863
_SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence, how it came out, and which samples of the sound it is."""

    text: str
    spoken: str
    seed: int
    tries: int
    faults: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for."""

    voice: str
    """Its id."""
    voice_name: str
    text: str
    language: str = ""
    seed: int = 0
    pace: float = 1.0
    manners: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A text that was spoken."""

    id: str
    wish: Wish
    rate: int
    lines: tuple[Line, ...]
    made: str
    whole: bool
    """Whether it was spoken to its end."""
    before: str = ""
    """The one of which a sentence was said again."""

    @property
    def seconds(self) -> float:
        return self.lines[-1].end / self.rate if self.lines else 0.0


def in_16_bits(sound: Sound) -> Whole:
    """Samples in whole numbers, as files have them."""
    import numpy as np

    # In whole numbers: soundfile reads them as parts of 32,768 and writes parts of 32,767.
    whole = np.rint(np.nan_to_num(sound.samples) * np.float32(32768)).clip(-32768, 32767)
    return np.asarray(whole, np.int16)


# ---- One sentence again ----


def other_seed(line: Line) -> int:
    """What a sentence is said with next: always another one, and always the same after it."""
    return (line.seed + _NEXT_SEED) % _SEEDS


def with_line(workspace: Workspace, old: Spoken, number: int, new: Spoken) -> Spoken:
    """Keep a text with one sentence as it was said again; how it was before stays too."""
    import numpy as np
    import soundfile

    said, sound = old.lines[number], _samples(workspace, new)
    voice = sound[new.lines[0].start :]
    whole = _samples(workspace, old)
    samples = np.concatenate([whole[: said.start], voice, whole[said.end :]])
    more = len(voice) - (said.end - said.start)
    lines = [
        *old.lines[:number],
        replace(new.lines[0], text=said.text, start=said.start, end=said.end + more),
        *(replace(e, start=e.start + more, end=e.end + more) for e in old.lines[number + 1 :]),
    ]
    made = replace(old, id=names.new_id(), lines=tuple(lines), made=moment(), before=old.id)
    with files.new_folder(folder_of(workspace) / made.id) as folder:
        soundfile.write(folder / SOUND, samples, old.rate, "PCM_16", format="FLAC")
        write(made, folder)
    return made


def _samples(workspace: Workspace, spoken: Spoken) -> Whole:
    import soundfile

    found: Whole = soundfile.read(sound_of(workspace, spoken.id), dtype="int16")[0]
    return found


# ---- What there is ----


def all_of(workspace: Workspace, voice: str = "") -> list[Spoken]:
    """What was spoken, with one voice or with any, the newest first."""
    # What is just being written or deleted lies there too, under another name.
    there = (path.parent for path in folder_of(workspace).glob(f"*/{FACTS}"))
    found = (_read_kept(folder) for folder in there if names.is_id(folder.name))
    wanted = [each for each in found if each and voice in ("", each.wish.voice)]
    return sorted(wanted, key=lambda each: (each.made, each.id), reverse=True)


def find(workspace: Workspace, id: str) -> Spoken:
    folder = folder_of(workspace) / id
    found = _read_kept(folder) if names.is_id(id) and (folder / FACTS).is_file() else None
    if found is None:
        raise NotFoundError("This is not there any more.", "Have it spoken again.")
    return found


def sound_of(workspace: Workspace, id: str) -> Path:
    return folder_of(workspace) / find(workspace, id).id / SOUND


def wav_of(workspace: Workspace, spoken: Spoken, line: Line) -> bytes:
    """One sentence as the content of a wav file."""
    import soundfile

    content = io.BytesIO()
    found = sound_of(workspace, spoken.id)
    samples, rate = soundfile.read(found, line.end - line.start, line.start, dtype="int16")
    soundfile.write(content, samples, rate, "PCM_16", format="WAV")
    return content.getvalue()


def delete(workspace: Workspace, id: str) -> None:
    """Delete one for good; it was asked for."""
    files.remove_folder(folder_of(workspace) / find(workspace, id).id)


def folder_of(workspace: Workspace) -> Path:
    """Where what was spoken is kept."""
    folder = workspace.root / FOLDER
    if not folder.is_dir():
        with suppress(FileExistsError):
            files.make_folder(folder)
    return folder


@lru_cache(maxsize=1024)  # what is kept never changes
def _read_kept(folder: Path) -> Spoken | None:
    return read(folder)


def read(folder: Path) -> Spoken | None:
    """What a folder says of itself; None when that cannot be read."""
    try:
        said = json.loads((folder / FACTS).read_bytes())
        lines = tuple(Line(**{**each, "faults": tuple(each["faults"])}) for each in said["lines"])
        rest = {name: said[name] for name in ("id", "rate", "made", "whole", "before")}
        return Spoken(wish=Wish(**said["wish"]), lines=lines, **rest)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(spoken: Spoken, folder: Path) -> None:
    files.write_json(folder / FACTS, {"v": 1, **asdict(spoken)})


def moment() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
