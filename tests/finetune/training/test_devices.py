"""What computes, and in which numbers, is chosen with a reason; what cannot be is refused."""

from __future__ import annotations

import os

import pytest
import torch

from engines.errors import SettingsError
from finetune.training import devices


@pytest.fixture
def gpus(monkeypatch):
    def there(cuda=False, mps=False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return there


@pytest.mark.parametrize(
    ("cuda", "mps", "found"),
    [(True, False, "cuda"), (True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_the_fastest_there_is_is_taken(gpus, cuda, mps, found):
    gpus(cuda, mps)

    chosen = devices.choose_device("auto")

    assert chosen.value == found
    assert chosen.reason == ("there is no GPU" if found == "cpu" else "the fastest there is")


@pytest.mark.parametrize("wanted", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(gpus, wanted):
    gpus()

    with pytest.raises(SettingsError, match=f"device is {wanted}") as caught:
        devices.choose_device(wanted)

    assert "auto or cpu" in caught.value.fix


def test_the_processor_can_be_chosen_where_there_is_a_gpu(gpus):
    gpus(cuda=True)

    assert devices.choose_device("cpu") == devices.Chosen("cpu", "as chosen")


@pytest.mark.parametrize(
    ("capability", "found", "why"),
    [
        ((6, 1), "fp32", "no faster"),
        ((7, 0), "fp16", "no bf16"),
        ((7, 5), "fp16", "no bf16"),
        ((8, 0), "bf16", "never overflows"),
        ((8, 9), "bf16", "never overflows"),
        ((9, 0), "bf16", "never overflows"),
        ((12, 0), "bf16", "never overflows"),
    ],
)
def test_the_numbers_are_the_best_that_a_gpu_computes(capability, found, why):
    chosen = devices.choose_precision("auto", "cuda", capability)

    assert chosen.value == found
    assert why in chosen.reason


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_elsewhere_it_is_fp32(device):
    chosen = devices.choose_precision("auto", device, (0, 0))

    assert chosen.value == "fp32" and "gains nothing" in chosen.reason


@pytest.mark.parametrize(
    ("wanted", "device", "capability"),
    [("fp16", "cpu", (0, 0)), ("bf16", "cuda", (7, 0)), ("bf16", "cuda", (7, 5))],
)
def test_numbers_that_a_device_cannot_compute_are_refused(wanted, device, capability):
    with pytest.raises(SettingsError, match=f"precision is {wanted}") as caught:
        devices.choose_precision(wanted, device, capability)

    assert "auto" in caught.value.fix


@pytest.mark.parametrize(
    ("wanted", "device", "capability"),
    [("fp16", "cuda", (8, 0)), ("fp32", "cuda", (9, 0)), ("bf16", "cpu", (0, 0))],
)
def test_numbers_that_were_chosen_are_taken(wanted, device, capability):
    chosen = devices.choose_precision(wanted, device, capability)

    assert chosen == devices.Chosen(wanted, "as chosen")


def test_as_many_threads_as_cores_or_as_chosen():
    before = torch.get_num_threads()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        assert devices.set_threads(3, "cpu") == torch.get_num_threads() == 3
        assert devices.set_threads(0, "cpu") == torch.get_num_threads() == cores
        assert devices.set_threads(0, "cuda") == min(4, cores)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("computes", "learns", "found"),
    [(True, True, "bf16"), (True, False, "fp32"), (False, True, "fp32")],
)
def test_a_processor_computes_halves_where_it_and_the_engine_can(
    monkeypatch, computes, learns, found
):
    monkeypatch.setattr(devices, "computes_half", lambda: computes)

    assert devices.choose_precision("auto", "cpu", (0, 0), learns).value == found
    assert devices.choose_precision("fp32", "cpu", (0, 0), learns).value == "fp32"
