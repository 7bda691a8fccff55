"""A dataset leaves whole, exact where its format can be, or not at all."""

from __future__ import annotations

import errno
import itertools
import shutil
import sys
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from engines.errors import (
    AudioError,
    DiskFullError,
    NotFoundError,
    SettingsError,
    TextError,
)
from finetune.datasets import Dataset, Example
from finetune.exporting import ExportSettings, export
from finetune.jobs.worker import StopWork
from finetune.media import reading
from finetune.texts.matching import match
from finetune.texts.reading import read
from finetune.texts.writing import FORMATS
from tests.finetune.media.making import speech
from tests.finetune.texts.test_round_trip import ODD
from voices.files import check_folder
from voices.speaking.loudness import LoudnessMeter

RATES = {"r1": 44100, "r2": 24000}
SECONDS = 12


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Two recordings of different rates and levels, as working copies."""
    folder = tmp_path_factory.mktemp("copies")
    for at, (name, rate) in enumerate(RATES.items()):
        samples = speech(SECONDS, rate, seed=at) * (0.2 + 0.6 * at)
        copy(folder / f"{name}.flac", samples, rate)
    return folder


def copy(path, samples, rate):
    soundfile.write(path, np.rint(samples * 32768).astype(np.int16), rate, subtype="PCM_16")


def dataset(texts, seconds=0.1):
    """Clips of both recordings in turn, mixed up; each seventh is for checking."""
    rng = np.random.default_rng(0)
    starts = rng.uniform(0, SECONDS - seconds, len(texts))
    examples = [
        Example(number, f"r{1 + number % 2}", float(start), float(start) + seconds, text)
        for number, (start, text) in enumerate(zip(starts, texts, strict=True))
    ]
    check = tuple(examples[3::7])
    return Dataset(tuple(each for each in examples if each not in check), check, 1)


FEW = dataset([f"text {number}" for number in range(8)], seconds=1.37)


def run(copies, target, data=FEW, progress=lambda done, total: None, stop=lambda: False, **wish):
    def source(name):
        return copies / f"{name}.flac"

    return export(data, source, ExportSettings(**wish), target, progress, stop)


def exported_audio(folder, data, audio):
    """The file of each example, wherever its format puts it."""
    found = {path.stem: path for path in folder.rglob(f"*.{audio}")}
    assert len(found) == len(data.examples)
    return {example: found[f"{example.clip_id:06d}"] for example in data.examples}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("audio", ["wav", "flac"])
def test_texts_and_sound_come_back_exactly_from_every_format(format, audio, copies, tmp_path):
    data = dataset(ODD)

    run(
        copies,
        tmp_path / "out",
        data,
        format=format,
        audio=audio,
        speaker='Bob|"by"',
        language="en",
    )

    check_folder(tmp_path / "out")
    transcript = read(tmp_path / "out")
    names = [path.relative_to(tmp_path / "out").as_posix() for path in
             exported_audio(tmp_path / "out", data, audio).values()]  # fmt: skip
    matched = match(transcript.lines, names)
    texts = {Path(name).stem: line.text for line, name in matched.pairs}
    assert transcript.format == format
    assert len(transcript.lines) == len(data.examples)
    assert not matched.problems and not matched.unused
    for example, path in exported_audio(tmp_path / "out", data, audio).items():
        assert texts[path.stem] == example.text
        samples, rate = soundfile.read(path, dtype="int16")
        whole, own_rate = soundfile.read(copies / f"{example.recording}.flac", dtype="int16")
        span = whole[round(example.start * own_rate) : round(example.end * own_rate)]
        assert rate == own_rate and np.array_equal(samples, span)


@pytest.mark.parametrize("format", ["xtts", "audiofolder"])
def test_what_checks_stays_apart_where_the_format_keeps_it_apart(format, copies, tmp_path):
    run(copies, tmp_path / "out", format=format, speaker="Ann")

    lines = read(tmp_path / "out").lines

    checks = {Path(line.audio).stem for line in lines if line.split == "eval"}
    assert checks == {f"{example.clip_id:06d}" for example in FEW.check}
    assert {line.speaker for line in lines} == {"Ann"}


def decoded(path):
    with av.open(str(path)) as file:
        frames = [frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)]
    return np.concatenate(frames).astype(np.float32)


@pytest.mark.parametrize("audio", ["mp3", "ogg"])
@pytest.mark.parametrize("rate", [8000, 16000, 22050, 24000, 44100, 48000])
@pytest.mark.parametrize("seconds", [0.3, 3.21])
def test_mp3_and_ogg_sound_alike_and_no_later(seconds, rate, audio, copies, tmp_path):
    data = dataset(["a", "b", "c", "d", "e"], seconds)

    run(copies, tmp_path / "out", data, audio=audio, rate=rate)

    for example, path in exported_audio(tmp_path / "out", data, audio).items():
        source = copies / f"{example.recording}.flac"
        expected = reading.read(source, example.start, example.end, rate).samples
        for samples, most_off in (
            (soundfile.read(path, dtype="float32")[0], 0),
            (decoded(path), 512 if audio == "ogg" and seconds < 1 else 0),
        ):
            assert abs(len(samples) - len(expected)) <= most_off
            common = min(len(samples), len(expected))
            samples, expected = samples[:common], expected[:common]
            assert np.corrcoef(samples, expected)[0, 1] > 0.95
            assert np.std(samples) == pytest.approx(np.std(expected), rel=0.1)
            assert lag(samples, expected) == 0


def lag(samples, expected):
    size = 2 * len(expected)
    alike = np.fft.irfft(np.fft.rfft(samples, size) * np.conj(np.fft.rfft(expected, size)), size)
    return int(np.argmax(alike))


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 48000])
def test_another_rate_is_the_span_resampled(rate, copies, tmp_path):
    run(copies, tmp_path / "out", rate=rate)

    for example, path in exported_audio(tmp_path / "out", FEW, "wav").items():
        source = copies / f"{example.recording}.flac"
        expected = reading.read(source, example.start, example.end, rate)
        samples, found = soundfile.read(path, dtype="float32")
        assert found == rate
        assert np.max(np.abs(samples - expected.samples)) <= 0.5 / 32768


def test_a_rate_that_mp3_does_not_have_is_refused_before_anything_is_written(copies, tmp_path):
    copy(tmp_path / "r1.flac", speech(SECONDS, 37800), 37800)
    shutil.copy(copies / "r2.flac", tmp_path)

    with pytest.raises(AudioError, match="mp3 cannot have 37800") as caught:
        run(tmp_path, tmp_path / "out", audio="mp3")
    with pytest.raises(AudioError, match="mp3 cannot have 20000"):
        run(tmp_path, tmp_path / "out", audio="mp3", rate=20000)

    assert "22050" in caught.value.fix
    assert left(tmp_path) == ["r1.flac", "r2.flac"]
    run(tmp_path, tmp_path / "out", audio="ogg")


def left(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "short"])
def test_a_recording_that_cannot_be_used_is_named_and_nothing_is_left(damage, copies, tmp_path):
    source, bad = tmp_path / "copies", tmp_path / "copies" / "r2.flac"
    shutil.copytree(copies, source)
    if damage == "missing":
        bad.unlink()
    elif damage == "short":
        copy(bad, speech(1, 24000), 24000)
    else:
        bad.write_bytes(bad.read_bytes()[: 0 if damage == "empty" else -100_000])

    with pytest.raises(AudioError, match=r"r2\.flac") as caught:
        run(source, tmp_path / "out")

    assert "Import the recording again" in caught.value.fix
    assert left(tmp_path) == ["copies"]


@pytest.mark.parametrize("wish", [{}, {"loudness_lufs": -20.0}])
@pytest.mark.parametrize("after", [0, 5, 7])
def test_a_stop_is_heard_between_clips_and_leaves_nothing(after, wish, copies, tmp_path):
    asked = itertools.count()

    with pytest.raises(StopWork):
        run(copies, tmp_path / "out", stop=lambda: next(asked) >= after, **wish)

    assert next(asked) == after + 1
    assert left(tmp_path) == []


def test_clips_are_written_one_by_one_and_told(copies, tmp_path):
    told, there = [], []

    def progress(done, total):
        told.append((done, total))
        there.append(len(list(tmp_path.rglob("*.wav"))))

    found = run(copies, tmp_path / "out", progress=progress)

    assert told == [(done, 8) for done in range(9)]
    assert there == list(range(9))
    assert (found.clips, found.folder) == (8, tmp_path / "out")
    assert found.seconds == pytest.approx(8 * 1.37)
    sizes = {path.name: path.stat().st_size for path in found.folder.rglob("*") if path.is_file()}
    assert found.bytes == sum(sizes.values()) - sizes["manifest.json"]


def test_a_note_says_what_the_folder_is(copies, tmp_path):
    run(copies, tmp_path / "out", format="xtts", audio="flac", language="en")

    note = (tmp_path / "out" / "README.txt").read_text(encoding="utf-8")

    assert (tmp_path / "out" / "lang.txt").read_text() == "en\n"
    assert "8 clips, 0.2 minutes" in note
    assert "xtts" in note and "flac, 24000, 44100 Hz" in note and '"coqui"' in note


def test_too_little_room_says_how_much_is_needed_and_free(copies, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=40_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)

    with pytest.raises(DiskFullError, match=r"needs about 51 MB, and 40 MB is free"):
        run(copies, tmp_path / "out")

    assert left(tmp_path) == []


@pytest.mark.parametrize("audio", ["wav", "mp3"])
def test_a_disk_that_gets_full_on_the_way_is_named_and_nothing_is_left(
    audio, copies, tmp_path, monkeypatch
):
    write_bytes, written = Path.write_bytes, itertools.count()

    def fail(path, content):
        if next(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_bytes(path, content)

    monkeypatch.setattr(Path, "write_bytes", fail)

    with pytest.raises(DiskFullError, match="is full"):
        run(copies, tmp_path / "out", audio=audio)

    assert left(tmp_path) == []


def heard(folder, audio="wav"):
    """Per recording how loud its clips are together, and the highest sample."""
    found = {}
    for name, group in itertools.groupby(
        sorted(exported_audio(folder, FEW, audio).items(), key=lambda each: each[0].recording),
        key=lambda each: each[0].recording,
    ):
        sounds = [soundfile.read(path, dtype="float32") for _, path in group]
        meter = LoudnessMeter(sounds[0][1])
        for samples, _ in sounds:
            meter.feed(samples)
        found[name] = (meter.lufs(), max(np.max(np.abs(samples)) for samples, _ in sounds))
    return found


def test_recordings_get_as_loud_as_wished_each_as_a_whole(copies, tmp_path):
    run(copies, tmp_path / "before")
    run(copies, tmp_path / "after", loudness_lufs=-25.0)

    before, after = heard(tmp_path / "before"), heard(tmp_path / "after")

    assert abs(before["r1"][0] - before["r2"][0]) > 6
    assert [lufs for lufs, _ in after.values()] == pytest.approx([-25, -25], abs=0.2)
    old = exported_audio(tmp_path / "before", FEW, "wav")
    new = exported_audio(tmp_path / "after", FEW, "wav")
    ratios = {
        name: [
            np.std(soundfile.read(new[each])[0]) / np.std(soundfile.read(old[each])[0])
            for each in FEW.examples
            if each.recording == name
        ]
        for name in RATES
    }
    for each in ratios.values():
        assert each == pytest.approx([each[0]] * len(each), rel=0.01)


def test_no_wish_for_loudness_makes_it_clip(copies, tmp_path):
    run(copies, tmp_path / "out", loudness_lufs=-1.0)

    for _, peak in heard(tmp_path / "out").values():
        assert peak == pytest.approx(10 ** (-1 / 20), abs=1e-4)


def test_silence_stays_silence(copies, tmp_path):
    copy(tmp_path / "r1.flac", np.zeros(SECONDS * 44100), 44100)
    shutil.copy(copies / "r2.flac", tmp_path)

    run(tmp_path, tmp_path / "out", loudness_lufs=-20.0)

    assert heard(tmp_path / "out")["r1"][1] == 0


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"format": "word"}, "format is 'word'"),
        ({"audio": "opus"}, "audio is 'opus'"),
        ({"rate": 4000}, "rate is 4000, too few"),
        ({"rate": 96000}, "from 0 to 48000"),
        ({"loudness_lufs": 3.0}, "from -40 to 0"),
    ],
)
def test_what_there_is_not_is_refused(wish, message):
    with pytest.raises(SettingsError, match=message):
        ExportSettings(**wish)


def test_a_folder_that_is_there_is_never_replaced(copies, tmp_path):
    (tmp_path / "out").mkdir()

    with pytest.raises(TextError, match="is there already"):
        run(copies, tmp_path / "out")


def test_a_place_that_is_not_there_is_named(copies, tmp_path):
    with pytest.raises(NotFoundError, match="no folder"):
        run(copies, tmp_path / "nowhere" / "out")


def test_parquet_without_its_package_says_what_to_install(copies, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)

    with pytest.raises(TextError, match="pip install datasets"):
        run(copies, tmp_path / "out", format="parquet")

    assert left(tmp_path) == []


def test_parquet_comes_back_exactly_with_its_sound(copies, tmp_path):
    datasets = pytest.importorskip("datasets")
    data = dataset(ODD)

    run(copies, tmp_path / "out", data, format="parquet", speaker="Ann")

    check_folder(tmp_path / "out")
    found = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    by_name = {}
    for split, examples in (("train", data.train), ("validation", data.check)):
        assert len(found[split]) == len(examples)
        assert isinstance(found[split].features["audio"], datasets.Audio)
        for row in found[split].cast_column("audio", datasets.Audio(decode=False)):
            by_name[row["audio"]["path"]] = row
    run(copies, tmp_path / "wavs", data)
    for example, path in exported_audio(tmp_path / "wavs", data, "wav").items():
        row = by_name[path.name]
        assert (row["text"], row["speaker"]) == (example.text, "Ann")
        assert row["audio"]["bytes"] == path.read_bytes()
