"""Tests of voices/speaker/speaker.py, its turns and its child, with a stand-in that needs no torch."""

import gc
import os
import signal
import sys
import threading
import time

import psutil
import pytest

from engines.errors import EngineError, StudioError, TextError
from voices.speaker.speaker import Speaker, TooManyError

STAND_IN = (sys.executable, "-m", "tests.voices.speaker.stand_in")


@pytest.fixture
def speaker(tmp_path):
    with_stand_in = Speaker(tmp_path / "log.txt", most_waiting=2, command=STAND_IN)
    yield with_stand_in
    with_stand_in.close()


@pytest.fixture
def say(speaker, tmp_path):
    return lambda text, **more: speaker.say(tmp_path, {}, text, **more)


def levels(pieces):
    return [round(float(piece.sound.samples[0]) * 10) for piece in pieces if piece.sound]


def soon(is_so, seconds=10.0):
    """Wait until something is so, and return how long it took."""
    begun = time.monotonic()
    while not is_so():
        assert time.monotonic() - begun < seconds
        time.sleep(0.005)
    return time.monotonic() - begun


def test_a_text_comes_as_sentences_and_their_sounds_in_order(say):
    pieces = list(say("3 1 4", seed=5))

    assert levels(pieces) == [3, 1, 4]
    sentences = [piece.sentence for piece in pieces if piece.sentence]
    assert [(each.text, each.seed, each.tries) for each in sentences] == [
        ("3", 5, 1), ("1", 5, 1), ("4", 5, 1)
    ]  # fmt: skip


def test_a_voice_is_opened_ahead_and_the_text_is_said_by_the_same_process(speaker, say, tmp_path):
    (tmp_path / "held").touch()
    speaker.prepare(tmp_path, {})
    assert not (tmp_path / "opened").exists()
    (tmp_path / "held").unlink()
    soon(lambda: (tmp_path / "opened").exists() and not speaker.busy)
    opened = speaker.pid

    assert levels(say("1 2")) == [1, 2]
    assert speaker.pid == opened


def test_nothing_is_opened_ahead_while_a_text_is_said(speaker, say, tmp_path):
    saying = say("1 wait 2")
    next(saying)

    speaker.prepare(tmp_path, {})
    (tmp_path / "go").touch()

    assert levels(saying) == [1, 1, 2]
    assert not (tmp_path / "opened").exists()


def test_a_voice_that_cannot_be_opened_ahead_stands_in_nobodys_way(speaker, say, tmp_path, caplog):
    (tmp_path / "broken").touch()

    speaker.prepare(tmp_path, {})
    soon(lambda: "could not be opened ahead" in caplog.text)

    assert "It is broken." in caplog.text
    assert levels(say("3")) == [3]


def test_the_process_begins_with_the_first_text_and_stays_for_the_next(speaker, say):
    assert speaker.pid is None
    list(say("1"))
    first = speaker.pid
    list(say("2"))

    assert speaker.pid == first


def test_sound_is_there_while_the_rest_is_still_to_be_said(say, tmp_path):
    speech = say("1 wait")

    first = [next(speech), next(speech)]
    (tmp_path / "go").touch()

    assert levels(first) == [1]
    assert levels(speech) == [1]


def test_texts_are_said_one_at_a_time_in_the_order_they_were_asked_for(say, tmp_path):
    speeches, order = [say("wait 1"), say("2"), say("3")], []

    def listen(speech):
        for piece in speech:
            order.extend(levels([piece]))

    threads = [threading.Thread(target=listen, args=(each,)) for each in reversed(speeches)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    (tmp_path / "go").touch()
    for thread in threads:
        thread.join(10)

    assert order == [1, 1, 2, 3]


def test_a_text_that_too_many_are_before_is_refused_at_once(speaker, say):
    speeches = [say("wait"), say("1"), say("1")]

    with pytest.raises(TooManyError, match="2 texts wait"):
        say("1")

    speeches[1].close()
    assert speaker.busy == 2
    say("1").close()


def test_closing_ends_the_speaking_and_lets_the_next_text_be_said(speaker, say):
    speech = say("1 wait 2")
    next(speech)

    speech.close()

    assert list(speech) == []
    assert speaker.busy == 0
    assert levels(say("7")) == [7]


def test_a_text_closed_by_another_thread_ends_for_its_listener_within_a_second(say):
    speech, heard = say("1 wait 2"), []

    def listen():
        for piece in speech:
            heard.extend(levels([piece]))

    listener = threading.Thread(target=listen)
    listener.start()
    soon(lambda: heard)

    closed = time.monotonic()
    speech.close()
    listener.join(5)

    assert time.monotonic() - closed < 1
    assert heard == [1]
    assert levels(say("7")) == [7]


def test_a_text_closed_while_it_waits_leaves_the_line(say):
    first, second = say("1 wait"), say("2")
    listener = threading.Thread(target=lambda: list(second))
    listener.start()

    second.close()
    listener.join(5)

    assert not listener.is_alive()
    first.close()


def test_a_text_that_was_forgotten_does_not_hold_up_the_others(speaker, say):
    speech = say("1 wait 2")
    next(speech)

    del speech
    gc.collect()

    assert speaker.busy == 0
    assert levels(say("7")) == [7]


@pytest.mark.parametrize("word, cause", [("die", "SIGTERM"), ("babble", "SIGKILL")])
def test_a_process_that_dies_is_named_and_started_anew_for_the_next_text(say, word, cause):
    with pytest.raises(EngineError, match=cause) as caught:
        list(say(f"1 {word} 2"))

    assert "started anew" in caught.value.fix
    assert levels(say("7")) == [7]


def test_a_process_that_is_killed_while_it_speaks_ends_the_text_with_a_sentence(speaker, say):
    speech = say("1 wait 2")
    next(speech)

    os.kill(speaker.pid, signal.SIGKILL)

    with pytest.raises(EngineError, match="memory runs out"):
        list(speech)
    assert levels(say("7")) == [7]


def test_a_process_that_cannot_start_says_so(tmp_path):
    speaker = Speaker(tmp_path / "log.txt", command=(str(tmp_path / "nothing"),))

    with pytest.raises(EngineError, match="could not be started"):
        list(speaker.say(tmp_path, {}, "1"))

    assert speaker.busy == 0


def test_why_a_process_ended_is_quoted_from_its_log(tmp_path):
    command = (sys.executable, "-c", "import sys; sys.exit('no torch here')")
    speaker = Speaker(tmp_path / "log.txt", command=command)

    with pytest.raises(EngineError, match="exit code 1") as caught:
        list(speaker.say(tmp_path, {}, "1"))

    assert caught.value.fix.endswith("no torch here")


def test_a_fault_is_the_error_that_it_was_and_the_process_stays(speaker, say):
    list(say("1"))
    before = speaker.pid
    with pytest.raises(TextError, match="nothing in it"):
        list(say("..."))
    with pytest.raises(EngineError, match="It failed"):
        list(say("1 fail"))

    assert levels(say("7")) == [7]
    assert speaker.pid == before


def test_an_idle_process_ends_and_comes_back(tmp_path):
    speaker = Speaker(tmp_path / "log.txt", idle_s=0.4, command=STAND_IN)
    list(speaker.say(tmp_path, {}, "1"))
    before = speaker.pid

    soon(lambda: not psutil.pid_exists(before))

    assert speaker.pid is None
    assert levels(speaker.say(tmp_path, {}, "7")) == [7]
    speaker.close()


def test_a_process_leaves_the_gpu_when_somebody_else_needs_it_and_a_text_is_said_to_its_end(
    tmp_path,
):
    wanted = threading.Event()
    speaker = Speaker(tmp_path / "log.txt", wanted_elsewhere=wanted.is_set, command=STAND_IN)
    speech = speaker.say(tmp_path, {}, "1 wait 2", device="cuda")
    next(speech)

    wanted.set()
    time.sleep(1.5)
    during = speaker.pid
    (tmp_path / "go").touch()

    assert during is not None
    assert levels(speech) == [1, 1, 2]
    soon(lambda: speaker.pid is None)
    list(speaker.say(tmp_path, {}, "1", device="cpu"))
    time.sleep(1.5)
    assert speaker.pid is not None  # on the processor it is in nobody's way
    speaker.close()


def test_another_device_gets_another_process(speaker, say):
    list(say("1", device="cuda"))
    before = speaker.pid

    list(say("1", device="cpu"))

    assert speaker.pid != before
    assert not psutil.pid_exists(before)


def test_after_closing_nothing_is_left_and_nothing_more_is_said(speaker, say):
    speech = say("1 wait")
    next(speech)
    pid = speaker.pid

    speaker.close()

    assert not psutil.pid_exists(pid)
    with pytest.raises(StudioError):
        list(speech)
    with pytest.raises(StudioError, match="Nothing is spoken any more"):
        list(say("1"))


def test_many_texts_leave_nothing_in_memory(say):
    process, text = psutil.Process(), " ".join("5" * 30)  # 290 kB of sound each
    for _ in range(20):
        list(say(text))
    before = process.memory_info().rss

    for _ in range(150):
        list(say(text))

    assert process.memory_info().rss - before < 8e6


def test_a_text_that_is_closed_while_the_process_starts_does_not_hold_up_the_next(
    speaker, say, monkeypatch, tmp_path
):
    begins = speaker.child_for
    first, second = say("1"), say("wait 2")
    heard = []
    listener = threading.Thread(target=lambda: heard.extend(second), daemon=True)

    def closed_meanwhile(device):
        child = begins(device)
        monkeypatch.setattr(speaker, "child_for", begins)
        first.close()
        listener.start()
        time.sleep(0.5)  # the second is asked for by now
        return child

    monkeypatch.setattr(speaker, "child_for", closed_meanwhile)
    list(first)
    (tmp_path / "go").touch()
    listener.join(5)

    assert levels(heard) == [1, 2]
