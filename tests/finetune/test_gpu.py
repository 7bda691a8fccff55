"""What a driver tells, refuses to tell, or never answers, where there is no stand-in for one too."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace

import pytest

from finetune import gpu
from finetune.gpu import Card, Gpus
from finetune.monitor.driver import Driver


class Refusal(Exception):
    """As NVML refuses: with a number."""

    def __init__(self, value):
        super().__init__(f"error {value}")
        self.value = value


def driver(**answers):
    """A pynvml that gives these answers and refuses everything else."""

    def question(name):
        def ask(*_):
            if name not in answers:
                raise Refusal(3)
            answer = answers[name]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return ask

    known = {
        "NVMLError": Refusal,
        "nvmlMemory_v2": 2,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
    }
    known |= {name: answer for name, answer in answers.items() if callable(answer)}

    class Module:
        def __getattr__(self, name):
            return known[name] if name in known else question(name)

    return Module()


def read_from(module, monkeypatch, **options):
    monkeypatch.setitem(sys.modules, "pynvml", module)
    monkeypatch.setattr(gpu, "DRIVER", Driver(pid_exists=lambda pid: True))
    return gpu.read(**options)


def test_a_card_is_read_as_the_driver_tells(monkeypatch):
    found = read_from(
        driver(
            nvmlDeviceGetCount=1,
            nvmlDeviceGetHandleByIndex="handle",
            nvmlDeviceGetUUID="GPU-1",
            nvmlDeviceGetName="RTX 4070",
            nvmlDeviceGetMemoryInfo=SimpleNamespace(
                total=12 * 2**30, free=3 * 2**30, used=9 * 2**30
            ),
            nvmlDeviceGetCudaComputeCapability=(8, 9),
            nvmlDeviceGetComputeRunningProcesses_v3=[
                SimpleNamespace(pid=7, usedGpuMemory=2**30),
                SimpleNamespace(pid=8, usedGpuMemory=None),
            ],
            nvmlSystemGetDriverVersion="580.65",
            nvmlSystemGetCudaDriverVersion=13010,
        ),
        monkeypatch,
    )

    card = Card(0, "GPU-1", "RTX 4070", 12288, 3072, (8, 9), {7: 1024, 8: None}, 9216)
    assert found == Gpus((card,), "580.65", "13.1")
    assert gpu.held_mib(found, {7, 8}) == 1024
    assert gpu.held_mib(found, {9}) == 0


def test_memory_held_by_nobody_knows_whom_is_not_counted():
    cards = (Card(0), Card(1, held_mib={7: None, 8: 100}), Card(2, held_mib={8: 20}))

    assert gpu.held_mib(Gpus(cards), {7, 8}) == 120


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (12, "No NVIDIA driver is installed."),
        (9, "not running; restart the computer"),
        (18, "updated while in use; restart"),
        (999, "cannot be asked (error 999)"),
    ],
)
def test_why_a_driver_cannot_be_asked_is_said(monkeypatch, code, said):
    def refuse():
        raise Refusal(code)

    found = read_from(driver(nvmlInit=refuse), monkeypatch)

    assert found.cards == () and said in found.problem


def test_a_driver_that_hangs_is_left_behind(monkeypatch):
    hanging = threading.Event()
    begun = time.monotonic()

    found = read_from(driver(nvmlInit=hanging.wait), monkeypatch, timeout_seconds=0.2)

    assert time.monotonic() - begun < 2
    assert "did not answer" in found.problem
    hanging.set()


def test_a_fault_while_asking_is_a_problem_in_words_and_no_timeout(monkeypatch):
    def break_down():
        raise OSError("libnvidia-ml.so.1: file too short")

    found = read_from(driver(nvmlInit=break_down), monkeypatch)

    assert "file too short" in found.problem
