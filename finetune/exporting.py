"""
A frozen dataset as a folder that another program trains from: its texts, and a file for each clip.

soundfile writes every kind of audio here. Its wheels bring libsndfile 1.2 with FLAC, Vorbis and
LAME, so neither an ffmpeg nor a further package is needed. An mp3 says in its header how much the
encoder put before and after the sound: libsndfile and FFmpeg leave exactly that out, and give back
as many samples as were written, none of them late (measured from 8 to 48 kHz). So they do with
ogg, but that FFmpeg ends a clip of less than a second up to 425 samples too late or 256 too early.
A decoder that does not look at an mp3's header begins 1,105 samples late, or a frame more (2,257).
"""

from __future__ import annotations

import importlib.util
import io
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from engines.base import Sound
from engines.errors import AudioError, DiskFullError, NotFoundError, SettingsError, TextError
from engines.settings import Checked, setting
from finetune.datasets import Dataset, Example
from finetune.jobs.worker import StopWork
from finetune.media import reading
from finetune.texts import writing
from finetune.texts.writing import PARQUET, Row, audio_path
from voices import files
from voices.speaking.formats import KINDS, MP3_RATES

Progress = Callable[[int, int], None]
"""Told clips done and clips in all."""
Stop = Callable[[], bool]

LAYOUTS = (*writing.FORMATS, PARQUET)
NOTE = "README.txt"

# Bytes a second at most, as a share of 16-bit sound: those that lose something take 7 to 17 kB/s
# (mp3) and 7 to 25 kB/s (ogg) for speech.
_SIZES = {"wav": 1.0, "flac": 1.0, "mp3": 0.6, "ogg": 0.6}
# Headers, a part of a block of the disk, the line of the table and that of the manifest.
_BYTES_A_CLIP = 6000
_ROOM_BESIDE_BYTES = 50_000_000
# A clip's end is where a word ends plus its pad; rounding may put it past the last sample.
_PAST_THE_END_SECONDS = 0.05
_LOUDEST_DB = -1.0
# Some megabytes of sound in memory; readers of Parquet fetch as much at once.
_ROWS_AT_ONCE = 32
_PARQUET_NAMES = {"train": "train", "eval": "validation"}

_READ_BY = {
    "ljspeech": 'Coqui TTS (formatter "ljspeech") and others read it. They look for .wav files.',
    "xtts": 'Coqui TTS reads it: formatter "coqui", metadata_train.csv and metadata_eval.csv.',
    "f5": "F5-TTS reads it: python src/f5_tts/train/datasets/prepare_csv_wavs.py FOLDER OUTPUT",
    "piper": "Piper reads it: python3 -m piper.train fit --data.csv_path FOLDER/metadata.csv"
    " --data.audio_dir FOLDER/wavs",
    "audiofolder": 'datasets reads it: load_dataset("audiofolder", data_dir="FOLDER")',
    PARQUET: 'datasets reads it: load_dataset("FOLDER")',
}


@dataclass(frozen=True)
class ExportSettings(Checked):
    """How a dataset leaves for another program."""

    format: str = setting("ljspeech", f"What the other program reads: {', '.join(LAYOUTS)}")
    audio: str = setting("wav", f"How clips are kept: {', '.join(KINDS)}; mp3 and ogg lose some")
    rate: int = setting(0, "Samples a second; 0 keeps those of the recording", low=0, high=48000)
    loudness_lufs: float = setting(
        0.0, "How loud each recording gets, never clipping; 0 keeps it as it is", low=-40, high=0
    )
    speaker: str = setting("", "Who speaks, where the format has a place for it")
    language: str = setting("", "The language's code, where the format has a place for it")

    def check_together(self) -> None:
        for name, known in (("format", LAYOUTS), ("audio", tuple(KINDS))):
            if getattr(self, name) not in known:
                raise SettingsError(
                    f"{name} is {getattr(self, name)!r}, which is none there is.",
                    f"Choose one of {', '.join(known)}.",
                )
        if 0 < self.rate < MP3_RATES[0]:
            raise SettingsError(
                f"rate is {self.rate}, too few for speech.", "Choose 0, or 8000 to 48000."
            )


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and where."""

    folder: Path
    clips: int
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class _Clip:
    example: Example
    row: Row


@dataclass(frozen=True, slots=True)
class _Recording:
    """A working copy and its clips, from the first to the last."""

    path: Path
    rate: int
    """That of its clips in the export."""
    clips: Sequence[_Clip]


def export(
    dataset: Dataset,
    sources: Callable[[str], Path],
    wish: ExportSettings,
    target: Path,
    progress: Progress,
    stop: Stop,
) -> Exported:
    """
    Write a dataset into a new folder that appears, sealed, when all of it is there.

    `sources` names the working copy of a recording. Raise AudioError for one that cannot be used,
    DiskFullError before or while there is no room, StopWork soon after `stop` says so.
    """
    if wish.format == PARQUET:
        _check_parquet()
    clips = _clips(dataset, wish)
    recordings = [_recording(sources, name, each, wish) for name, each in _by_recording(clips)]
    _check_rates(recordings, wish)
    _check_room(recordings, wish, target)
    seconds = sum(clip.example.seconds for clip in clips)

    def add_audio(folder: Path, rows: Sequence[Row]) -> None:
        (folder / NOTE).write_text(_note(len(rows), seconds, recordings, wish), "utf-8")
        audio = _audio(recordings, wish, progress, stop)
        if wish.format == PARQUET:
            _write_parquet(folder, audio)
        else:
            _write_files(wish.format, folder, audio)

    writing.export([clip.row for clip in clips], wish.format, target, add_audio, wish.language)
    sealed = files.read_manifest(target).values()
    return Exported(target, len(clips), seconds, sum(file.size for file in sealed))


def _clips(dataset: Dataset, wish: ExportSettings) -> list[_Clip]:
    parts = (("train", dataset.train), ("eval", dataset.check))
    return [
        _Clip(each, Row(f"{each.clip_id:06d}.{wish.audio}", each.text, wish.speaker, split))
        for split, examples in parts
        for each in examples
    ]


def _by_recording(clips: Iterable[_Clip]) -> Iterator[tuple[str, list[_Clip]]]:
    """Clips in the order in which they were spoken: so a working copy is read once, forwards."""
    ordered = sorted(clips, key=lambda clip: (clip.example.recording, clip.example.start))
    for name, group in groupby(ordered, key=lambda clip: clip.example.recording):
        yield name, list(group)


def _recording(
    sources: Callable[[str], Path], name: str, clips: Sequence[_Clip], wish: ExportSettings
) -> _Recording:
    """Open a working copy once, before anything is written, to see that it holds its clips."""
    path = sources(name)
    rate, seconds = reading.read(path, 0, 0).rate, reading.seconds(path)
    for example in (clip.example for clip in clips):
        if not example.start < example.end <= seconds + _PAST_THE_END_SECONDS:
            raise AudioError(
                f"Clip {example.clip_id} is from {example.start:.1f} to {example.end:.1f} s,"
                f" and the working copy {path.name} is {seconds:.1f} s long.",
                "Import the recording again; its original is kept and no edit is lost.",
            )
    return _Recording(path, wish.rate or rate, clips)


def _check_rates(recordings: Iterable[_Recording], wish: ExportSettings) -> None:
    """Refuse a rate that the kind of audio does not have; only mp3 has a list."""
    for rate in {recording.rate for recording in recordings}:
        if wish.audio == "mp3" and rate not in MP3_RATES:
            raise AudioError(
                f"An mp3 cannot have {rate} samples a second.",
                f"Choose a rate of {', '.join(map(str, MP3_RATES))}, or another kind of audio.",
            )


def _check_room(recordings: Iterable[_Recording], wish: ExportSettings, target: Path) -> None:
    if not target.parent.is_dir():
        raise NotFoundError(f"There is no folder {target.parent}.", "Make it, or choose another.")
    need = _ROOM_BESIDE_BYTES + sum(_bytes(recording, wish) for recording in recordings)
    free = shutil.disk_usage(target.parent).free
    if free < need:
        raise DiskFullError(
            f"The export needs about {need / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB is free on"
            f" the disk that holds {target.parent}.",
            "Free some space, or choose mp3, ogg or a lower rate.",
        )


def _bytes(recording: _Recording, wish: ExportSettings) -> int:
    """About what the clips of a recording take on the disk, rather too much than too little."""
    sound = sum(clip.example.seconds for clip in recording.clips) * recording.rate * 2
    # A text stands twice in some tables, once more where it is odd, in up to six bytes a sign.
    texts = sum(len(clip.row.text) for clip in recording.clips) * 12
    return int(sound * _SIZES[wish.audio]) + texts + _BYTES_A_CLIP * len(recording.clips)


def _audio(
    recordings: Iterable[_Recording], wish: ExportSettings, progress: Progress, stop: Stop
) -> Iterator[tuple[Row, bytes]]:
    """Each clip as the content of its file, one in memory at a time."""
    recordings = list(recordings)
    done, total = 0, sum(len(recording.clips) for recording in recordings)
    progress(done, total)
    for recording in recordings:
        gain = _gain(recording, wish, stop) if wish.loudness_lufs else 1.0
        for clip, sound in _sounds(recording, stop):
            yield clip.row, _encoded(sound, gain, wish.audio)
            done += 1
            progress(done, total)


def _sounds(recording: _Recording, stop: Stop) -> Iterator[tuple[_Clip, Sound]]:
    # Opening it for every clip costs little: 1,000 clips of 3.5 s out of an hour of FLAC at
    # 44.1 kHz took 1.4 s, and 1.3 s from one opening. FLAC is sought by halving, not from the start.
    for clip in recording.clips:
        if stop():
            raise StopWork("Stopped while exporting.")
        example = clip.example
        yield clip, reading.read(recording.path, example.start, example.end, recording.rate)


def _gain(recording: _Recording, wish: ExportSettings, stop: Stop) -> float:
    """What makes the clips of a recording, taken together, as loud as wished without clipping."""
    from voices.speaking.loudness import QUIETEST_LUFS, LoudnessMeter

    meter, peak = LoudnessMeter(recording.rate), 0.0
    for _, sound in _sounds(recording, stop):
        meter.feed(sound.samples)
        peak = max(peak, float(abs(sound.samples).max(initial=0.0)))
    lufs = meter.lufs()
    if lufs <= QUIETEST_LUFS:  # silence stays silence
        return 1.0
    return min(_factor(wish.loudness_lufs - lufs), _factor(_LOUDEST_DB) / peak)


def _factor(decibels: float) -> float:
    return float(10 ** (decibels / 20))


def _encoded(sound: Sound, gain: float, audio: str) -> bytes:
    import numpy as np
    import soundfile

    # In whole numbers: soundfile reads them as parts of 32,768 and writes parts of 32,767.
    whole = np.rint(sound.samples * np.float32(gain * 32768)).clip(-32768, 32767).astype(np.int16)
    file = io.BytesIO()  # on the disk, libsndfile would not say that there is no room
    soundfile.write(file, whole, sound.rate, **KINDS[audio])
    return file.getvalue()


def _write_files(format: str, folder: Path, audio: Iterable[tuple[Row, bytes]]) -> None:
    for row, content in audio:
        path = folder / audio_path(row, format)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def _check_parquet() -> None:
    if importlib.util.find_spec("datasets") is None:
        raise TextError(
            "Parquet needs the package datasets, which is not installed.",
            f"Install it with: {sys.executable} -m pip install datasets. Or choose audiofolder.",
        )


def _write_parquet(folder: Path, audio: Iterable[tuple[Row, bytes]]) -> None:
    """Write one file a split; its schema says, as `datasets` wants it, which column is audio."""
    import datasets  # type: ignore[import-not-found,unused-ignore]  # not required

    text = datasets.Value("string")
    features = datasets.Features({"audio": datasets.Audio(), "text": text, "speaker": text})
    splits: dict[str, _ParquetFile] = {}
    with ExitStack() as stack:
        for row, content in audio:
            if row.split not in splits:
                path = folder / f"{_PARQUET_NAMES[row.split]}-00000-of-00001.parquet"
                splits[row.split] = _ParquetFile(path, features.arrow_schema, stack)
            splits[row.split].add(_parquet_row(row, content))
        for file in splits.values():
            file.write()


class _ParquetFile:
    """One split: its rows wait until there are enough to be written together."""

    def __init__(self, path: Path, schema: Any, stack: ExitStack) -> None:
        import pyarrow.parquet  # type: ignore[import-not-found,unused-ignore]  # with datasets

        self._table, self._schema = pyarrow.Table, schema
        # A file of Python's own says with its number that a disk is full.
        file = stack.enter_context(path.open("wb"))
        self._writer = stack.enter_context(pyarrow.parquet.ParquetWriter(file, schema))
        self._rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) == _ROWS_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write the rows that wait."""
        self._writer.write_table(self._table.from_pylist(self._rows, self._schema))
        self._rows.clear()


def _parquet_row(row: Row, content: bytes) -> dict[str, Any]:
    sound = {"bytes": content, "path": row.audio_name}
    return {"audio": sound, "text": row.text, "speaker": row.speaker}


def _note(
    clips: int, seconds: float, recordings: Iterable[_Recording], wish: ExportSettings
) -> str:
    """Tell whoever opens the folder what it is."""
    rates = sorted({recording.rate for recording in recordings})
    return (
        f"A dataset of a voice: {clips} clips, {seconds / 60:.1f} minutes, exported by Timbre.\n"
        f"Format: {wish.format}. Audio: {wish.audio}, {', '.join(map(str, rates))} Hz, mono.\n"
        f"{_READ_BY[wish.format]}\n"
        "manifest.json lists every file with its size and SHA-256.\n"
    )
