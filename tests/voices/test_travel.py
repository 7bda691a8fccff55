"""Voices out of one library and into another, by one file."""

from __future__ import annotations

import numpy as np
import pytest

from engines.errors import BundleError
from tests import finished
from voices import files, library, travel
from voices.library import Consent
from voices.speaking.narrator import Narrator
from voices.workspace import open_workspace


@pytest.fixture
def two(tmp_path):
    """A library with a voice, and an empty one."""
    one, other = (open_workspace(tmp_path / name / "home") for name in ("one", "far away/other"))
    library.keep(one, finished.voice(tmp_path / "run"), "Ada", Consent("Ada Lovelace", True))
    yield one, other
    one.close()
    other.close()


def test_name_and_consent_travel_and_nothing_is_left_over(two, tmp_path):
    one, other = two
    voice = library.find(one, "Ada")
    library.shelf(one).rename(voice.id, "Ada, calm")

    travel.pack(library.find(one, voice.id), tmp_path / "ada.timbre")
    taken = travel.unpack(other, tmp_path / "ada.timbre")

    assert (taken.name, taken.engine, taken.language) == ("Ada, calm", "pocket", "en")
    assert taken.consent == Consent("Ada Lovelace", True)
    files.check_folder(taken.folder)
    assert not list(one.cache.iterdir())


def test_it_speaks_the_same_there_sample_for_sample(two, tmp_path):
    one, other = two
    here = library.find(one, "Ada")
    travel.pack(here, tmp_path / "ada.timbre")
    there = travel.unpack(other, tmp_path / "ada.timbre")

    for seed in (0, 7):
        said = [
            Narrator(each.folder, each.facts, seed=seed).say("Good morning to you.").sound
            for each in (here, there)
        ]
        assert np.array_equal(said[0].samples, said[1].samples)


def test_the_same_voice_twice_gets_a_number_and_a_wished_name_is_taken(two, tmp_path):
    one, other = two
    travel.pack(library.find(one, "Ada"), tmp_path / "ada.timbre")

    names = [travel.unpack(other, tmp_path / "ada.timbre", name).name for name in ("", "", "Berta")]

    assert names == ["Ada", "Ada (2)", "Berta"]


def test_a_damaged_file_leaves_nothing(two, tmp_path):
    one, other = two
    path = tmp_path / "ada.timbre"
    travel.pack(library.find(one, "Ada"), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    with pytest.raises(BundleError):
        travel.unpack(other, path)

    assert not library.listed(other) and not list(other.voices.iterdir())
