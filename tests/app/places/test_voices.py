"""Voices, as the page asks for them: kept, spoken with, compared, sent and taken in."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.places import comparing, kept, speaking, voices
from app.screen.calls import as_json
from app.screen.desk import Desk
from engines.base import Sound
from engines.errors import (
    AudioError,
    BundleError,
    EngineError,
    NameProblem,
    NotFoundError,
    SettingsError,
)
from finetune import adopted_voices, packed_voices, runs, samples, voice_export
from finetune.jobs import queue
from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import Job
from finetune.runs import Plan
from tests import finished
from voices import adopting, files, library, pictures, speak_settings, spoken
from voices.library import Consent
from voices.speaker.speaker import Piece, Sentence
from voices.speaking.text import sentences
from voices.workspace import open_workspace

RATE = 16_000
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def desk(tmp_path):
    workspace = open_workspace(tmp_path / "home")
    yield Desk(workspace, None, None)
    workspace.close()


@pytest.fixture
def voice(desk, tmp_path):
    """A voice with everything but weights that speak."""
    with files.new_folder(tmp_path / "made") as new:
        (new / "engine").mkdir()
        (new / "engine" / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
        for name, pitch in (("reference.flac", 110), ("sample.flac", 120)):
            soundfile.write(new / name, tone(pitch, 1.5), RATE)
        files.write_json(
            new / "voice.json",
            {
                **{"name": "Ada", "engine": "pocket", "language": "en"},
                "scores": {"similarity": 0.93, "character_errors": 0.01},
                **{"sample_text": "Good morning.", "sample_similarity": 0.91},
                "reference_text": "It rains.",
            },
        )
    return library.keep(desk.workspace, tmp_path / "made", "Ada", Consent("Ada L.", True))


def tone(pitch, seconds, rate=RATE):
    at = np.arange(round(seconds * rate)) / rate
    swings = sum(np.sin(2 * np.pi * pitch * part * at) / part for part in range(1, 6))
    return (0.2 * swings * (1 + np.sin(2 * np.pi * 4 * at)) / 2).astype(np.float32)


class Speaker:
    """Says each sentence as a tone whose pitch is its seed; of "Wrong." it says that it is."""

    pid = None

    def __init__(self, dies=False):
        self.wishes, self.opened, self.closed, self._dies = [], [], False, dies

    def prepare(self, folder, facts, language, device):
        self.opened.append((folder, facts["engine"], language))

    def say(self, folder, facts, text, language, seed, manners, device, pace):
        self.wishes.append((text, language, seed, manners, pace))
        self.closed = False
        return Speech(self._pieces(text, language or "en", seed), self)

    def _pieces(self, text, language, seed):
        for number, each in enumerate(sentences(text, language, 200)):
            if self._dies and number:
                raise EngineError("It has ended.", "Try again.")
            faults = ("It is noise.",) if "Wrong" in each.text else ()
            yield Piece(sentence=Sentence(each.text, each.spoken, 0.5, seed, 1, faults))
            if number:
                yield Piece(sound=Sound(np.zeros(RATE // 4, np.float32), RATE))
            yield Piece(sound=Sound(tone(100 + seed % 50 + number, 0.5), RATE))


class Speech:
    def __init__(self, pieces, speaker):
        self._pieces, self._speaker = pieces, speaker

    def __iter__(self):
        return self

    def __next__(self):
        if self._speaker.closed:
            raise StopIteration
        return next(self._pieces)

    def close(self):
        self._speaker.closed = True


@pytest.fixture
def speaker(desk):
    made = Speaker()
    object.__setattr__(desk, "speaker", made)
    return made


def heard(streamed):
    """What a page is told, each piece with its samples."""
    stream = io.BytesIO(b"".join(streamed.blocks))
    found = []
    while line := stream.readline():
        said = json.loads(line)
        if "bytes" in said:
            said["samples"] = np.frombuffer(stream.read(said["bytes"]), "<i2")
        found.append(said)
    return found


def samples_in(served):
    content = served.content
    return soundfile.read(io.BytesIO(content) if isinstance(content, bytes) else content)[0]


# ---- The library ----


def test_voices_are_found_by_words_and_by_a_tag(desk, voice):
    voices.tag(desk, voice.id, ["calm", "story"], [])

    assert [each["name"] for each in voices.shown(desk, "pocket ada", "Calm")["voices"]] == ["Ada"]
    assert voices.shown(desk, "", "loud")["voices"] == []
    assert voices.shown(desk, "nobody")["count"] == 1
    assert voices.shown(desk)["tags"] == ["calm", "story"]


def test_a_voice_tells_what_it_is_and_what_its_scores_mean(desk, voice):
    told = voices.one(desk, voice.id)

    assert (told["title"], told["language"], told["whose"]) == ("Pocket", "en", "Ada L.")
    assert [(each.name, each.meaning) for each in told["figures"]] == [
        ("Likeness", "sounds like the same person"),
        ("Misheard", "every word is understood"),
    ]
    assert [(each["kind"], each["form"]) for each in voices.packings(desk, voice.id)] == [
        ("timbre", ""),
        ("zip", ""),
        ("zip", "piper"),
    ]


def test_a_voice_of_a_stranger_can_be_shown_whatever_stands_in_it(desk, voice):
    written = json.loads((voice.folder / "voice.json").read_bytes())
    for field in (*written, "licence", "from", "settings", "why", "made"):
        for odd in (None, True, 7, "x", [], [[{}]], {"similarity": "x"}, {"run": [1]}):
            files.write_json(voice.folder / "voice.json", {**written, field: odd})

            as_json(voices.shown(desk))
            as_json(voices.one(desk, voice.id))
            as_json(comparing.heard(desk, voice=voice.id))
            as_json(speaking.settings(desk, voice.id))


def test_a_voice_goes_into_the_trash_and_comes_back(desk, voice):
    voices.trash(desk, voice.id)
    away = voices.shown(desk)

    voices.restore(desk, voice.id)

    assert (away["voices"], [each["id"] for each in away["trashed"]]) == ([], [voice.id])
    assert [each["id"] for each in voices.shown(desk)["voices"]] == [voice.id]


@pytest.mark.parametrize("content", [b"<svg/>", b"GIF89a", b"", PNG + bytes(pictures.MOST_BYTES)])
def test_what_is_no_small_picture_is_refused_and_the_old_one_stays(desk, voice, content):
    pictures.keep(voice.folder, PNG)
    path = sent(desk, "x.png", content)

    with pytest.raises(NameProblem):
        voices.picture(desk, voice.id, path)

    assert voices.portrait(desk, voice.id).content.read_bytes() == PNG


def test_another_picture_takes_the_place_of_the_first(desk, voice):
    pictures.keep(voice.folder, PNG)
    jpeg = b"\xff\xd8\xff" + bytes(9)

    voices.picture(desk, voice.id, sent(desk, "portrait", jpeg))

    served = voices.portrait(desk, voice.id)
    assert (served.kind, served.content.read_bytes()) == ("image/jpeg", jpeg)
    assert [path.name for path in voice.folder.glob("picture*")] == ["picture.jpg"]


def sent(desk, name, content):
    """What a browser has sent."""
    place = desk.uploads / "abcdefabcdef"
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(content)
    return place.name


# ---- In and out ----


@pytest.fixture
def waiting(monkeypatch):
    """Jobs are queued, and none is started."""
    monkeypatch.setattr(queue, "advance", lambda workspace: None)


def pack(desk, voice, kind, form=""):
    """Have a voice packed as a job does it, and give the file that is served."""
    asked = voices.pack(desk, voice.id, kind, form)["job"]
    job = queue.find(desk.workspace, asked)
    packed_voices.work(Job(JobFolder(job.folder.path)), packed_voices.read_wish(wish_of(job)))
    [there] = [
        each["packed"]
        for each in voices.packings(desk, voice.id)
        if (each["kind"], each["form"]) == (kind, form)
    ]
    return voices.packed(desk, voice.id, there["id"])


def wish_of(job):
    return Path(job.request.argv[-1])


def test_a_voice_travels_with_its_consent_and_without_its_picture(desk, tmp_path, waiting):
    made = finished.voice(tmp_path / "made", scores={})
    voice = library.keep(desk.workspace, made, "Ada", Consent("Ada L.", True))
    pictures.keep(voice.folder, PNG)

    served = pack(desk, voice, "timbre")
    upload = sent(desk, "ada.timbre", served.content.read_bytes())
    there = voices.take_in(desk, upload=upload)["voice"]

    assert served.download == "Ada.timbre"
    assert (there["name"], there["whose"], there["agreed"]) == ("Ada (2)", "Ada L.", True)
    assert there["picture"] is None
    assert not list(desk.uploads.iterdir())


def test_a_voice_is_packed_once_and_the_page_sees_how_that_stands(desk, voice, waiting):
    job = voices.pack(desk, voice.id, "zip")["job"]
    on_its_way = voices.packings(desk, voice.id)[1]
    queue.stop(desk.workspace, job)

    served = pack(desk, voice, "zip")

    assert (on_its_way["packed"], on_its_way["job"]["id"]) == (None, job)
    assert on_its_way["job"]["title"] == "Pack Ada"
    assert voices.pack(desk, voice.id, "zip") == {"job": None}
    [timbre, ready, _] = voices.packings(desk, voice.id)
    assert (timbre["packed"], ready["job"]) == (None, None)
    assert ready["packed"]["bytes"] == served.content.stat().st_size
    assert served.download == "Ada.zip"


def test_each_form_of_a_voice_is_saved_under_a_name_of_its_own(desk, voice, waiting, monkeypatch):
    def written(folder, to, form, **others):
        to.mkdir()
        (to / "voice.bin").write_text(form)

    monkeypatch.setattr(voice_export, "export_voice", written)

    assert pack(desk, voice, "zip").download == "Ada.zip"
    assert pack(desk, voice, "zip", "piper").download == "Ada piper.zip"


@pytest.mark.parametrize("id", ["..", "", "../..", "nothing", "{}/..", "{}/voice.zip"])
def test_nothing_but_what_was_packed_of_a_voice_is_handed_out(desk, voice, waiting, id):
    there = pack(desk, voice, "zip").content

    with pytest.raises(NotFoundError):
        voices.packed(desk, voice.id, id.format(there.parent.name))


def test_a_file_that_is_no_voice_leaves_nothing(desk):
    with pytest.raises(BundleError):
        voices.take_in(desk, upload=sent(desk, "x.timbre", b"PK\x03\x04 nothing"))

    assert voices.shown(desk)["count"] == 0
    assert list(desk.workspace.voices.iterdir()) == []


@pytest.fixture
def theirs(tmp_path):
    """A folder that is recognised as an XTTS of another program."""
    folder = tmp_path / "Grandma"
    folder.mkdir()
    (folder / "config.json").write_text('{"model": "xtts", "languages": ["en", "de"]}')
    soundfile.write(folder / "reference.wav", tone(120, 4), RATE)
    return folder


def test_a_voice_of_another_program_comes_in_by_a_job_that_tells_which_it_became(
    desk, theirs, waiting, monkeypatch
):
    monkeypatch.setattr(adopting, "_adopt", lambda found, into, meanwhile: (into / "m").touch())
    asked = voices.take_in(desk, path=str(theirs), language="de")
    job = queue.find(desk.workspace, asked["job"])
    before = voices.taken_in(desk, job.id)

    adopted_voices.work(Job(JobFolder(job.folder.path)), adopted_voices.read_wish(wish_of(job)))

    assert (asked["voice"], before["voice"], before["job"]["kind"]) == (None, None, "adopt")
    made = voices.taken_in(desk, job.id)["voice"]
    assert (made["name"], made["language"], made["engine"]) == ("Grandma", "de", "xtts")
    assert [each["id"] for each in voices.shown(desk)["voices"]] == [made["id"]]


def test_what_a_folder_does_not_say_is_asked_for_before_anything_is_queued(desk, theirs, waiting):
    with pytest.raises(SettingsError, match="do not say which language") as caught:
        voices.take_in(desk, path=str(theirs))
    with pytest.raises(NotFoundError):
        voices.take_in(desk, path=str(theirs), language="en", reference=str(theirs / "no.wav"))
    with pytest.raises(AudioError, match="cannot be read as sound"):
        voices.take_in(desk, path=str(theirs), language="en", reference=str(theirs / "config.json"))

    assert caught.value.fix.startswith("Name its language (--language), one of ar,")
    assert "de" in voices.languages(desk)
    assert queue.jobs(desk.workspace) == []


def test_a_part_of_a_voice_that_was_sent_says_what_to_give_instead(desk):
    with pytest.raises(EngineError, match=r"model\.pth is one file") as caught:
        voices.take_in(desk, upload=sent(desk, "model.pth", b"PK"))

    assert "the folder with all its files" in caught.value.fix
    assert not list(desk.uploads.iterdir())


def test_only_a_job_that_takes_a_voice_in_tells_which_it_became(desk, voice, waiting):
    job = voices.pack(desk, voice.id, "timbre")["job"]

    with pytest.raises(NotFoundError, match="takes no voice in"):
        voices.taken_in(desk, job)


# ---- Speaking ----


def test_what_is_said_comes_sentence_by_sentence_and_is_kept_sample_for_sample(
    desk, voice, speaker
):
    told = heard(speaking.say(desk, voice.id, "It costs 25 dollars. Wrong."))

    kinds = [each["kind"] for each in told]
    assert kinds == ["sentence", "sound", "sentence", "sound", "sound", "kept"]
    assert told[0]["spoken"] == "It costs twenty-five dollars."
    assert told[2]["faults"] == ["It is noise."]
    assert np.array_equal(told[1]["samples"], np.rint(tone(100, 0.5) * np.float32(32768)))
    played = np.concatenate([each["samples"] for each in told if "samples" in each])
    on_disk = soundfile.read(kept.sound(desk, told[-1]["id"]).content, dtype="int16")[0]
    assert np.array_equal(played, on_disk)
    [listed] = kept.listed(desk, voice.id)["texts"]
    assert (listed["whole"], listed["sentences"], listed["wrong"]) == (True, 2, 1)


def test_a_voice_speaks_as_it_was_set_to(desk, voice, speaker):
    chosen = {"dial": 0, "pace": 1.25, "seed": 7, "language": "en", "own": {}}
    speaking.settle(desk, voice.id, chosen)

    heard(speaking.say(desk, voice.id, "Hello."))

    assert speaker.wishes == [("Hello.", "en", 7, {}, 1.25)]
    assert speaking.settings(desk, voice.id)["chosen"] == chosen


def test_a_voice_is_opened_ahead_as_it_will_speak(desk, voice, speaker):
    speaking.settle(desk, voice.id, {"dial": 0, "pace": 1, "seed": 0, "language": "en", "own": {}})

    speaking.prepare(desk, voice.id)

    found = library.find(desk.workspace, voice.id)
    assert speaker.opened == [(found.folder, found.facts["engine"], "en")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pace": 3},
        {"seed": -1},
        {"own": {"temperature": 1.0}},
        {"own": 3},
        {"dial": "x"},
        {"seed": float("inf")},
    ],
)
def test_settings_that_a_voice_cannot_have_are_refused_in_words(desk, voice, wrong):
    usual = {"dial": 0, "pace": 1, "seed": 0, "language": "", "own": {}}

    with pytest.raises(SettingsError):
        speaking.settle(desk, voice.id, {**usual, **wrong})

    assert speaking.settings(desk, voice.id)["chosen"]["pace"] == 1


def test_the_dial_turns_what_the_engine_tells_and_what_was_set_by_hand_stays(voice, monkeypatch):
    known = {"temperature": (0.05, 0.75, 1.5), "top_k": (1, 50, 200), "speed": (0.5, 1, 2)}
    monkeypatch.setattr(
        type(speak_settings.engines.find("pocket")), "manners_in", lambda *_: known, raising=False
    )
    lively = speak_settings.SpeakSettings(dial=2, own={"top_k": 30})

    found = speak_settings.manners_for(voice, lively)

    assert found == {"temperature": pytest.approx(1.0), "top_k": 30}
    assert "speed" not in speak_settings.known_manners(voice)


def test_a_text_that_is_stopped_is_kept_as_far_as_it_was_said(desk, voice, speaker):
    streamed = speaking.say(desk, voice.id, "One. Two. Three.")

    first = [next(streamed.blocks) for _ in range(2)]
    streamed.stop()
    rest = list(streamed.blocks)

    assert len(first) == 2 and len(rest) == 1
    [listed] = kept.listed(desk, voice.id)["texts"]
    assert (listed["whole"], listed["sentences"]) == (False, 1)


def test_what_was_said_before_a_fault_is_kept_and_the_fault_is_told(desk, voice):
    dying = replace(desk, speaker=Speaker(dies=True))

    with pytest.raises(EngineError, match="has ended"):
        list(speaking.say(dying, voice.id, "One. Two.").blocks)

    assert [each["sentences"] for each in kept.listed(desk, voice.id)["texts"]] == [1]


def test_a_text_of_which_nothing_is_said_leaves_nothing(desk, voice, speaker):
    streamed = speaking.say(desk, voice.id, "One.")
    streamed.stop()

    assert list(streamed.blocks) == []
    assert kept.listed(desk, voice.id)["texts"] == []
    assert list(spoken.folder_of(desk.workspace).iterdir()) == []


def test_one_sentence_is_said_again_with_another_seed_and_the_others_stay(desk, voice, speaker):
    old = heard(speaking.say(desk, voice.id, "One. Wrong. Three."))[-1]["id"]

    new = heard(speaking.again(desk, old, 1))[-1]["id"]

    before, after = kept.one(desk, old), kept.one(desk, new)
    assert after["before"] == old and len(kept.listed(desk, voice.id)["texts"]) == 2
    seeds = [each["seed"] for each in after["lines"]]
    assert (seeds[0], seeds[2]) == (0, 0) and seeds[1] != 0
    for line in (0, 2):
        one, other = (samples_in(kept.line_sound(desk, id, line)) for id in (old, new))
        assert np.array_equal(one, other)
    one, other = (samples_in(kept.line_sound(desk, id, 1)) for id in (old, new))
    assert not np.array_equal(one, other)
    assert after["seconds"] == pytest.approx(before["seconds"])


def test_a_sentence_that_is_said_again_and_stopped_changes_nothing(desk, voice, speaker):
    old = heard(speaking.say(desk, voice.id, "One. Two."))[-1]["id"]
    streamed = speaking.again(desk, old, 0)

    next(streamed.blocks), next(streamed.blocks)
    streamed.stop()
    rest = b"".join(streamed.blocks)

    assert json.loads(rest)["id"] == old


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "ogg"])
def test_what_was_spoken_is_saved_as_loud_as_wished(desk, voice, speaker, kind):
    id = heard(speaking.say(desk, voice.id, "One. Two. Three. Four."))[-1]["id"]

    loud, quiet = (kept.saved(desk, id, kind, lufs) for lufs in (-16.0, -23.0))

    levels = [20 * np.log10(np.sqrt(np.mean(samples_in(each) ** 2))) for each in (loud, quiet)]
    assert levels[0] - levels[1] == pytest.approx(7, abs=0.5)
    assert loud.download == f"Ada.{kind}"


def test_what_was_spoken_is_deleted_for_good(desk, voice, speaker):
    id = heard(speaking.say(desk, voice.id, "One."))[-1]["id"]

    kept.delete(desk, id)

    assert kept.listed(desk, voice.id)["texts"] == []
    with pytest.raises(NotFoundError):
        kept.sound(desk, id)


@pytest.mark.parametrize("id", ["..", "../x", "a" * 12, "", "0" * 12])
def test_only_what_was_spoken_is_found_by_an_id(desk, voice, speaker, id):
    said = heard(speaking.say(desk, voice.id, "One."))[-1]["id"]
    shutil.copytree(spoken.folder_of(desk.workspace) / said, desk.workspace.root / "x")

    with pytest.raises(NotFoundError):
        kept.sound(desk, id)
    with pytest.raises(NotFoundError):
        kept.delete(desk, id)


def test_a_script_becomes_a_job_and_one_that_cannot_be_spoken_leaves_nothing(
    desk, voice, monkeypatch
):
    monkeypatch.setattr(queue, "advance", lambda workspace: None)  # it waits
    made = kept.script(desk, voice.id, upload=sent(desk, "two.csv", b"text\nOne.\nTwo.\n"))

    assert made["name"] == "two.csv" and made["job"]["kind"] == "speak"
    assert [each["id"] for each in kept.listed(desk, voice.id)["scripts"]] == [made["id"]]
    with pytest.raises(Exception, match="no script"):
        kept.script(desk, voice.id, upload=sent(desk, "x.exe", b"MZ"))
    assert len(list(spoken.folder_of(desk.workspace).glob("*/script.json"))) == 1
    assert len([path for path in spoken.folder_of(desk.workspace).iterdir() if path.is_dir()]) == 1


def test_a_script_is_deleted_once_nobody_speaks_it(desk, voice, monkeypatch):
    monkeypatch.setattr(queue, "advance", lambda workspace: None)  # it waits
    made = kept.script(desk, voice.id, said="Hello there.")
    with pytest.raises(SettingsError, match="Stop that first"):
        kept.delete(desk, made["id"])

    queue.stop(desk.workspace, made["job"]["id"])
    kept.delete(desk, made["id"])

    assert kept.listed(desk, voice.id)["scripts"] == []
    assert list(spoken.folder_of(desk.workspace).iterdir()) == []


def test_how_a_text_will_be_read_is_told_before_it_is(desk, voice):
    found = speaking.read_out(desk, voice.id, "Dr. Smith has 3 cats. Fine.")

    assert found["count"] == 2
    assert found["sentences"][0]["spoken"] == "Doctor Smith has three cats."


# ---- Listening ----


@pytest.fixture
def run(desk):
    plan = Plan("Ada", "p" * 12, 1, "pocket", "/base")
    folder = runs.create(desk.workspace, plan)
    for step, pitch in ((0, 200), (50, 120)):
        with files.new_folder(folder.samples / f"step-{step:06}") as new:
            rows = []
            for number, text in enumerate(("Hello.", "Good morning.")):
                soundfile.write(new / f"{number:02}.flac", tone(pitch, 1), RATE)
                rows.append({"text": text, "file": f"{number:02}.flac", "seconds": 1.0})
            files.write_json(new / "samples.json", {"v": 1, "step": step, "samples": rows})
    return runs.find(desk.workspace, folder.id)


def test_a_run_is_heard_from_the_base_on_with_the_sentences_that_all_say(desk, run):
    found = comparing.heard(desk, run=run.id)

    assert [(each.kind, each.step) for each in found["sources"]] == [("base", 0), ("step", 50)]
    assert found["sentences"] == ["Hello.", "Good morning."]
    address = found["sources"][1].heard[1].address
    assert comparing.sound(desk, address).content.name == "01.flac"


def test_a_voice_is_heard_beside_the_real_one(desk, voice):
    found = comparing.heard(desk, voice=voice.id)["sources"]

    assert [each.kind for each in found] == ["real", "voice"]
    assert found[1].heard[0].similarity == 0.91
    told = comparing.measured(
        desk,
        found[1].heard[0].address,
        "Good morning.",
        "en",
        real=found[0].heard[0].address,
        real_text="It rains.",
    )
    pitch = next(each for each in told if each.name == "Pitch")
    assert pitch.value == pytest.approx(120, rel=0.03)
    assert "semitones higher" in pitch.meaning


@pytest.mark.parametrize(
    "address",
    ["", "voice", "voice/../../studio.db", "run/{}/../run.json", "run/{}/0/../..", "voice/{}/x",
     "run/{}/50/9", "run/{}/²/0", "spoken/{}", "nothing/{}/sample"],
)  # fmt: skip
def test_an_address_leads_to_a_sound_and_nowhere_else(desk, run, address):
    with pytest.raises(NotFoundError):
        samples.find(desk.workspace, address.format(run.id))


def test_a_sound_is_drawn(desk, voice):
    address = f"voice/{voice.id}/sample"

    found = comparing.outline(desk, address, 50)

    assert found["seconds"] == 1.5 and len(found["peaks"]) == 50
    assert max(high for _, high in found["peaks"]) > 20
    assert comparing.spectrogram(desk, address).content.startswith(b"\x89PNG")


def test_a_blind_comparison_tells_no_side_until_all_is_answered(desk, run):
    begun = comparing.begin(desk, "ab", "step 50", "the base", pairs(run), 4)

    at = begun
    while at["trial"]:
        assert set(at["trial"]) == {"number", "text"}
        number, choice = at["trial"]["number"], "right"
        if pitch_of(comparing.trial_sound(desk, at["id"], number, "left")) < 150:
            choice = "left"
        at = comparing.answer(desk, at["id"], number, choice)

    assert (at["result"].one, at["result"].other) == (4, 0)
    assert comparing.comparisons(desk)[0]["result"].one == 4


def test_an_answer_is_taken_back_and_a_trial_is_answered_once(desk, run):
    begun = comparing.begin(desk, "abx", "step 50", "the base", pairs(run), 8)
    comparing.answer(desk, begun["id"], 0, "left")
    with pytest.raises(Exception, match="another window"):
        comparing.answer(desk, begun["id"], 0, "left")

    at = comparing.undo(desk, begun["id"])

    assert at["answered"] == 0 and at["trial"]["number"] == 0
    assert comparing.trial_sound(desk, begun["id"], 0, "x").content


@pytest.mark.parametrize("gone", ["one", "other"])
def test_a_comparison_of_sounds_that_are_not_there_is_not_begun(desk, run, gone):
    pair = {**pairs(run)[0], gone: "run/aaaaaaaaaaaa/0/00"}

    with pytest.raises(NotFoundError):
        comparing.begin(desk, "ab", "one", "other", [pair], 4)

    assert comparing.comparisons(desk) == []


def pairs(run):
    texts = enumerate(("Hello.", "Good morning."))
    return [
        {"text": text, "one": f"run/{run.id}/50/{at:02}", "other": f"run/{run.id}/0/{at:02}"}
        for at, text in texts
    ]


def pitch_of(served):
    samples_read, rate = soundfile.read(io.BytesIO(served.content))
    lines = np.abs(np.fft.rfft(samples_read * np.hanning(len(samples_read))))
    return np.argmax(lines) * rate / len(samples_read)
