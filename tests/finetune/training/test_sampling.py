"""Samples: spoken, kept, told of, and never at the cost of the training."""

from __future__ import annotations

import errno
import json
import random

import numpy as np
import pytest
import soundfile
import torch

from engines.base import Sound
from engines.errors import EngineError
from finetune.jobs.events import Said, Sampled
from finetune.training import memory
from finetune.training import sampling as samplings
from finetune.training.sampling import TABLE, encoded, flac, speak_samples
from voices import files

RATE = 24000
SENTENCES = ("One.", "Two!", "Three?")
CPU_OUT_OF_MEMORY = (
    "[enforce fail at alloc_cpu.cpp:119] . DefaultCPUAllocator: not enough memory: you tried to"
    " allocate 9000 bytes."
)


def tone(hertz=220.0, seconds=0.2):
    time = np.arange(int(seconds * RATE)) / RATE
    return Sound((0.3 * np.sin(2 * np.pi * hertz * time)).astype(np.float32), RATE)


class Speaks:
    """A tiny network with dropout that draws by chance and hums; some sentences fail."""

    def __init__(self, failing=None):
        torch.manual_seed(0)
        self.network = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8)
        )
        self.failing = failing or {}
        self.spoken = []

    def speak(self, text, language, reference, seed):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        out = self.network(torch.randn(3, 4))
        self.spoken.append((text, language, seed))
        self.state = (self.network.training, out.requires_grad)
        if text in self.failing:
            made = self.failing[text]
            if isinstance(made, Exception):
                raise made
            return made
        return tone(200 + seed + random.random() + 50 * len(text))


class Judged:
    """Judges by what it is told, and draws by chance as torch does when it makes a layer."""

    def __init__(self):
        self.heard = []

    def similarity(self, sound):
        torch.nn.Linear(4, 4)
        self.heard.append(sound)
        return 0.5

    def character_errors(self, sound, text, language):
        return None


def sample(trainable, folder, say=lambda event: None, step=12, stop=lambda: False, **other):
    given = {"sentences": SENTENCES, "language": "en", "seed": 7, **other}
    return speak_samples(
        trainable, given["sentences"], given["language"], tone(), given["seed"], folder, step,
        Judged(), say, stop,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "samples"


def test_each_sentence_is_kept_with_what_is_known_of_it(folder):
    told = []

    found = sample(Speaks(), folder, told.append)

    assert told == found
    assert found[1] == Sampled(12, "Two!", "samples/step-000012/01.flac", 0.2, 0.5, None)
    assert files.exists(folder / "step-000012")
    table = json.loads((folder / "step-000012" / TABLE).read_text("utf-8"))
    assert [each["text"] for each in table["samples"]] == list(SENTENCES)
    assert {each["seed"] for each in table["samples"]} == {7}
    assert table["sentences"] == 3
    for each in found:
        info = soundfile.info(folder.parent / each.path)
        assert (info.format, info.subtype, info.samplerate) == ("FLAC", "PCM_16", RATE)


def test_events_are_told_only_when_the_folder_stands(folder):
    stands = []

    sample(Speaks(), folder, lambda event: stands.append(files.exists(folder / "step-000012")))

    assert stands == [True] * 3


def test_a_step_that_was_sampled_before_is_read_back_and_not_spoken_again(folder):
    before, told, again = sample(Speaks(), folder), [], Speaks()
    content = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    found = sample(again, folder, told.append, seed=8)

    assert found == before == told
    assert again.spoken == []
    assert content == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_base_is_step_0(folder):
    assert sample(Speaks(), folder, step=0)[0].path == "samples/step-000000/00.flac"


def training(steps, between=lambda trainable: None):
    """Weights after some steps of a network that draws by chance, with something in between."""
    trainable = Speaks()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    network = trainable.network
    network[2].eval()  # a part that its engine keeps from learning stays so
    for _ in range(steps):
        between(trainable)
        noise = random.random() + np.random.rand()
        loss = network(torch.randn(8, 4)).square().mean() * noise
        network.zero_grad()
        loss.backward()
        with torch.no_grad():  # an optimizer would load torch's compiler first: many seconds
            for weight in network.parameters():
                weight -= 0.1 * weight.grad
    return [each.clone() for each in network.state_dict().values()], trainable


@pytest.mark.parametrize("failing", [{}, {"Two!": torch.OutOfMemoryError("no")}])
def test_sampling_on_request_does_not_change_the_training_in_a_bit(folder, failing):
    count = iter(range(9))

    def between(trainable):
        trainable.failing = failing
        sample(trainable, folder, step=next(count))
        assert trainable.state == (False, False)

    plain, _ = training(3)
    sampled, trainable = training(3, between)

    assert all(torch.equal(one, other) for one, other in zip(plain, sampled, strict=True))
    assert trainable.network.training and trainable.network[1].training
    assert not trainable.network[2].training
    assert len(trainable.spoken) >= 6


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError(CPU_OUT_OF_MEMORY),
        MemoryError(),
    ],
)
def test_memory_that_runs_out_ends_the_sampling_alone(folder, monkeypatch, error):
    told, freed = [], []
    monkeypatch.setattr(memory, "free", lambda: freed.append(True))
    trainable = Speaks({"Two!": error})

    found = sample(trainable, folder, told.append)

    assert [each.text for each in found] == ["One."]
    assert [text for text, _, _ in trainable.spoken] == ["One.", "Two!"]
    assert "Memory ran out" in told[0].text
    assert freed == [True]
    assert trainable.network.training


def test_what_held_the_memory_is_gone_when_it_is_freed(folder, monkeypatch):
    import gc
    import weakref

    class Large:
        pass

    large = []
    monkeypatch.setattr(memory, "free", lambda: (gc.collect(), large.append(large[0]() is None)))

    class Fails(Speaks):
        def speak(self, text, language, reference, seed):
            held = Large()
            large.append(weakref.ref(held))
            raise torch.OutOfMemoryError("no")

    sample(Fails(), folder)

    assert large[1] is True


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ValueError("a strange sign"), "a strange sign"),
        (EngineError("It cannot.", "Do that."), "It cannot. Do that."),
        (RuntimeError("CUDA error: device-side assert"), "assert"),
        (Sound(np.zeros(0, np.float32), RATE), "Nothing was said"),
        (Sound(np.array([0.1, np.nan], np.float32), RATE), "not a sound"),
    ],
)
def test_a_sentence_that_fails_is_told_and_the_others_are_spoken(folder, caplog, fault, words):
    told = []

    found = sample(Speaks({"Two!": fault}), folder, told.append)

    assert [each.path[-7:] for each in found] == ["00.flac", "02.flac"]
    assert isinstance(told[0], Said) and "Two!" in told[0].text and words in told[0].text
    assert "Traceback" in caplog.text


def test_where_nothing_can_be_spoken_nothing_is_kept(folder):
    trainable = Speaks({text: ValueError("no") for text in SENTENCES})

    assert sample(trainable, folder) == []
    assert sample(Speaks(), folder, sentences=()) == []
    assert not folder.exists()


def test_a_wish_to_stop_is_heeded_between_sentences_and_what_was_spoken_is_kept(folder):
    trainable = Speaks()

    found = sample(trainable, folder, stop=lambda: len(trainable.spoken) == 2)

    assert len(trainable.spoken) == len(found) == 2
    assert files.exists(folder / "step-000012")


def test_a_full_disk_is_told_and_ends_nothing(folder, monkeypatch):
    told = []

    def full(sound):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(samplings, "flac", full)

    assert sample(Speaks(), folder, told.append) == []
    assert "full" in told[0].text
    assert list(folder.iterdir()) == []


def test_a_damaged_folder_is_kept_aside_and_the_step_spoken_again(folder):
    sample(Speaks(), folder)
    (folder / "step-000012" / "01.flac").write_bytes(b"")

    found = sample(Speaks(), folder)

    assert len(found) == 3 and files.exists(folder / "step-000012")
    assert len(list(folder.glob("*.broken-*"))) == 1


@pytest.mark.parametrize("format", ["FLAC", "WAV"])
def test_what_is_written_is_read_back_the_same_and_too_loud_is_cut(tmp_path, format):
    samples = np.array([0, 0.5, -0.25, 1 / 32768, 2.0, -2.0], np.float32)
    path = tmp_path / "file"

    path.write_bytes(encoded(Sound(samples, 22050), format))

    read, rate = soundfile.read(path, dtype="float32")
    assert rate == 22050
    assert read.tolist() == [0, 0.5, -0.25, 1 / 32768, 32767 / 32768, -1]
    assert flac(Sound(samples, 22050))[:4] == b"fLaC"
