"""What clips become for an engine: computed once, kept in one file for each dataset."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from engines.base import Clip, Features, Sound
from engines.errors import AudioError, DatasetError
from finetune.jobs.events import Event, Progress, Said
from finetune.jobs.worker import StopWork
from finetune.training import features
from finetune.training.features import (
    AHEAD,
    BATCH,
    PIECE_CLIPS,
    Source,
    Store,
    gather,
    place_for,
)

CPU = torch.device("cpu")
KINDS = ("uint8", "int16", "int32", "int64", "float16", "float32", "bool")


class Spelling:
    """An engine whose features are the letters and samples of a clip; it counts its work."""

    def __init__(self, version: str = "1") -> None:
        self.features_version = version
        self.made: Counter[str] = Counter()

    def problem(self, clip: Clip) -> str:
        return "It has no words." if not clip.text else ""

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        assert 0 < len(clips) <= BATCH
        self.made.update(clip.text for clip in clips)
        return [
            {"letters": np.frombuffer(clip.text.encode(), np.uint8), "samples": clip.sound.samples}
            for clip in clips
        ]

    def length(self, clip: Features) -> int:
        return len(clip["letters"])


def source(text: str, key: str = "") -> Source:
    sound = Sound(np.arange(len(text), dtype=np.float32) / 7, 16000)
    return Source(key or f"key of {text}", f"clip '{text}'", lambda: Clip(sound, text, "en"))


def sources(count: int, first: int = 0) -> list[Source]:
    return [source(f"{'la' * (number % 5)} {number}") for number in range(first, first + count)]


class Ear:
    """Keeps what is said."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def said(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Said)]


def gathered(
    engine: Spelling,
    clips: Sequence[Source],
    folder: Path,
    ear: Ear | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Store:
    return gather(engine, clips, folder, (ear or Ear()).events.append, stop)  # type: ignore[arg-type]


def texts(store: Store) -> list[str]:
    return [bytes(store[index]["letters"].tolist()).decode() for index in range(len(store))]


def cache_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def texts_of(clips: Sequence[Source]) -> list[str]:
    return [clip.load().text for clip in clips]


def test_every_clip_has_its_features_in_order_and_its_length(tmp_path):
    clips = sources(150)

    store = gathered(Spelling(), clips, tmp_path)

    assert len(store) == 150
    assert texts(store) == texts_of(clips)
    assert store.lengths == tuple(len(text) for text in texts_of(clips))
    assert store[7]["samples"].dtype == torch.float32
    assert torch.equal(store[7]["samples"], torch.arange(len(texts(store)[7])) / 7)


def test_features_are_computed_once(tmp_path):
    engine, clips = Spelling(), sources(100)
    gathered(engine, clips, tmp_path)

    again = gathered(engine, clips, tmp_path)

    assert texts(again) == texts_of(clips)
    assert set(engine.made.values()) == {1}


def test_there_is_one_file_for_a_dataset_and_nothing_beside_it(tmp_path):
    gathered(Spelling(), sources(PIECE_CLIPS * 2 + 5), tmp_path / "cache" / "features")

    assert len(cache_files(tmp_path)) == 1


def test_the_file_is_safetensors_as_others_read_them(tmp_path):
    store = gathered(Spelling(), sources(20), tmp_path)

    loaded = load_file(cache_files(tmp_path)[0])

    assert torch.equal(loaded["key of la 1/letters"], store[1]["letters"])
    assert torch.equal(loaded["key of la 1/samples"], store[1]["samples"])


def test_what_another_dataset_has_is_taken_over(tmp_path):
    engine = Spelling()
    gathered(engine, sources(40), tmp_path)

    store = gathered(engine, sources(60, first=20), tmp_path)

    assert texts(store) == texts_of(sources(60, first=20))
    assert set(engine.made.values()) == {1}
    assert len(engine.made) == 80


def test_another_order_is_another_dataset_of_the_same_clips(tmp_path):
    engine, clips = Spelling(), sources(40)
    gathered(engine, clips, tmp_path)

    store = gathered(engine, clips[::-1], tmp_path)

    assert texts(store) == texts_of(clips[::-1])
    assert sum(engine.made.values()) == 40


def test_another_version_of_the_features_is_computed_anew(tmp_path):
    gathered(Spelling("1"), sources(10), tmp_path)
    engine = Spelling("2")

    gathered(engine, sources(10), tmp_path)

    assert sum(engine.made.values()) == 10


def test_a_clip_that_is_there_twice_is_computed_once(tmp_path):
    engine, clip = Spelling(), source("twice")

    store = gathered(engine, [clip, source("once"), clip], tmp_path)

    assert texts(store) == ["twice", "once", "twice"]
    assert engine.made["twice"] == 1


def test_no_clips_are_an_empty_store(tmp_path):
    store = gathered(Spelling(), [], tmp_path)

    assert (len(store), store.bytes, store.lengths) == (0, 0, ())
    assert len(store.placed("memory", CPU)) == 0


class Anything(Spelling):
    """Features of every type and shape."""

    def features(self, clips: Sequence[Clip]) -> list[Features]:
        return [features_of(clip.text) for clip in clips]

    def length(self, clip: Features) -> int:
        return 1


SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 0, 2), (1, 5, 2)]


def features_of(text: str) -> Features:
    luck = np.random.default_rng(len(text))
    names = [f"{kind} {place}/{text}" for kind in KINDS for place in range(len(SHAPES))]
    values = [
        (luck.random(shape) * 99).astype(kind) for kind in KINDS for shape in SHAPES
    ]  # fmt: skip
    return dict(zip(names, values, strict=True)) if text != "nothing" else {}


@pytest.mark.parametrize("where", ["disk", "memory", "gpu"])
def test_every_type_and_shape_comes_back_as_it_was(where, tmp_path):
    clips = [source(text) for text in ("a", "nothing", "bb", "ccc")]

    # A processor stands in for the GPU: what matters is that it is a copy on a device.
    store = gathered(Anything(), clips, tmp_path).placed(where, CPU)

    for index, text in enumerate(texts_of(clips)):
        expected = features_of(text)
        assert store[index].keys() == expected.keys()
        for name, value in expected.items():
            found = store[index][name]
            assert found.numpy().dtype == value.dtype
            assert found.is_contiguous() or not found.numel()
            assert np.array_equal(found.numpy(), value) and found.shape == value.shape
            assert found.data_ptr() % value.itemsize == 0


def test_a_feature_of_a_type_that_cannot_be_kept_is_named(tmp_path):
    engine = Spelling()
    engine.features = lambda clips: [{"pitch": np.zeros(3)} for _ in clips]

    with pytest.raises(TypeError, match="'pitch' of float64"):
        gathered(engine, sources(1), tmp_path)


def test_torch_tensors_are_kept_as_well_as_arrays(tmp_path):
    engine = Spelling()
    engine.features = lambda clips: [
        {"letters": torch.arange(6, dtype=torch.int16).reshape(2, 3).T} for _ in clips
    ]

    store = gathered(engine, sources(1), tmp_path)

    assert store[0]["letters"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_features_are_views_of_the_file_and_changing_them_does_not_change_it(tmp_path):
    store = gathered(Spelling(), sources(30), tmp_path)
    before = cache_files(tmp_path)[0].read_bytes()

    assert store[3]["samples"].data_ptr() == store[3]["samples"].data_ptr()
    store[3]["samples"].fill_(9)

    assert cache_files(tmp_path)[0].read_bytes() == before


def test_placed_features_are_the_same_in_one_block_of_their_own(tmp_path):
    store = gathered(Spelling(), sources(30), tmp_path)

    for where in ("memory", "gpu"):
        placed = store.placed(where, CPU)

        assert texts(placed) == texts(store)
        assert placed.lengths == store.lengths
        assert placed.bytes == store.bytes
        first, last = placed[0]["samples"].data_ptr(), placed[29]["letters"].data_ptr()
        assert 0 < last - first < store.bytes
        assert placed[0]["samples"].data_ptr() != store[0]["samples"].data_ptr()
    assert store.placed("disk", CPU) is store


def test_clips_that_do_not_fit_are_all_found_and_the_first_are_named(tmp_path):
    clips = sources(60)
    for place in (3, 20, 21, 40, 41, 42, 59):
        clips[place] = Source(f"bad {place}", f"clip {place}", source("").load)
    clips[20] = Source("gone", "clip 20", broken)

    with pytest.raises(DatasetError) as caught:
        gathered(Spelling(), clips, tmp_path)

    assert caught.value.what.splitlines() == [
        "7 clips cannot be learned from:",
        "clip 3: It has no words.",
        "clip 20: talk.flac cannot be read.",
        "clip 21: It has no words.",
        "clip 40: It has no words.",
        "clip 41: It has no words.",
        "… and 2 more",
    ]
    assert "clips leave-out" in caught.value.fix


def broken() -> Clip:
    raise AudioError("talk.flac cannot be read.", "Bring it in again.")


def test_once_a_clip_does_not_fit_no_more_work_is_done_and_what_was_done_is_kept(tmp_path):
    engine, clips = Spelling(), sources(100)
    spoilt = [*clips[:40], Source("bad", "clip 40", source("").load), *clips[40:]]
    with pytest.raises(DatasetError, match="1 clip cannot"):
        gathered(engine, spoilt, tmp_path)
    assert len(engine.made) == 40

    store = gathered(engine, clips, tmp_path)

    assert texts(store) == texts_of(clips)
    assert set(engine.made.values()) == {1}


def test_an_error_of_a_recording_that_is_no_fault_of_the_clip_is_not_hidden(tmp_path):
    def gone() -> Clip:
        raise FileNotFoundError("a disk was taken out")

    with pytest.raises(FileNotFoundError, match="taken out"):
        gathered(Spelling(), [*sources(50), Source("x", "clip 50", gone)], tmp_path)


def test_stopping_takes_one_batch_and_keeps_what_was_done(tmp_path):
    engine, clips = Spelling(), sources(200)
    with pytest.raises(StopWork, match="104 clips are prepared"):
        gathered(engine, clips, tmp_path, stop=lambda: len(engine.made) > 100)
    assert len(engine.made) == 104

    store = gathered(engine, clips, tmp_path)

    assert texts(store) == texts_of(clips)
    assert set(engine.made.values()) == {1}
    assert len(cache_files(tmp_path)) == 1


def test_parts_of_another_dataset_that_was_stopped_stay_until_it_goes_on(tmp_path):
    engine, clips = Spelling(), sources(100)
    with pytest.raises(StopWork):
        gathered(engine, clips, tmp_path, stop=lambda: len(engine.made) > 70)

    gathered(engine, clips[:8], tmp_path)
    gathered(engine, clips, tmp_path)

    assert set(engine.made.values()) == {1}


def test_an_engine_that_fails_loses_one_piece_at_most(tmp_path):
    engine, clips = Spelling(), sources(200)
    work = engine.features

    def failing(some: Sequence[Clip]) -> list[Features]:
        if len(engine.made) >= PIECE_CLIPS * 2:
            raise RuntimeError("the engine broke")
        return work(some)

    engine.features = failing
    with pytest.raises(RuntimeError, match="broke"):
        gathered(engine, clips, tmp_path)
    engine.features = work

    gathered(engine, clips, tmp_path)

    assert sum(engine.made.values()) == 200


def test_slow_work_is_kept_after_some_time(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "PIECE_SECONDS", 0)
    engine = Spelling()

    with pytest.raises(StopWork):
        gathered(engine, sources(60), tmp_path, stop=lambda: len(engine.made) > 16)

    assert len(cache_files(tmp_path)) == 24 / BATCH


def test_progress_ends_with_all_clips_and_does_not_count_what_was_known_for_the_rate(tmp_path):
    engine, first, ear = Spelling(), Ear(), Ear()
    gathered(engine, sources(40), tmp_path, first)

    gathered(engine, sources(100), tmp_path, ear)

    told = [event for event in ear.events if isinstance(event, Progress)]
    assert {(event.unit, event.total) for event in told} == {("clips prepared", 100)}
    assert told[-1].done == 100
    assert ear.said() == []


def test_nothing_is_told_when_there_is_nothing_to_do(tmp_path):
    engine, ear = Spelling(), Ear()
    gathered(engine, sources(10), tmp_path)

    gathered(engine, sources(10), tmp_path, ear)

    assert ear.events == []


def spoil(file: Path, at: float, change: Callable[[bytes], bytes]) -> None:
    content = file.read_bytes()
    place = int(len(content) * at)
    file.write_bytes(content[:place] + change(content[place:]))


DAMAGE = {
    "cut short": lambda rest: b"",
    "longer": lambda rest: rest + bytes(8),
    "a bit turned": lambda rest: bytes([rest[0] ^ 1]) + rest[1:],
    "zeros": lambda rest: bytes(len(rest)),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("at", [0, 0.003, 0.007, 0.1, 0.4, 0.9, 0.999])
def test_a_damaged_file_is_never_believed_and_made_again(how, at, tmp_path):
    engine, clips, ear = Spelling(), sources(30), Ear()
    gathered(engine, clips, tmp_path)
    spoil(cache_files(tmp_path)[0], at, DAMAGE[how])

    store = gathered(engine, clips, tmp_path, ear)

    assert texts(store) == texts_of(clips)
    assert set(engine.made.values()) == {2}
    assert "damaged" in ear.said()[0]
    gathered(engine, clips, tmp_path)
    assert set(engine.made.values()) == {2}


def test_wherever_a_bit_is_turned_it_is_found(tmp_path):
    clips = sources(1)
    gathered(Spelling(), clips, tmp_path)
    file = cache_files(tmp_path)[0]
    content = file.read_bytes()

    for place in range(0, len(content), 3):
        engine = Spelling()
        file.write_bytes(content)
        spoil(file, (place + 0.5) / len(content), DAMAGE["a bit turned"])
        gathered(engine, clips, tmp_path)

        assert engine.made, f"byte {place} of {len(content)} was believed"


def test_a_damaged_file_of_another_dataset_is_not_taken_over(tmp_path):
    engine, ear = Spelling(), Ear()
    gathered(engine, sources(30), tmp_path)
    spoil(cache_files(tmp_path)[0], 0.9, DAMAGE["a bit turned"])

    store = gathered(engine, sources(31), tmp_path, ear)

    assert texts(store) == texts_of(sources(31))
    assert len(ear.said()) == 1
    assert len(cache_files(tmp_path)) == 1


def test_a_damaged_part_costs_that_part(tmp_path):
    engine, clips = Spelling(), sources(200)
    with pytest.raises(StopWork):
        gathered(engine, clips, tmp_path, stop=lambda: len(engine.made) > 190)
    parts = cache_files(tmp_path)
    assert len(parts) == 3
    spoil(parts[0], 0.95, DAMAGE["a bit turned"])

    store = gathered(engine, clips, tmp_path)

    assert texts(store) == texts_of(clips)
    assert sum(engine.made.values()) == 200 + PIECE_CLIPS
    assert len(cache_files(tmp_path)) == 1


def test_two_jobs_that_prepare_the_same_clips_at_once_both_get_them(tmp_path):
    other, engine, clips = Spelling(), Spelling(), sources(150)
    work = engine.features

    def overtaken(some: Sequence[Clip]) -> list[Features]:
        if len(engine.made) == 144:
            gathered(other, clips, tmp_path)
        return work(some)

    engine.features = overtaken
    store = gathered(engine, clips[::-1], tmp_path)

    assert texts(store) == texts_of(clips[::-1])
    assert set(engine.made.values()) == {1}
    assert len(cache_files(tmp_path)) == 2


def test_parts_that_a_kill_left_beside_the_finished_file_go(tmp_path):
    engine, clips = Spelling(), sources(20)
    with pytest.raises(StopWork):
        gathered(engine, clips, tmp_path, stop=lambda: len(engine.made) == 16)
    part = cache_files(tmp_path)[0]
    content = part.read_bytes()
    gathered(engine, clips, tmp_path)
    part.write_bytes(content)

    gathered(engine, clips, tmp_path)

    assert not part.exists()


def test_what_a_killed_writer_left_is_swept(tmp_path):
    engine = Spelling()
    gathered(engine, sources(3), tmp_path)
    left = cache_files(tmp_path)[0].with_name(f".tmp-{pid_of_the_dead()}-0")
    left.write_bytes(b"half")

    gathered(engine, sources(4), tmp_path)

    assert not left.exists()


def pid_of_the_dead() -> int:
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    return child


def test_clips_are_read_ahead_by_a_few_and_not_all_at_once(tmp_path):
    engine, loaded, most = Spelling(), [], 0

    def counting(clip: Source) -> Source:
        def load() -> Clip:
            loaded.append(threading.get_ident())
            return clip.load()

        return Source(clip.key, clip.name, load)

    work = engine.features

    def watching(clips: Sequence[Clip]) -> list[Features]:
        nonlocal most
        wait_until(lambda: len(loaded) >= min(len(engine.made) + AHEAD, 200))
        most = max(most, len(loaded) - len(engine.made))
        return work(clips)

    engine.features = watching
    gathered(engine, [counting(clip) for clip in sources(200)], tmp_path)

    assert AHEAD <= most <= AHEAD + BATCH
    assert threading.get_ident() not in loaded


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_no_thread_stays_behind(tmp_path):
    before = threading.active_count()
    with pytest.raises(StopWork):
        gathered(Spelling(), sources(100), tmp_path, stop=lambda: True)

    assert threading.active_count() == before


GB = 2**30


@pytest.mark.parametrize(
    ("choice", "needed", "free_gpu", "free_ram", "place", "reason"),
    [
        ("auto", 1 * GB, 12 * GB, 8 * GB, "gpu", "under 10% of the 12.0 GB free on the GPU"),
        ("auto", 2 * GB, 12 * GB, 9 * GB, "memory", "2.0 GB, under 25% of the 9.0 GB of free"),
        ("auto", 2 * GB, None, 9 * GB, "memory", "under 25%"),
        ("auto", 2 * GB, 12 * GB, 8 * GB, "disk", "not under 25% of the 8.0 GB"),
        ("auto", 25 * 2**20, None, 8 * GB, "memory", "features of 25 MB"),
        ("gpu", 5 * GB, 12 * GB, 1 * GB, "gpu", "as chosen"),
        ("gpu", 5 * GB, None, 1 * GB, "gpu", "as chosen"),
        ("gpu", 5 * GB, 4 * GB, 30 * GB, "memory", "the GPU has 4.0 GB free"),
        ("gpu", 5 * GB, 4 * GB, 3 * GB, "disk", "the GPU has 4.0 GB free"),
        ("memory", 5 * GB, 99 * GB, 6 * GB, "memory", "as chosen"),
        ("memory", 5 * GB, 99 * GB, 5 * GB, "disk", "more than the 5.0 GB of free memory"),
        ("disk", 1, 99 * GB, 99 * GB, "disk", "as chosen"),
    ],
)
def test_features_wait_where_there_is_room_or_as_chosen_with_the_reason(
    choice, needed, free_gpu, free_ram, place, reason
):
    found, why = place_for(choice, needed, free_gpu, free_ram)

    assert found == place
    assert reason in why
