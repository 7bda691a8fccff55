"""A voice travels: the same on the other side, and nothing hostile comes in."""

from __future__ import annotations

import json
import pickle
import random
import time
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from safetensors.numpy import load

from engines.errors import (
    BundleError,
    DamagedFolderError,
    DiskFullError,
    NotFoundError,
    StudioError,
)
from tests.faults import (
    Scenario,
    acknowledge,
    assert_told,
    enumerate_faults,
    enumerate_power_loss,
    needs_linux,
)
from tests.voices.hostile import HOSTILE, Trap
from tests.voices.hostile_contents import flac_blocks, tensor, tensors
from tests.voices.packed import FACTS, a_voice, flac, good, random_voice, raws, zipped
from voices import bundle, bundle_zip, files

MOST_SECONDS = 2.0
MOST_MEMORY_MB = 100


def plenty(folder):
    return 10**12


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def voice(tmp_path):
    return a_voice(tmp_path / "voice", **{"sample.flac": flac(0.1)})


# -- There and back ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(50))
def test_a_voice_is_the_same_on_the_other_side_and_packs_into_the_same_bytes(tmp_path, seed):
    voice, packed, there = random_voice(tmp_path / "a", seed), tmp_path / "a.timbre", tmp_path / "b"

    told = bundle.write_bundle(voice, packed)
    assert bundle.read_bundle(packed, there, plenty) == told
    bundle.write_bundle(there, tmp_path / "again.timbre")

    assert contents(there) == contents(voice)
    assert (tmp_path / "again.timbre").read_bytes() == packed.read_bytes()
    files.check_folder(there)


def test_a_voice_packed_by_hand_has_the_same_bytes(tmp_path):
    engine = {"model.safetensors": good()["engine/model.safetensors"], "pocket.json": b'{"v": 1}'}

    bundle.write_bundle(a_voice(tmp_path / "voice", engine=engine), tmp_path / "a.timbre")

    assert (tmp_path / "a.timbre").read_bytes() == zipped(raws(good()))


def test_any_program_can_open_a_packed_voice(voice, tmp_path):
    bundle.write_bundle(voice, tmp_path / "a.timbre")

    with zipfile.ZipFile(tmp_path / "a.timbre") as packed:
        assert packed.testzip() is None
        assert packed.namelist()[0] == "manifest.json"
        inside = {name: packed.read(name) for name in packed.namelist()[1:]}
    expected = contents(voice)
    del expected["manifest.json"]
    assert inside == expected


def test_a_packed_voice_tells_its_name_licence_and_consent_before_it_is_taken_in(voice, tmp_path):
    bundle.write_bundle(voice, tmp_path / "a.timbre")

    told = bundle.look(tmp_path / "a.timbre")

    assert told.told() == {name: FACTS[name] for name in told.told()}
    assert [member.name for member in told.members][:3] == [
        *("voice.json", "reference.flac", "sample.flac"),
    ]


def test_a_voice_of_more_than_four_gigabytes_is_listed_as_any_program_lists_it(tmp_path):
    parts = bundle_zip.in_order([("a", 5, 1), ("b", 2**32 + 7, 2), ("c", 3, 3)])
    path = tmp_path / "large.zip"
    with path.open("wb") as file:  # a file with holes: nothing of the size is on the disk
        for part in parts:
            file.seek(part.at)
            file.write(bundle_zip.head(part))
        file.seek(parts[-1].end)
        file.write(bundle_zip.tail(parts))

    with path.open("rb") as file:
        found = bundle_zip.read_parts(file)
    with zipfile.ZipFile(path) as opened:
        listed = [(each.filename, each.file_size, each.CRC) for each in opened.infolist()]

    assert found == parts
    assert listed == [(part.name, part.size, part.crc) for part in parts]


# -- What goes out -----------------------------------------------------------------------------


def test_a_voice_with_pickles_travels_only_with_weights_in_another_form(tmp_path):
    voice = a_voice(tmp_path / "voice", engine={"model.pth": b"\x80\x04.", "config.json": b"{}"})
    safe = tmp_path / "safe"
    safe.mkdir()
    (safe / "model.safetensors").write_bytes(tensors({"a": tensor()}))

    with pytest.raises(BundleError, match=r"model\.pth, which may run code") as caught:
        bundle.write_bundle(voice, tmp_path / "a.timbre")
    bundle.write_bundle(voice, tmp_path / "a.timbre", safe)
    told = bundle.read_bundle(tmp_path / "a.timbre", tmp_path / "there", plenty)

    assert "safetensors" in caught.value.fix
    assert [m.name for m in told.members if "engine" in m.name] == ["engine/model.safetensors"]
    assert load((tmp_path / "there/engine/model.safetensors").read_bytes())["a"].shape == (2,)


def test_nothing_but_the_voice_travels(tmp_path):
    others = {"clips/0001.flac": flac(), "notes.md": b"mine", "reference-2.flac": flac()}
    voice = a_voice(tmp_path / "voice", **others)

    bundle.write_bundle(voice, tmp_path / "a.timbre")

    assert {m.name for m in bundle.look(tmp_path / "a.timbre").members} == set(good())


def test_paths_and_the_user_are_left_out_of_the_facts(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/annamaria"))
    why = {
        "why": "Best of /home/annamaria/runs/step 3.pt",
        "by": "annamaria",
        "at": "runs/annamaria/x",
    }
    away = {"base": "C:\\Users\\Anna Smith\\base.pth", "deep": [{"log": "~/runs/log.txt"}]}
    voice = a_voice(tmp_path / "voice", {**FACTS, **why, **away, "name": "annamaria"})

    bundle.write_bundle(voice, tmp_path / "a.timbre")
    bundle.read_bundle(tmp_path / "a.timbre", tmp_path / "there", plenty)

    facts = json.loads((tmp_path / "there/voice.json").read_bytes())
    assert facts == {
        **{**FACTS, "name": "annamaria"},
        **{"why": "Best of step 3.pt", "by": "", "at": "x"},
        **{"base": "base.pth", "deep": [{"log": "log.txt"}]},
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("engine/config.json", b'{"base": "/home/annamaria/base"}'),
        ("engine/config.json", b'{"base": "runs/annamaria/base"}'),
        ("engine/vocab.txt", b"a\nannamaria/b"),
        ("engine/w.safetensors", tensors({"__metadata__": {"a": "annamaria/b"}, "w": tensor()})),
        ("sample.flac", flac_blocks((4, b"\0\0\0\0\1\0\0\0\x0d\0\0\0A=annamaria/b"))),
    ],
)
def test_what_is_not_to_be_changed_is_refused_where_it_names_the_user(
    tmp_path, monkeypatch, name, content
):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/annamaria"))
    voice = a_voice(tmp_path / "voice", **{name: content})

    with pytest.raises(BundleError, match=r"names a place on somebody's computer") as caught:
        bundle.write_bundle(voice, tmp_path / "a.timbre")

    assert "pack it again" in caught.value.fix
    assert not (tmp_path / "a.timbre").exists()


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"engine/run.py": b""}, "a kind of file that no voice needs"),
        ({"engine/é.json": b"{}"}, "not every system can write"),
        ({"engine/con.json": b"{}"}, "a device on Windows"),
        ({"reference.flac": b"RIFF"}, "no sound as Timbre"),
        ({"engine/a.json": b"{"}, "no JSON"),
        ({"voice.json": b"[]"}, "not what Timbre writes"),
        ({"voice.json": json.dumps({**FACTS, "engine": "?"}).encode()}, "no engine called"),
        ({"voice.json": json.dumps({**FACTS, "licence": "MIT"}).encode()}, "in another way"),
    ],
)
def test_what_nobody_could_take_in_is_not_packed(tmp_path, others, said):
    voice = a_voice(tmp_path / "voice", **others)

    with pytest.raises(BundleError, match=said) as caught:
        bundle.write_bundle(voice, tmp_path / "a.timbre")

    assert "pack it again" in caught.value.fix
    assert [path.name for path in tmp_path.iterdir()] == ["voice"]


def test_a_link_in_a_voice_is_not_followed(tmp_path):
    (tmp_path / "secret.txt").write_text("mine")
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "vocab.txt").symlink_to(tmp_path / "secret.txt")

    with pytest.raises(BundleError, match="is a link"):
        bundle.write_bundle(a_voice(tmp_path / "voice"), tmp_path / "a.timbre", engine)


@pytest.mark.parametrize(
    ("name", "change"), [("reference.flac", lambda _: flac(seed=9)), ("voice.json", bytes.upper)]
)
def test_a_damaged_voice_is_not_packed(voice, tmp_path, name, change):
    (voice / name).write_bytes(change((voice / name).read_bytes()))

    with pytest.raises(DamagedFolderError, match=f"{name} is not what was saved"):
        bundle.write_bundle(voice, tmp_path / "a.timbre", facts=json.dumps(FACTS).encode())


def test_every_byte_is_told_when_it_is_looked_at_and_when_it_is_written(voice, tmp_path):
    counts = []

    told = bundle.write_bundle(voice, tmp_path / "a.timbre", told=counts.append)

    assert sum(counts) == 2 * sum(member.size for member in told.members)


def test_who_is_told_can_end_it_and_nothing_is_left(voice, tmp_path):
    def end(count):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        bundle.write_bundle(voice, tmp_path / "a.timbre", told=end)

    assert [each.name for each in tmp_path.iterdir()] == ["voice"]


def test_no_file_is_replaced_by_a_packed_voice(voice, tmp_path):
    (tmp_path / "a.timbre").write_text("mine")

    with pytest.raises(BundleError, match="there already"):
        bundle.write_bundle(voice, tmp_path / "a.timbre")

    assert (tmp_path / "a.timbre").read_text() == "mine"


# -- What comes in -----------------------------------------------------------------------------


@pytest.fixture
def packed(voice, tmp_path):
    bundle.write_bundle(voice, tmp_path / "a.timbre")
    return tmp_path / "a.timbre"


def test_two_gigabytes_stay_free(packed, voice, tmp_path):
    size = bundle.look(packed).size

    with pytest.raises(DiskFullError, match=r"2 GB stays free") as caught:
        bundle.read_bundle(packed, tmp_path / "there", lambda folder: 2 * 10**9 + size - 1)
    assert not (tmp_path / "there").exists()
    bundle.read_bundle(packed, tmp_path / "there", lambda folder: 2 * 10**9 + size)

    assert "Free some space" in caught.value.fix
    assert contents(tmp_path / "there") == contents(voice)


def test_a_voice_that_is_there_is_not_replaced(packed, voice, tmp_path):
    before = contents(tmp_path)

    with pytest.raises(BundleError, match="there already"):
        bundle.read_bundle(packed, voice, plenty)

    assert contents(tmp_path) == before


def test_a_file_or_a_folder_that_is_not_there_is_said(packed, tmp_path):
    with pytest.raises(NotFoundError, match=r"no file b\.timbre"):
        bundle.read_bundle(tmp_path / "b.timbre", tmp_path / "there", plenty)
    with pytest.raises(NotFoundError, match=r"no file voice"):
        bundle.read_bundle(tmp_path / "voice", tmp_path / "there", plenty)
    with pytest.raises(NotFoundError, match="no folder"):
        bundle.write_bundle(tmp_path / "voice", tmp_path / "no" / "b.timbre")
    with pytest.raises(NotFoundError, match="no folder"):
        bundle.read_bundle(packed, tmp_path / "no" / "there", plenty)


def refused(path: Path, target: Path) -> StudioError:
    with pytest.raises(StudioError) as caught:
        bundle.read_bundle(path, target, plenty)
    return caught.value


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence_and_leaves_nothing(name, tmp_path, monkeypatch):
    began = []
    new_folder = files.new_folder
    monkeypatch.setattr(files, "new_folder", lambda path: began.append(path) or new_folder(path))
    for folder in ("inbox", "voices", "elsewhere"):
        (tmp_path / folder).mkdir()
    trap = Trap(tmp_path / "elsewhere", tmp_path / "canary")
    path = tmp_path / "inbox" / "a.timbre"
    path.write_bytes(HOSTILE[name].make(trap))
    before = {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*") if each.is_file()}

    start = time.perf_counter()
    error = refused(path, tmp_path / "voices" / "there")
    seconds = time.perf_counter() - start

    assert isinstance(error, BundleError)
    assert HOSTILE[name].said in error.what
    assert error.what.isprintable() and error.what.endswith(".") and len(error.what) < 400
    assert error.fix
    after = {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*") if each.is_file()}
    assert after == before
    assert list((tmp_path / "voices").iterdir()) == []
    assert bool(began) == HOSTILE[name].writes
    assert seconds < MOST_SECONDS


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_takes_little_memory(name, tmp_path):
    path = tmp_path / "a.timbre"
    path.write_bytes(HOSTILE[name].make(Trap(tmp_path, tmp_path / "canary")))

    tracemalloc.start()
    try:
        with suppress(StudioError):
            bundle.read_bundle(path, tmp_path / "there", plenty)
        peak_mb = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()

    assert peak_mb < MOST_MEMORY_MB


def test_the_canary_would_be_seen_if_a_pickle_ran(tmp_path):
    trap = Trap(tmp_path, tmp_path / "canary")

    pickle.loads(pickle.dumps(trap))

    assert trap.canary.exists()


def test_there_are_many_hostile_files_and_the_good_one_beside_them_is_taken(tmp_path):
    (tmp_path / "a.timbre").write_bytes(zipped(raws(good())))

    bundle.read_bundle(tmp_path / "a.timbre", tmp_path / "there", plenty)

    assert len(HOSTILE) >= 40
    assert contents(tmp_path / "there").keys() == {"manifest.json", *good()}


def test_no_single_byte_can_be_changed(tmp_path):
    whole = zipped(raws(good()))
    path, target = tmp_path / "a.timbre", tmp_path / "there"

    for at in range(0, len(whole), 23):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        refused(path, target)

    assert [each.name for each in tmp_path.iterdir()] == ["a.timbre"]


def test_members_of_nonsense_with_right_sums_are_refused_or_harmless(tmp_path):
    chance, members = random.Random(7), good(**{"engine/vocab.txt": b"a\nb\n"})
    path, target, refusals = tmp_path / "a.timbre", tmp_path / "there", 0

    for _ in range(300):
        name = chance.choice(list(members))
        content = bytearray(members[name])
        for _ in range(chance.randint(1, 5)):
            content[chance.randrange(min(len(content), 200))] = chance.randrange(256)
        path.write_bytes(zipped(raws({**members, name: bytes(content)})))
        try:
            bundle.read_bundle(path, target, plenty)
        except BundleError:
            refusals += 1
        else:
            files.remove_folder(target)
        assert [each.name for each in tmp_path.iterdir()] == ["a.timbre"]

    assert refusals > 200


# -- A disk that fails -------------------------------------------------------------------------


class TakeIn(Scenario):
    """Wherever the disk fails, the voice is there whole or not at all, and can be taken in again."""

    def prepare(self, folder: Path) -> None:
        (folder / "a.timbre").write_bytes(zipped(raws(good())))
        (folder / "voices").mkdir()

    def act(self, folder: Path) -> None:
        bundle.read_bundle(folder / "a.timbre", folder / "voices" / "there", plenty)
        acknowledge("taken in")

    def check(self, folder: Path, outcome) -> None:
        assert_told(outcome)
        if outcome.kind == "raised" and outcome.was_full:
            assert outcome.is_a("DiskFullError")
        there = folder / "voices" / "there"
        files.sweep(folder / "voices")
        assert there.exists() or not outcome.acknowledged
        if not there.exists():
            self.act_again(folder)
        files.check_folder(there)
        assert contents(there).keys() == {"manifest.json", *good()}
        assert [each.name for each in (folder / "voices").iterdir()] == ["there"]

    def act_again(self, folder: Path) -> None:
        bundle.read_bundle(folder / "a.timbre", folder / "voices" / "there", plenty)


class PackUp(Scenario):
    """Wherever the disk fails, the file is there whole or not at all, and can be packed again."""

    def prepare(self, folder: Path) -> None:
        a_voice(folder / "voice")

    def act(self, folder: Path) -> None:
        bundle.write_bundle(folder / "voice", folder / "a.timbre")
        acknowledge("packed")

    def check(self, folder: Path, outcome) -> None:
        assert_told(outcome)
        if outcome.kind == "raised" and outcome.was_full:
            assert outcome.is_a("DiskFullError")
        files.sweep(folder)
        packed = folder / "a.timbre"
        assert packed.exists() or not outcome.acknowledged
        if not packed.exists():
            bundle.write_bundle(folder / "voice", packed)
        assert bundle.look(packed).name == FACTS["name"]
        assert sorted(each.name for each in folder.iterdir()) == ["a.timbre", "voice"]


@needs_linux
@pytest.mark.parametrize("scenario", [TakeIn, PackUp])
def test_wherever_the_disk_fails_a_voice_is_whole_or_not_there(scenario, tmp_path):
    enumerate_faults(scenario, tmp_path)


@needs_linux
@pytest.mark.parametrize("scenario", [TakeIn, PackUp])
def test_whenever_the_power_goes_a_voice_is_whole_or_not_there(scenario, tmp_path):
    enumerate_power_loss(scenario, tmp_path)
