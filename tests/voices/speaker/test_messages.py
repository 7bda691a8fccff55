"""Tests of voices/speaker/messages.py."""

import io
import random

import numpy as np
import pytest

from engines.base import Sound
from voices.speaker.messages import LONGEST_LINE, MOST_SOUND, Message, TornError, packed, read


def through(content):
    return read(io.BytesIO(content))


def test_what_is_said_arrives_as_it_was():
    samples = np.array([0.1, -1, np.float32(1e-30)], np.float32)
    said = Message("sound", {"id": 7, "text": "Größe\n\ud800"}, Sound(samples, 22_050))

    heard = through(packed(said))

    assert (heard.kind, heard.facts, heard.sound.rate) == (said.kind, said.facts, 22_050)
    assert heard.sound.samples.tobytes() == samples.tobytes()


def test_messages_follow_each_other_and_the_end_is_no_message():
    pipe = io.BytesIO(
        packed(Message("sound", {}, Sound(np.zeros(3, np.float32), 8000)))
        + packed(Message("done", {"id": 1}))
    )

    heard = [read(pipe), read(pipe), read(pipe)]

    assert [each and each.kind for each in heard] == ["sound", "done", None]


def test_sound_that_comes_in_pieces_is_put_together():
    class Dripping(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 5))

    samples = np.arange(100, dtype=np.float32)

    heard = read(Dripping(packed(Message("sound", {}, Sound(samples, 8000)))))

    assert heard.sound.samples.tolist() == samples.tolist()


@pytest.mark.parametrize(
    "content",
    [
        b"Loading the model\n", b"[1]\n", b"3\n", b"{}\n", b'{"kind":1}\n', b"\xff\xfe\n", b"[" * 90_000 + b"\n",
        b'{"kind":"sound"}',
        b'{"kind":"sound","rate":8000,"bytes":8}\n1234',
        b'{"kind":"sound","rate":8000,"bytes":3}\n123',
        b'{"kind":"sound","rate":8000,"bytes":-4}\n1234',
        b'{"kind":"sound","rate":8000,"bytes":true}\n1234',
        b'{"kind":"sound","rate":8000,"bytes":4.0}\n1234',
        b'{"kind":"sound","rate":0,"bytes":4}\n1234',
        b'{"kind":"sound","bytes":4}\n1234',
        b'{"kind":"sound","rate":8000,"bytes":%d}\n1234' % (MOST_SOUND + 4),
        b"{" + b" " * LONGEST_LINE + b"}\n",
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(content):
    with pytest.raises(TornError):
        through(content)


def test_a_message_cut_off_anywhere_is_refused():
    whole = packed(Message("sound", {"id": 1}, Sound(np.ones(9, np.float32), 8000)))

    for length in range(1, len(whole)):
        with pytest.raises(TornError):
            through(whole[:length])


def test_a_damaged_message_is_heard_or_refused_and_nothing_else():
    chance = random.Random(7)
    whole = packed(Message("sound", {"id": 1}, Sound(np.ones(9, np.float32), 8000)))
    refused = 0
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            through(bytes(damaged))
        except TornError:
            refused += 1

    assert refused > 500
