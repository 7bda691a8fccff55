"""The computer as it tells, and GPUs that are not NVIDIA's."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import psutil
import pytest

from finetune.monitor import machine
from finetune.monitor.cards import Card
from finetune.monitor.machine import Computer, Machine


@pytest.fixture
def amd(monkeypatch):
    """An amdsmi with one card, as it is asked from Python."""
    told = {
        "vram": {"vram_total": 24560, "vram_used": 1200},
        "power": {"current_socket_power": "N/A", "average_socket_power": 45},
        "heat": 51,
    }
    module = SimpleNamespace(
        amdsmi_init=lambda: None,
        amdsmi_get_processor_handles=lambda: ["handle"],
        amdsmi_get_gpu_vram_usage=lambda handle: told["vram"],
        amdsmi_get_power_info=lambda handle: told["power"],
        amdsmi_get_gpu_asic_info=lambda handle: {"market_name": "Radeon RX 7900 XTX"},
        amdsmi_get_gpu_device_uuid=lambda handle: "9cff-74a0",
        amdsmi_get_temp_metric=lambda handle, which, when: told["heat"],
        AmdSmiTemperatureType=SimpleNamespace(EDGE=0),
        AmdSmiTemperatureMetric=SimpleNamespace(CURRENT=0),
    )
    monkeypatch.setitem(sys.modules, "amdsmi", module)
    machine._amdsmi.cache_clear()
    yield told
    machine._amdsmi.cache_clear()


def test_this_computer_is_read_as_far_as_it_can_be(tmp_path):
    found = Machine(tmp_path / "not" / "there" / "yet").read()

    assert found.ram_mib > found.ram_free_mib > 0
    assert found.disk_mib > found.disk_free_mib > 0
    assert found.swap_mib >= found.swap_used_mib >= 0


def test_how_busy_the_processor_is_is_unknown_until_it_was_counted(tmp_path):
    read = Machine(tmp_path)

    assert read.read().cpu_percent is None
    assert 0 <= read.read().cpu_percent <= 100


def test_what_the_system_refuses_is_unknown(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("not in here")

    for name in ("virtual_memory", "swap_memory", "disk_usage", "cpu_percent"):
        monkeypatch.setattr(psutil, name, refuse)

    assert Machine(tmp_path).read() == Computer()


def test_an_apple_gpu_has_the_computers_memory_and_says_so(monkeypatch):
    monkeypatch.setattr(machine.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")

    [card] = machine.apples(16384, 9000)

    assert (card.total_mib, card.free_mib, card.used_mib) == (16384, 9000, None)
    assert card.shares_memory and "shares the computer's" in card.notes[0]


def test_an_intel_mac_has_no_such_gpu(monkeypatch):
    monkeypatch.setattr(machine.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(machine.platform, "machine", lambda: "x86_64")

    assert machine.apples(16384, 9000) == ()


def test_an_amd_gpu_is_read_where_amdsmi_is(tmp_path, amd):
    assert Machine(tmp_path).read().cards == (
        Card(
            0,
            "9cff-74a0",
            "Radeon RX 7900 XTX",
            total_mib=24560,
            free_mib=23360,
            used_mib=1200,
            temperature_c=51,
            watts=45.0,
        ),
    )


@pytest.mark.parametrize(
    "memory", [{"vram_total": 512, "vram_used": 4000}, {"vram_total": "N/A"}, {"vram_total": 0}]
)
def test_amd_figures_that_cannot_be_are_unknown(tmp_path, amd, memory):
    amd.update(vram=memory, heat=2**16 - 1, power={"average_socket_power": "N/A"})

    [card] = Machine(tmp_path).read().cards

    assert (card.used_mib, card.free_mib, card.temperature_c, card.watts) == (None,) * 4
    assert card.total_mib == (512 if memory["vram_total"] == 512 else None)


def test_without_amdsmi_there_is_no_such_gpu(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    machine._amdsmi.cache_clear()

    assert Machine(tmp_path).read().cards == ()
