"""Our prompts cover English; anybody's own prompts are read, and what is wrong is said."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from itertools import pairwise

import pytest

from engines.errors import NotFoundError
from finetune.texts.prompts import from_file, languages, own

# The sounds of English as flite names them: the 39 of ARPAbet and the weak vowel ax.
SOUNDS = (
    "aa ae ah ao aw ax ay b ch d dh eh er ey f g hh ih iy jh k l m n ng ow oy p r s sh t th uh uw"
    " v w y z zh"
)


def sounds(texts):
    """What flite says, and how often each sound and each pair of neighbours occurs."""
    alone, pairs = Counter(), Counter()
    for text in texts:
        command = ["flite", "-ps", "-o", "none", "-t", text]
        spoken = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        alone.update(spoken)
        pairs.update(pairwise(spoken))
    return alone, pairs


def test_there_are_200_different_english_prompts_of_4_to_14_words():
    found = own("en")

    assert len(found.prompts) == 200
    assert all(4 <= len(prompt.text.split()) <= 14 for prompt in found.prompts)
    assert not any(any(map(str.isdigit, prompt.text)) for prompt in found.prompts)
    assert sum(prompt.text.endswith("?") for prompt in found.prompts) >= 15
    assert not found.problems
    assert "en" in languages()


@pytest.mark.skipif(not shutil.which("flite"), reason="flite, which knows the sounds, is missing")
def test_every_english_sound_occurs_at_least_ten_times():
    alone, pairs = sounds(prompt.text for prompt in own("en").prompts)

    # flite writes the vowel of "cup" as ah, or as ax where it is weak.
    alone["ah"] = alone["ax"] = alone["ah"] + alone["ax"]
    assert not {sound: alone[sound] for sound in SOUNDS.split(" ") if alone[sound] < 10}
    assert len(pairs) >= 800
    assert sum(count >= 5 for count in pairs.values()) >= 400


def test_a_language_without_prompts_says_how_to_bring_own():
    with pytest.raises(NotFoundError, match="one sentence a line"):
        own("tlh")


def test_own_prompts_keep_their_lines_and_what_is_wrong_is_said(tmp_path):
    path = tmp_path / "prompts.txt"
    long = "слово " * 60
    path.write_bytes(f"# мои\nПривет, мир!\n\n...\nпривет мир\na|b | c\n{long}\n".encode("cp1251"))

    found = from_file(path)

    assert [(each.number, each.text) for each in found.prompts] == [
        (2, "Привет, мир!"),
        (6, "a|b | c"),
        (7, long.strip()),
    ]
    assert [problem.number for problem in found.problems] == [4, 5, 7]
    assert "nothing to say" in found.problems[0].sentence
    assert "the same as line 2" in found.problems[1].sentence
    assert "more than 11 s" in found.problems[2].sentence
