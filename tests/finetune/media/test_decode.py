"""Decoding in a process of its own: limits, stops, kills, and what the process can see and do."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import soundfile

from engines.errors import AudioError, DiskFullError
from finetune.jobs.process import still_there
from finetune.jobs.worker import StopWork
from finetune.media import decode as decoding
from finetune.media.decode import Decoder, Limits, decode
from tests.conftest import ROOT
from tests.finetune.media.making import encode, speech, wav

posix = pytest.mark.skipif(sys.platform == "win32", reason="Signals as Unix has them")
# Repeating whole files of these makes a longer one: minutes of sound in no time.
MINUTES = int(os.environ.get("TIMBRE_LONG_MINUTES", "40"))


def never():
    return False


def ignore(done, total):
    pass


def a_long_file(path, minutes):
    minute = encode(path.with_name("minute"), ("adts", "aac", 16000), speech(60, 16000))
    path.write_bytes(minute.read_bytes() * minutes)
    return path


def the_decoder():
    # Other tests' ended children may wait to be noted; those have no command line any more.
    running = still_there(psutil.Process().children())
    [child] = [each for each in running if "finetune.media" in str(each.cmdline())]
    return child


class OnceReading:
    """Does something to the decoder as soon as it has decoded something."""

    def __init__(self, act):
        self.act, self.at = act, None

    def __call__(self, done, total):
        if done and self.at is None:
            self.at = time.monotonic()
            self.act(the_decoder())


def look_at(source, look):
    """Look at a decoder while it works; then its work is of no more interest."""
    looking = OnceReading(look)
    with pytest.raises(StopWork):
        decode(source, source.with_name("copy.flac"), looking, lambda: looking.at is not None)


def test_a_recording_becomes_a_working_copy(tmp_path):
    source = encode(tmp_path / "voice.m4a", "m4a", speech(3))

    decoded = decode(source, tmp_path / "copy.flac", ignore, never)

    assert (decoded.codec, decoded.rate, decoded.channels) == ("aac", 44100, 1)
    assert soundfile.info(tmp_path / "copy.flac").frames == round(decoded.seconds * 44100)
    assert {path.name for path in tmp_path.iterdir()} == {"voice.m4a", "copy.flac"}


def test_progress_is_told_every_second_and_ends_at_the_whole(tmp_path):
    source, told = a_long_file(tmp_path / "long.aac", 10), []

    decode(
        source,
        tmp_path / "copy.flac",
        lambda done, total: told.append((time.monotonic(), done, total)),
        never,
    )

    times, done, totals = zip(*told, strict=True)
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) < 2
    assert list(done) == sorted(done)
    assert done[-1] == totals[-1] == pytest.approx(600, rel=0.01)
    assert all(total == 0 or total >= now for now, total in zip(done, totals, strict=True))


@pytest.mark.parametrize("old", [None, b"an older copy"])
def test_a_stop_ends_it_within_a_second_and_leaves_what_was_there(old, tmp_path):
    source, target = a_long_file(tmp_path / "long.aac", 60), tmp_path / "copy.flac"
    if old:
        target.write_bytes(old)
    wish = OnceReading(lambda child: None)

    with pytest.raises(StopWork, match=r"long\.aac"):
        decode(source, target, wish, lambda: wish.at is not None)

    assert time.monotonic() - wish.at < 1
    assert (target.read_bytes() if target.exists() else None) == old
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".tmp-")]


def test_a_decoder_that_is_killed_is_a_sentence_and_leaves_no_copy(tmp_path):
    source, target = a_long_file(tmp_path / "long.aac", 60), tmp_path / "copy.flac"

    with pytest.raises(AudioError, match=r"ended from outside|broke off"):
        decode(source, target, OnceReading(lambda child: child.kill()), never)

    assert {path.name for path in tmp_path.iterdir()} == {"long.aac", "minute"}


@posix
def test_a_decoder_that_crashes_says_that_the_file_is_damaged(tmp_path):
    source = a_long_file(tmp_path / "long.aac", 60)

    with pytest.raises(AudioError, match="crashes its decoder"):
        decode(
            source,
            tmp_path / "copy.flac",
            OnceReading(lambda child: child.send_signal(signal.SIGSEGV)),
            never,
        )


@posix
def test_a_decoder_that_hangs_is_ended(tmp_path):
    source = a_long_file(tmp_path / "long.aac", 60)
    hang = OnceReading(lambda child: child.suspend())

    with pytest.raises(AudioError, match="for 1 s nothing came of it"):
        decode(source, tmp_path / "copy.flac", hang, never, Limits(silent_seconds=1))

    assert time.monotonic() - hang.at < 3


def test_a_decoder_that_comes_to_no_end_is_ended(tmp_path):
    source = a_long_file(tmp_path / "long.aac", 60)
    limits = Limits(grace_seconds=0.5, seconds_per_mb=0, seconds_per_second=0)

    with pytest.raises(AudioError, match="without an end"):
        decode(source, tmp_path / "copy.flac", ignore, never, limits)


def test_a_decoder_that_grows_is_ended(tmp_path):
    source = a_long_file(tmp_path / "long.aac", 60)

    with pytest.raises(AudioError, match="more memory"):
        decode(source, tmp_path / "copy.flac", ignore, never, Limits(memory_mb=20))


def test_time_allowed_grows_with_the_file_and_with_what_came_of_it():
    limits = Limits()

    assert limits.seconds(0, 0) == limits.grace_seconds
    assert limits.seconds(10**9, 36000) > limits.seconds(10**6, 36000) > limits.seconds(0, 0)


def test_memory_does_not_grow_with_the_length(tmp_path):
    def peak_mb(minutes):
        seen = [0.0]

        def look(done, total):
            for child in psutil.Process().children():
                try:
                    seen.append(child.memory_info().rss / 2**20)
                except psutil.Error:
                    continue  # it has just finished

        source = a_long_file(tmp_path / f"{minutes}.aac", minutes)
        decode(source, tmp_path / "copy.flac", look, never)
        return max(seen)

    short, long = peak_mb(10), peak_mb(MINUTES)

    assert long - short < 50, (short, long)


@pytest.mark.skipif(sys.platform != "linux", reason="Where the system holds a process to a limit")
def test_what_the_system_allows_a_decoder(tmp_path):
    source, seen = a_long_file(tmp_path / "long.aac", 60), {}

    def look(child):
        import resource

        for name in ("AS", "CORE", "NPROC", "FSIZE"):
            seen[name] = resource.prlimit(child.pid, getattr(resource, f"RLIMIT_{name}"))[0]
        seen["threads"] = child.num_threads()
        seen["children"] = child.children()

    look_at(source, look)

    assert seen["AS"] < 2 << 30 and seen["CORE"] == 0 and seen["NPROC"] == 0
    assert seen["FSIZE"] < 20e9 and seen["threads"] == 2 and seen["children"] == []


def test_a_decoder_sees_no_token(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_canary")
    source, seen = a_long_file(tmp_path / "long.aac", 60), []

    look_at(source, lambda child: seen.append(child.environ()))

    assert "hf_canary" not in str(seen)
    assert "PATH" in seen[0]


def test_a_decoder_ends_with_whoever_started_it(tmp_path):
    source = a_long_file(tmp_path / "long.aac", 240)
    code = f"""if True:
        import psutil
        from pathlib import Path
        from finetune.media.decode import decode
        told = []
        def tell(done, total):
            if done and not told:
                told.append(done)
                print(psutil.Process().children()[0].pid, flush=True)
        decode(Path({str(source)!r}), Path({str(tmp_path / "copy.flac")!r}), tell, lambda: False)"""
    starter = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    child = psutil.Process(int(starter.stdout.readline()))

    starter.kill()
    starter.wait()
    starter.stdout.close()

    psutil.wait_procs([child], timeout=5)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_full_disk_is_named_and_no_fault_of_the_recording(tmp_path, monkeypatch):
    refused = json.dumps({"kind": "Refused", "what": "x", "fix": "y", "disk_full": True})
    code = f"import sys; sys.stdin.readline(); print({refused!r}, flush=True); sys.stdin.read()"
    monkeypatch.setattr(decoding, "_COMMAND", [sys.executable, "-c", code])

    with pytest.raises(DiskFullError):
        decode(wav(tmp_path / "a.wav", speech()), tmp_path / "copy.flac", ignore, never)

    assert {path.name for path in tmp_path.iterdir()} == {"a.wav"}


def test_what_a_library_prints_is_no_answer(tmp_path):
    """And neither is half a line, all that a killed decoder may have written."""
    from finetune.media.decoded import from_line

    for line in (b"", b"hello\n", b'{"kind": "Decoded", "seco', b"[1]", b"null", b'{"kind": []}'):
        assert from_line(line) is None


def test_one_decoder_after_a_refusal_takes_the_next_file(tmp_path):
    (tmp_path / "bad.wav").write_bytes(b"")
    good = wav(tmp_path / "good.wav", speech())

    with Decoder(Limits()) as decoder:
        with pytest.raises(AudioError):
            decoder.decode(tmp_path / "bad.wav", tmp_path / "copy.flac", ignore, never)
        decoded = decoder.decode(good, tmp_path / "copy.flac", ignore, never)

    assert decoded.seconds == 1


def test_the_studio_loads_neither_ffmpeg_nor_numpy_for_it():
    code = """if True:
        import sys
        from finetune.media import decode, original, reading, verdict
        print({"av", "numpy", "soundfile", "soxr"} & set(sys.modules))"""

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout.strip() == "set()", done.stderr
