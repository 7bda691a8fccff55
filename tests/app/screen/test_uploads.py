"""What a browser sends is kept whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from app.screen import uploads
from engines.errors import AudioError, DiskFullError, NotFoundError


def sent(folder, name, *chunks, size=None, then=None):
    async def body():
        for chunk in chunks:
            yield chunk
        if then is not None:
            raise then

    return asyncio.run(uploads.receive(folder, name, size, body()))


def test_a_file_is_found_under_its_id_with_its_name(tmp_path):
    upload_id = sent(tmp_path / "up", "day 1/talk é.mp3", b"ab", b"cd", size=4)

    found = uploads.find(tmp_path / "up", upload_id)

    assert found.read_bytes() == b"abcd"
    assert found.name == "talk é.mp3"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..\\..\\win.ini", "/abs", "C:\\x", "a\0b", "", "..", "-rf", "x" * 500],
)
def test_no_name_leads_elsewhere(tmp_path, name):
    upload_id = sent(tmp_path / "up", name, b"x")

    found = uploads.find(tmp_path / "up", upload_id)

    assert found.parent == tmp_path / "up" / upload_id
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [found]


@pytest.mark.parametrize(
    ("fault", "said"),
    [(OSError(errno.ENOSPC, "full"), DiskFullError), (asyncio.CancelledError(), None)],
)
def test_what_breaks_off_leaves_nothing(tmp_path, fault, said):
    with pytest.raises(said or asyncio.CancelledError):
        sent(tmp_path / "up", "a.wav", b"half", then=fault)

    assert list((tmp_path / "up").iterdir()) == []


def test_less_than_was_promised_is_refused(tmp_path):
    with pytest.raises(AudioError, match="broke off"):
        sent(tmp_path / "up", "a.wav", b"half", size=8)

    assert list((tmp_path / "up").iterdir()) == []


def test_more_than_a_recording_may_have_is_refused_before_and_while_it_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "LONGEST_BYTES", 10)

    for size in (11, None):
        with pytest.raises(AudioError, match="may have"):
            sent(tmp_path / "up", "a.wav", b"12345678", b"9abc", size=size)

    assert not (tmp_path / "up").exists() or list((tmp_path / "up").iterdir()) == []


def test_more_than_the_disk_holds_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "_SPARE_BYTES", 10**18)

    with pytest.raises(DiskFullError, match="GB"):
        sent(tmp_path / "up", "a.wav", b"x", size=1)


@pytest.mark.parametrize("upload_id", ["", "..", "../up", "0" * 12, "x/y", "\0"])
def test_only_what_was_sent_is_found(tmp_path, upload_id):
    (tmp_path / "up").mkdir()

    with pytest.raises(NotFoundError):
        uploads.find(tmp_path / "up", upload_id)
    uploads.discard(tmp_path / "up", upload_id)

    assert (tmp_path / "up").is_dir()


def test_what_lies_there_for_a_day_goes_and_the_rest_stays(tmp_path):
    old, new = sent(tmp_path, "a.wav", b"x"), sent(tmp_path, "b.wav", b"x")
    yesterday = time.time() - uploads.KEPT_SECONDS - 1
    os.utime(tmp_path / old, (yesterday, yesterday))

    uploads.sweep(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [new]


def test_what_another_upload_takes_away_meanwhile_is_no_hindrance(tmp_path, monkeypatch):
    sent(tmp_path, "a.wav", b"x")
    there = Path.iterdir

    def taken_away(folder):
        for path in list(there(folder)):
            shutil.rmtree(path)
            yield path

    monkeypatch.setattr(Path, "iterdir", taken_away)

    uploads.sweep(tmp_path)
