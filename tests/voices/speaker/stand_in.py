"""
A speaker without a voice: `python -m tests.voices.speaker.stand_in`, in place of the real process.

Each word is a sentence: a digit is that many tenths as samples, "wait" goes on when there is a file
`go` in the voice's folder, "die" ends the process, "babble" says what is no message, "fail" is a
fault, and any other word is one tenth. A voice is opened when there is no file `held` in its folder.
"""

import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from engines.base import Sound
from voices.speaker.messages import Message, read, write

RATE, SAMPLES = 24_000, 2_400
LONGEST_WAIT_S = 20


def main():
    wanted, cancelled = queue.SimpleQueue(), set()
    threading.Thread(target=listen, args=(wanted, cancelled), daemon=True).start()
    while True:
        message = wanted.get()
        facts = message.facts
        if message.kind == "open":
            open_voice(facts)
        else:
            say(facts, lambda facts=facts: facts["id"] in cancelled)


def listen(wanted, cancelled):
    while (message := read(sys.stdin.buffer)) is not None:
        if message.kind == "cancel":
            cancelled.add(message.facts["id"])
        else:
            wanted.put(message)
    os._exit(0)


def say(facts, stopped):
    number = facts["id"]
    words = [word for word in facts["text"].split() if any(map(str.isalnum, word))]
    if not words:
        fault(number, "There is nothing in it that can be said.", "TextError")
    for word in words:
        if stopped():
            break
        if word == "fail":
            fault(number, "It failed.", "EngineError")
            return
        act(word, Path(facts["folder"]), stopped)
        sentence = {"text": word, "spoken": word, "seconds": SAMPLES / RATE, "seed": facts["seed"]}
        tell(
            Message("sentence", {"id": number, "sentence": {**sentence, "tries": 1, "faults": []}})
        )
        level = int(word) / 10 if word.isdecimal() and word.isascii() and len(word) == 1 else 0.1
        tell(Message("sound", {"id": number}, Sound(np.full(SAMPLES, level, np.float32), RATE)))
    tell(Message("done", {"id": number}))


def open_voice(facts):
    deadline = time.monotonic() + LONGEST_WAIT_S
    while (Path(facts["folder"]) / "held").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    if (Path(facts["folder"]) / "broken").exists():
        fault(facts["id"], "It is broken.", "EngineError")
    else:
        (Path(facts["folder"]) / "opened").touch()
        tell(Message("done", {"id": facts["id"]}))


def act(word, folder, stopped):
    if word == "die":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    if word == "babble":
        sys.stdout.buffer.write(b"\x00 Loading model...\n")
        sys.stdout.buffer.flush()
    deadline = time.monotonic() + LONGEST_WAIT_S
    while word == "wait" and not stopped() and time.monotonic() < deadline:
        if (folder / "go").exists():
            return
        time.sleep(0.01)


def fault(number, what, error):
    tell(Message("fault", {"id": number, "what": what, "fix": "Change it.", "error": error}))


def tell(message):
    write(sys.stdout.buffer, message)


if __name__ == "__main__":
    main()
