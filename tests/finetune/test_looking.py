"""What takes long is looked for beside the page; the newest answer stays."""

from __future__ import annotations

import threading
import time

from finetune.looking import Looking


def wait(looking):
    deadline = time.monotonic() + 5
    while looking.known().busy:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return looking.known()


def test_who_asks_does_not_wait_and_sees_the_answer_later():
    free = threading.Event()
    looking = Looking(lambda: free.wait(5) and "found", "it")

    looking.begin()
    assert looking.known().busy and looking.known().found is None
    free.set()

    assert wait(looking).found == "found"


def test_what_is_asked_while_looking_is_looked_for_once_more():
    free, looked = threading.Event(), []
    looking = Looking(lambda: (free.wait(5) and looked.append(1)) or len(looked), "it")

    for _ in range(5):
        looking.begin()
    free.set()

    assert wait(looking).found == 2


def test_the_last_answer_stays_while_a_newer_one_fails_and_says_why():
    answers = iter([lambda: "good", lambda: 1 / 0])
    looking = Looking(lambda: next(answers)(), "it")
    looking.begin()
    wait(looking)

    looking.begin()

    known = wait(looking)
    assert (known.found, known.problem) == ("good", "ZeroDivisionError: division by zero")


def test_an_answer_is_looked_for_again_when_it_is_old():
    looked = []
    looking = Looking(lambda: looked.append(1), "it")
    looking.refresh(60)
    wait(looking)

    looking.refresh(60)
    wait(looking)
    looking.refresh(-1)
    wait(looking)

    assert len(looked) == 2
