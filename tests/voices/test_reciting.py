"""A text that is being said: what was said is kept, also when whoever wrote it down was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engines.base import Sound
from voices import files, reciting, spoken
from voices.reciting import Block, Recital
from voices.speaker.speaker import Piece, Sentence
from voices.spoken import Wish
from voices.workspace import open_workspace

RATE = 16_000
TEXTS = ("One.", "Two.", "Three.", "Four.")


@pytest.fixture
def workspace(tmp_path):
    found = open_workspace(tmp_path / "home")
    yield found
    found.close()


def sound_of(number):
    """Another one for each sentence, of no round length."""
    samples = np.random.default_rng(number).standard_normal(RATE + 1234 * number) / 20
    return samples.astype(np.float32)


class Speech:
    """Says the sentences, a pause before each but the first."""

    def __init__(self, texts=TEXTS):
        self._pieces = self._said(texts)

    def _said(self, texts):
        for number, text in enumerate(texts):
            yield Piece(sentence=Sentence(text, text, 1.0, 7, 1, ()))
            if number:
                yield Piece(sound=Sound(np.zeros(RATE // 4, np.float32), RATE))
            yield Piece(sound=Sound(sound_of(number), RATE))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._pieces)

    def close(self):
        self._pieces.close()


def wish(texts=TEXTS):
    return Wish("ada", "Ada", " ".join(texts))


def say_and_be_killed(root, blocks):
    """Run by another process: it ends without a word after so many blocks of sound."""
    import os

    workspace = open_workspace(Path(root))
    heard = 0
    for piece in Recital(workspace, wish(), Speech()).pieces():
        heard += isinstance(piece, Block)
        if heard == blocks:
            os._exit(9)


def killed_after(workspace, blocks):
    code = "import sys; from tests.voices.test_reciting import say_and_be_killed as say;"
    code += "say(sys.argv[1], int(sys.argv[2]))"
    given = (str(workspace.root), str(blocks))
    ended = subprocess.run([sys.executable, "-c", code, *given], check=False, timeout=60)
    assert ended.returncode == 9


def samples_of(workspace, id):
    return soundfile.read(spoken.sound_of(workspace, id), dtype="int16")[0]


def assert_sounds_as_said(workspace, kept):
    found = samples_of(workspace, kept.id)
    assert len(found) == kept.lines[-1].end
    for number, line in enumerate(kept.lines):
        voice = spoken.in_16_bits(Sound(sound_of(number), RATE))
        assert np.array_equal(found[line.end - len(voice) : line.end], voice)


def test_what_is_said_to_its_end_is_kept_whole(workspace):
    recital = Recital(workspace, wish(), Speech())
    heard = [piece.samples for piece in recital.pieces() if isinstance(piece, Block)]

    [kept] = spoken.all_of(workspace)

    assert kept == recital.kept and kept.whole
    assert [line.text for line in kept.lines] == list(TEXTS)
    assert np.array_equal(samples_of(workspace, kept.id), np.concatenate(heard))


@pytest.mark.parametrize(("blocks", "least"), [(4, 1), (5, 2), (6, 2), (7, 3)])
def test_whole_sentences_are_kept_when_it_is_killed(workspace, blocks, least):

    killed_after(workspace, blocks)

    [kept] = reciting.rescue(workspace)

    said = [line.text for line in kept.lines]
    assert said == list(TEXTS[: len(said)]) and len(said) >= least
    assert not kept.whole and kept.wish == wish()
    assert spoken.all_of(workspace) == [kept]
    assert_sounds_as_said(workspace, kept)


def test_what_was_rescued_is_there_once(workspace):
    killed_after(workspace, 6)
    reciting.rescue(workspace)

    assert reciting.rescue(workspace) == []
    files.sweep(spoken.folder_of(workspace))
    assert len(spoken.all_of(workspace)) == 1


def test_before_the_first_sentence_is_whole_there_is_nothing_to_keep(workspace):
    killed_after(workspace, 1)

    assert reciting.rescue(workspace) == []


def test_what_is_being_said_now_is_left_alone(workspace):
    pieces = Recital(workspace, wish(), Speech()).pieces()
    for _ in range(8):
        next(pieces)

    assert reciting.rescue(workspace) == []
    assert len(list(pieces)) > 0 and spoken.all_of(workspace)[0].whole


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 0.9])
def test_of_a_sound_that_was_cut_off_or_damaged_the_beginning_is_kept(workspace, share):
    killed_after(workspace, 7)
    [left] = files.leftovers(spoken.folder_of(workspace))
    path = left / spoken.SOUND
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))] + b"\0" * 1000)

    kept = reciting.rescue(workspace)

    assert len(kept) == (share > 0.5)
    for each in kept:
        assert_sounds_as_said(workspace, each)


def test_a_leftover_that_tells_nothing_is_no_hindrance(workspace):
    killed_after(workspace, 6)
    [left] = files.leftovers(spoken.folder_of(workspace))
    (left / spoken.FACTS).write_text("{")

    assert reciting.rescue(workspace) == []
