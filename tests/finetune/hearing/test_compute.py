"""Which processor, which numbers, how much at once: decided without any of them."""

from __future__ import annotations

import ctypes
import os
import random
import sys
from types import SimpleNamespace

import pytest

from engines.errors import EngineError, SettingsError
from finetune.gpu import Card, Gpus
from finetune.hearing import compute
from finetune.hearing.compute import Machine, brought, choose, cuda_libraries, need_mib, visible

CPU = frozenset({"float32", "int8", "int8_float32"})
NEW = frozenset({"float32", "float16", "int8", "int8_float16", "int8_float32", "bfloat16"})
OLD = frozenset({"float32", "int8", "int8_float32"})
LARGE, SMALL = 3090, 484


def machine(*free_mib, types=NEW, **facts):
    """A computer with GPUs that have so much memory free."""
    cards = tuple(Card(at, name=f"RTX {at}", free_mib=free) for at, free in enumerate(free_mib))
    known = {card.index: types for card in cards}
    return Machine(**({"cores": 8, "cpu_types": CPU, "cards": cards, "gpu_types": known} | facts))


def test_a_gpu_with_room_runs_it_in_float16():
    chosen = choose(machine(12_000), LARGE)

    assert (chosen.device, chosen.index, chosen.type) == ("cuda", 0, "float16")
    assert chosen.batch == 16
    assert chosen.reason.startswith("On GPU 0 (RTX 0) in float16, 16 pieces at once: about 7,")


def test_the_need_of_memory_is_what_was_measured_for_the_largest():
    measured_mb = {("float16", 1): 4525, ("float16", 8): 6090, ("int8_float16", 1): 2926}

    for (kind, batch), mb in measured_mb.items():
        assert need_mib(LARGE, kind, batch) * 2**20 / 1e6 == pytest.approx(mb, rel=0.04)


def test_little_free_memory_is_answered_with_int8_and_says_so():
    chosen = choose(machine(4000), LARGE)

    assert chosen.type == "int8_float16"
    assert "; float16 would need 4,347 MiB" in chosen.reason


def test_a_card_slow_in_float16_computes_in_float32():
    chosen = choose(machine(12_000, types=OLD), SMALL)

    assert chosen.type == "float32"
    assert "slow in float16" in chosen.reason


def test_an_old_card_with_little_memory_computes_in_int8_float32():
    assert choose(machine(5000, types=OLD), LARGE).type == "int8_float32"


def test_the_card_with_the_most_free_memory_is_taken():
    assert choose(machine(2000, 9000, 5000), SMALL).index == 1


def test_a_card_that_tells_its_memory_goes_before_one_that_does_not():
    assert choose(machine(None, 5000), SMALL).index == 1


def test_unknown_memory_is_used_with_care():
    chosen = choose(machine(None), LARGE)

    assert (chosen.device, chosen.type, chosen.batch) == ("cuda", "float16", 1)
    assert "is not known" in chosen.reason


def test_a_gpu_that_is_too_small_leaves_it_to_the_processor_and_says_why():
    chosen = choose(machine(1000), LARGE)

    assert (chosen.device, chosen.type) == ("cpu", "int8")
    assert "it needs 2,873 MiB and GPU 0 (RTX 0) has 1,000 MiB free" in chosen.reason


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"problem": "No NVIDIA driver is installed."}, ": no NVIDIA driver is installed."),
        ({"cards": ()}, "there is none that Whisper can use."),
        ({"gpu_types": {}}, "there is none that Whisper can use."),
        ({"gpu_types": {0: frozenset({"bfloat16"})}}, "there is none that Whisper can use."),
    ],
)
def test_without_a_usable_gpu_the_processor_does_it_and_the_reason_is_shown(facts, why):
    chosen = choose(machine(12_000, **facts), SMALL)

    assert chosen.device == "cpu"
    assert chosen.reason.endswith(why)


def test_a_wish_for_the_gpu_is_never_quietly_something_else():
    with pytest.raises(EngineError, match="The GPU cannot be used: it needs"):
        choose(machine(1000), LARGE, "gpu")


def test_a_wish_for_the_processor_is_kept():
    assert choose(machine(24_000), SMALL, "cpu").device == "cpu"


def test_an_unknown_wish_names_what_there_is():
    with pytest.raises(SettingsError, match="auto, gpu, cpu"):
        choose(machine(), SMALL, "tpu")


def test_a_processor_without_int8_computes_in_float32():
    assert choose(machine(cpu_types=frozenset({"float32"})), SMALL).type == "float32"


@pytest.mark.parametrize(
    ("free_mib", "batch"), [(None, 1), (1000, 1), (4000, 2), (16_000, 8), (64_000, 8)]
)
def test_the_processor_hears_as_many_pieces_as_half_the_free_memory_holds(free_mib, batch):
    assert choose(machine(free_mib=free_mib), SMALL).batch == batch


def test_too_little_main_memory_is_said():
    assert (
        "It needs about 2,673 MiB of memory and 2,000"
        in choose(machine(free_mib=2000), LARGE).reason
    )


def test_threads_are_neither_none_nor_many():
    chosen = [choose(machine(cores=cores, free_mib=64_000), SMALL) for cores in (0, 1, 2, 6, 64)]

    assert [each.side_by_side for each in chosen] == [1, 1, 2, 4, 4]
    assert [each.threads for each in chosen] == [1, 1, 1, 1, 2]


def test_whatever_there_is_fits_and_is_told_in_a_sentence():
    dice = random.Random(3)
    for _ in range(2000):
        free = [dice.choice([None, dice.randrange(24_000)]) for _ in range(dice.randrange(4))]
        types = dice.choice([NEW, OLD, frozenset(), frozenset({"float16"})])
        cpu_free = dice.choice([None, dice.randrange(64_000)])
        size = dice.randrange(10, 4000)

        chosen = choose(machine(*free, types=types, free_mib=cpu_free), size)

        assert chosen.reason.endswith(".") and ".." not in chosen.reason
        assert chosen.batch >= 1
        if chosen.device == "cuda":
            assert chosen.type in types
            room = free[chosen.index]
            assert room is None or need_mib(size, chosen.type, chosen.batch) <= room


CARDS = (Card(0, uuid="GPU-aa11"), Card(1, uuid="GPU-bb22"), Card(2, uuid="GPU-cc33"))


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        (None, ["aa11", "bb22", "cc33"]),
        ("", []),
        ("-1", []),
        ("2,0", ["cc33", "aa11"]),
        (" 1 ", ["bb22"]),
        ("GPU-cc", ["cc33"]),
        ("1,7,0", ["bb22"]),
        ("NoDevFiles", []),
    ],
)
def test_cards_are_counted_as_cuda_counts_them(chosen, left):
    seen = visible(CARDS, chosen)

    assert [card.uuid for card in seen] == [f"GPU-{name}" for name in left]
    assert [card.index for card in seen] == list(range(len(left)))


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """An empty place for packages on a Linux computer."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path)])
    return tmp_path


def bring(packages, folder, *names):
    place = packages / "nvidia" / folder
    place.mkdir(parents=True)
    for name in names:
        (place / name).touch()
    return [str(place / name) for name in names]


def test_libraries_that_a_package_brought_are_loaded_by_their_path_in_their_order(packages):
    bring(packages, "cu13/lib", "libcublas.so.13")
    wished = bring(packages, "cublas/lib", "libcublasLt.so.12", "libcublas.so.12")
    loaded = []

    assert cuda_libraries(loaded.append) == ""

    assert loaded == wished


def test_libraries_of_the_system_do_as_well(packages):
    loaded = []

    assert cuda_libraries(loaded.append) == ""

    assert loaded == ["libcublasLt.so.12", "libcublas.so.12"]


def test_missing_libraries_are_named_with_the_package_that_brings_them(packages):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    why = cuda_libraries(missing)

    assert "libcublasLt.so.12" in why and "nvidia-cublas-cu12" in why


def test_a_library_that_cannot_be_loaded_is_named_with_the_reason(packages):
    bring(packages, "cublas/lib", "libcublasLt.so.12", "libcublas.so.12")

    why = cuda_libraries(ctypes.CDLL)

    assert "libcublasLt.so.12 cannot be loaded" in why and "too short" in why


def test_windows_has_them_in_bin(tmp_path):
    (place,) = bring(tmp_path, "cublas/bin", "cublas64_12.dll")

    assert str(brought("cublas64_12.dll", ["", str(tmp_path)])) == place


def test_without_cuda_on_the_system_nothing_is_loaded(packages, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    assert cuda_libraries(pytest.fail) == ""


@pytest.fixture
def with_two_cards(monkeypatch):
    """Two cards, of which CUDA_VISIBLE_DEVICES may leave some, and a ctranslate2 that sees them."""
    cards = (Card(0, "GPU-a", free_mib=9000), Card(1, "GPU-b", free_mib=8000))
    monkeypatch.setattr(compute.gpu, "read", lambda: Gpus(cards))
    monkeypatch.setattr(compute, "cuda_libraries", lambda: "")
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "")
    monkeypatch.delenv("CUDA_DEVICE_ORDER")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    asked = []

    def types(device, index=0):
        asked.append((device, index))
        return set(NEW if device == "cuda" else CPU)

    module = SimpleNamespace(
        get_cuda_device_count=lambda: 2, get_supported_compute_types=types, asked=asked
    )
    monkeypatch.setitem(sys.modules, "ctranslate2", module)
    return module


def test_here_is_chosen_from_what_the_driver_and_ctranslate2_tell(with_two_cards):
    chosen = compute.here(SMALL)

    assert (chosen.device, chosen.index, chosen.type) == ("cuda", 0, "float16")
    assert os.environ["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_the_card_a_person_chose_is_counted_from_zero(with_two_cards, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with_two_cards.get_cuda_device_count = lambda: 1

    chosen = compute.here(SMALL)

    assert chosen.index == 0 and "8,000 MiB" in chosen.reason


def test_who_wishes_the_processor_has_no_gpu_touched(with_two_cards, monkeypatch):
    monkeypatch.setattr(compute.gpu, "read", pytest.fail)
    monkeypatch.setattr(compute, "cuda_libraries", pytest.fail)

    assert compute.here(SMALL, "cpu").device == "cpu"
    assert with_two_cards.asked == [("cpu", 0)]


def test_missing_libraries_leave_it_to_the_processor_before_cuda_is_touched(
    with_two_cards, monkeypatch
):
    monkeypatch.setattr(compute, "cuda_libraries", lambda: "Whisper needs libcublas.so.12.")

    chosen = compute.here(SMALL)

    assert chosen.device == "cpu" and chosen.reason.count("libcublas.so.12.") == 1
    assert with_two_cards.asked == [("cpu", 0)]


def test_a_cuda_that_fails_leaves_it_to_the_processor(with_two_cards):
    def fails():
        raise RuntimeError("driver version is insufficient")

    with_two_cards.get_cuda_device_count = fails

    chosen = compute.here(SMALL)

    assert chosen.device == "cpu" and "driver version is insufficient" in chosen.reason


def test_the_real_ctranslate2_is_asked_on_the_processor():
    machine = compute.look(with_gpus=False)

    assert "float32" in machine.cpu_types and machine.cores >= 1
