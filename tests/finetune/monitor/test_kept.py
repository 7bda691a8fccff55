"""What a run keeps of what was seen: small, whole, and never in the run's way."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from finetune.monitor.cards import Card, Gpus
from finetune.monitor.kept import Kept, as_json, from_line, read, to_line
from finetune.monitor.machine import Computer
from finetune.monitor.sampler import Reading
from tests.nvml.situations import told
from voices import files


def reading(at, used=2048, **others):
    card = told(used_mib=used, held_mib={7: 1024, 8: None}, strangers=frozenset({8}), **others)
    computer = Computer(ram_mib=16384, cpu_percent=12.5, cards=(Card(0, name="Apple GPU"),))
    return Reading(float(at), Gpus((card,), "570", "12.8", gone=(Card(1, "GPU-1"),)), computer)


def test_what_was_kept_is_read_back_as_it_was(tmp_path):
    seen = [reading(at, mig=False, busy_percent=0) for at in (0, 10, 20)]
    kept = Kept(tmp_path / "seen.jsonl")

    for each in seen:
        kept.note(each)

    assert read(tmp_path / "seen.jsonl") == seen


def test_a_line_leaves_out_what_is_unknown_and_programs_get_it_all():
    line, whole = json.loads(to_line(reading(0))), as_json(reading(0))

    assert "mig" not in line["gpus"]["cards"][0] and "problem" not in line["gpus"]
    assert whole["gpus"]["cards"][0]["mig"] is None and whole["gpus"]["problem"] == ""
    assert json.loads(json.dumps(whole))["computer"]["cards"][0]["name"] == "Apple GPU"


def test_of_every_ten_seconds_the_peak_is_kept(tmp_path):
    kept = Kept(tmp_path / "seen.jsonl")

    for at in range(21):
        kept.note(reading(at, used=9000 if at == 14 else 2000 + at))

    found = read(tmp_path / "seen.jsonl")
    assert [each.at for each in found] == [0, 10, 14]


def test_a_clock_put_back_does_not_end_the_keeping(tmp_path):
    kept = Kept(tmp_path / "seen.jsonl")

    kept.note(reading(5000))
    kept.note(reading(100))

    assert [each.at for each in read(tmp_path / "seen.jsonl")] == [5000, 100]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_line_that_was_cut_off_costs_that_line_only(tmp_path, cut):
    path = tmp_path / "seen.jsonl"
    before = Kept(path)
    before.note(reading(0))
    before.note(reading(10))
    path.write_bytes(path.read_bytes()[:-cut])

    Kept(path).note(reading(20))

    # Only the end of the line is missing: what it says is all there.
    expected = [0, 10, 20] if cut == 1 else [0, 20]
    assert [each.at for each in read(path)] == expected


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"null", b'{"at":1e999,"gpus":{},"computer":{}}', b"\xff",
             b'{"at":1,"gpus":{"cards":[3]},"computer":{}}']
)  # fmt: skip
def test_a_line_that_is_no_reading_is_none(line):
    assert from_line(line) is None


def test_what_a_later_version_adds_is_left_out():
    assert from_line(b'{"at":1,"gpus":{"new":1},"computer":{"new":2},"new":3}') == Reading(
        1.0, Gpus(), Computer()
    )


def test_a_long_run_is_kept_whole_in_little_room_the_new_finer_than_the_old(tmp_path):
    path = tmp_path / "seen.jsonl"
    kept = Kept(path, limit_bytes=50_000)

    for at in range(0, 20_000, 10):
        kept.note(reading(at))

    times = [each.at for each in read(path)]
    assert path.stat().st_size <= 50_000 + 1000
    assert times[0] == 0 and times[-1] == 19_990 and times == sorted(times)
    assert times[-1] - times[-2] == 10 and times[1] - times[0] > 100


def test_what_was_seen_last_is_never_thinned(tmp_path):
    path = tmp_path / "seen.jsonl"
    kept = Kept(path, limit_bytes=5000)

    for at in range(0, 1000, 10):
        kept.note(reading(at))
        assert [each.at for each in read(path)][-3:] == [*range(max(0, at - 20), at + 10, 10)]


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_or_a_vanished_folder_is_nobodys_trouble(tmp_path, monkeypatch):
    gone = Kept(tmp_path / "gone" / "seen.jsonl")
    gone.note(reading(0))
    kept = Kept(tmp_path / "seen.jsonl", limit_bytes=10)
    with monkeypatch.context() as broken:
        broken.setattr(Path, "open", full)
        kept.note(reading(0))
    with monkeypatch.context() as broken:
        broken.setattr(files, "_sync", full)
        kept.note(reading(10))

    assert [each.at for each in read(tmp_path / "seen.jsonl")] == [10]
    assert read(tmp_path / "gone" / "seen.jsonl") == []
