"""
A text that is being said, written down meanwhile: what was said is kept, however it ends.

Beside the sound lies what was said until now, so that a killed studio's next start can keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engines.base import Sound
from engines.errors import StudioError
from voices import files, names, spoken
from voices.speaker.speaker import Piece, Sentence
from voices.spoken import SOUND, Line, Spoken, Wish
from voices.workspace import Workspace

if TYPE_CHECKING:
    from voices.spoken import Whole


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of sound in whole numbers, as it was written."""

    samples: Whole
    rate: int


class Speech(Iterator[Piece], Protocol):
    """What a speaker gives."""

    def close(self) -> None: ...


class Recital:
    """A text that is being said, and kept meanwhile. What was said until it is stopped is kept."""

    def __init__(self, workspace: Workspace, wish: Wish, speech: Speech) -> None:
        self._folder, self._wish, self._speech = spoken.folder_of(workspace), wish, speech
        self._stopped = False
        self.kept: Spoken | None = None
        """What came of it, once all was said."""

    def pieces(self) -> Iterator[Line | Block]:
        """
        Each sentence, then its sound as files have it, as it comes.

        What went wrong is raised at the end: what was said until then is kept.
        """
        recorder, error = _Recorder(names.new_id(), self._wish), None
        with suppress(_NothingError), files.new_folder(self._folder / recorder.id) as new:
            with closing(recorder):
                try:
                    yield from recorder.take(self._speech, new)
                except StudioError as problem:
                    error = problem
            kept = recorder.spoken(whole=not self._stopped and error is None)
            if not kept.lines:
                raise _NothingError
            spoken.write(kept, new)
        self.kept = kept if kept.lines else None
        if error is not None:
            raise error

    def stop(self) -> None:
        """Say no more of it; from any thread."""
        self._stopped = True
        self._speech.close()


class _NothingError(Exception):
    """Nothing was said, so that there is nothing to keep."""


class _Recorder:
    """Writes down what is said."""

    def __init__(self, id: str, wish: Wish) -> None:
        self.id, self._wish = id, wish
        self._lines: list[Line] = []
        self._at = 0
        self._rate = 0
        self._file: Any = None

    def take(self, speech: Speech, folder: Path) -> Iterator[Line | Block]:
        for piece in speech:
            if piece.sentence is not None:
                if self._file is not None:
                    self._file.flush()  # a kill leaves what was written, a power cut only this
                    spoken.write(self.spoken(whole=False), folder)
                self._lines.append(_line(piece.sentence, self._at))
                yield self._lines[-1]
            if piece.sound is not None and len(piece.sound.samples):
                yield self._written(piece.sound, folder / SOUND)

    def _written(self, sound: Sound, path: Path) -> Block:
        import soundfile  # here, because what only lists hears nothing

        if self._file is None:
            self._rate = sound.rate
            self._file = soundfile.SoundFile(path, "w", sound.rate, 1, "PCM_16", format="FLAC")
        samples = spoken.in_16_bits(sound)
        self._file.write(samples)
        # The last block of a sentence is its voice; those before it are the pause in front of it.
        begin, self._at = self._at, self._at + len(samples)
        if self._lines:
            self._lines[-1] = replace(self._lines[-1], start=begin, end=self._at)
        return Block(samples, sound.rate)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def spoken(self, whole: bool) -> Spoken:
        heard = tuple(line for line in self._lines if line.end > line.start)
        return Spoken(self.id, self._wish, self._rate or 1, heard, spoken.moment(), whole)


def _line(said: Sentence, at: int) -> Line:
    return Line(said.text, said.spoken, said.seed, said.tries, tuple(said.faults), at, at)


# ---- After a kill ----


def rescue(workspace: Workspace) -> list[Spoken]:
    """Keep what was being said when its studio was killed, by its whole sentences."""
    folder = spoken.folder_of(workspace)
    found = (_rescued(left, folder) for left in files.leftovers(folder))
    return [each for each in found if each is not None]


def _rescued(left: Path, folder: Path) -> Spoken | None:
    import soundfile

    begun = spoken.read(left)
    if begun is None or not names.is_id(begun.id):
        return None
    samples = _decoded(left / SOUND)
    lines = tuple(line for line in begun.lines if line.end <= len(samples))
    kept = replace(begun, lines=lines, whole=False)
    if not lines or files.exists(folder / kept.id):
        return None
    with files.new_folder(folder / kept.id) as new:
        soundfile.write(new / SOUND, samples[: lines[-1].end], kept.rate, "PCM_16", format="FLAC")
        spoken.write(kept, new)
    return kept


def _decoded(path: Path) -> Whole:
    """What can be heard of a file that has no end; libsndfile does not open one."""
    import av
    import numpy as np

    found = [np.zeros(0, np.int16)]
    with suppress(av.FFmpegError, OSError), av.open(path) as file:
        for frame in file.decode(audio=0):
            found.append(frame.to_ndarray().ravel())
    return np.concatenate(found)
