"""What is sent lies in a folder of its own until it is used, and is never given out again."""

from __future__ import annotations

import errno
import inspect
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from app import places
from app.screen import uploads
from tests.app import asking
from tests.app.safety.judging import check, nothing_changes_outside
from voices import files

EVIL = "http://evil.example"
PLACES = [
    "../../x",
    "..\\x",
    "/abs",
    "C:\\x",
    "a\0b",
    "CON",
    "nul.wav",
    "COM1.mp3",
    "",
    "..",
    "-rf",
    "é" * 200,
]
PLACES += ["录音" * 100 + ".wav", "x" * 5000, "a\r\nSet-Cookie: x=1", "\u202egnp.exe", "x:$DATA"]


def in_uploads(studio):
    return [path for path in studio.desk.uploads.rglob("*") if path.is_file()]


@pytest.fixture
def no_uploads(studio):
    for path in in_uploads(studio):
        path.unlink()
        path.parent.rmdir()


@pytest.mark.parametrize("name", PLACES)
def test_an_upload_lies_in_its_own_folder_whatever_it_is_called(studio, folder, no_uploads, name):
    with nothing_changes_outside(folder):
        answer = studio(f"/timbre/upload?name={quote(name, safe='')}", "PUT", body=b"sound")

    assert answer.status == 200, answer.body
    [path] = in_uploads(studio)
    assert path.parent.name == answer.said["data"]["id"]
    assert path.read_bytes() == b"sound" and len(os.fsencode(path.name)) <= 255
    # Windows would open a device of that name, whatever the ending.
    assert path.stem.partition(".")[0].upper() not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT1"}


def test_an_upload_is_never_given_out_again(studio, no_uploads):
    said = b"<script>alert('canary-upload')</script>"
    upload_id = studio("/timbre/upload?name=x.html", "PUT", body=said).said["data"]["id"]
    [path] = in_uploads(studio)

    targets = [
        f"/timbre/upload/{upload_id}",
        f"/timbre/file/{upload_id}",
        f"/timbre/upload?id={upload_id}",
    ]
    targets += [f"/timbre/assets/../../workspace/cache/uploads/{upload_id}/x.html", str(path)]
    for name, give in places.FILES.items():
        for parameter in [*inspect.signature(give).parameters][1:]:
            targets.append(f"/timbre/file/{name}?{parameter}={upload_id}")

    assert [target for target in targets if said in studio(target).body] == []


def test_an_upload_that_breaks_off_leaves_nothing(studio, no_uploads):
    studio("/timbre/upload?name=x.wav", "PUT", body=b"half", breaks_off=True)

    assert in_uploads(studio) == []
    assert [path for path in studio.desk.uploads.iterdir() if not list(path.iterdir())] == []


@pytest.mark.parametrize("size", [uploads.LONGEST_BYTES + 1, 10**30])
def test_an_upload_that_is_too_large_is_refused_before_it_is_read(studio, no_uploads, size):
    sent = [(b"content-length", str(size).encode())]

    answer = studio("/timbre/upload?name=x.wav", "PUT", headers=sent, body=b"x", breaks_off=True)

    assert answer.status == 400 and answer.said["fix"] and in_uploads(studio) == []


@pytest.mark.parametrize("size", ["9" * 5000, "-1", "0x10", "1e3", "²", "1_000"])
def test_an_odd_length_is_no_fault(studio, no_uploads, size):
    sent = [(b"content-length", size.encode())]

    check(studio("/timbre/upload?name=x.wav", "PUT", headers=sent, body=b"x"), "upload", size)


def test_a_full_disk_is_said_and_leaves_nothing(studio, no_uploads, monkeypatch):
    real = Path.rename

    def full(path, target):
        if path.name == "part":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", full)

    answer = studio("/timbre/upload?name=x.wav", "PUT", body=b"x")

    assert answer.status == 400 and "full" in answer.said["what"] and answer.said["fix"]
    assert in_uploads(studio) == []


def test_an_upload_by_id_is_found_by_no_other_name(studio, no_uploads, canary):
    studio("/timbre/upload?name=x.wav", "PUT", body=b"x")

    for payload in asking.places(canary):
        with pytest.raises(Exception, match="not there any more"):
            uploads.find(studio.desk.uploads, payload)


def test_what_a_door_keeps_out_writes_nothing(studio, no_uploads):
    for origin in (EVIL, "null", "http://127.0.0.1:9999"):
        sent = [(b"origin", origin.encode())]
        assert studio("/timbre/upload?name=x.wav", "PUT", headers=sent, body=b"x").status == 403

    assert in_uploads(studio) == [] and files.leftovers(studio.desk.uploads) == []
