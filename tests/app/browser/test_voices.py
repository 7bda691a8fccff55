"""Voices in a real Chromium: heard, compared, sent away and taken in, as a person would."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from finetune import runs
from finetune.jobs import queue
from finetune.runs import Plan
from tests import finished, jobs_at_work
from tests.app.browser.conftest import PICTURES
from tests.app.browsing import needs_browser
from tests.engines.xtts import tiny
from voices import files, library, spoken
from voices.workspace import open_workspace

pytestmark = needs_browser

RATE = 16_000
TEXT = "Good morning, Dr. Smith. It costs 25 dollars. The weather is fine today, and so am I."
# The process that speaks loads torch with its first sentence, which takes a busy computer long.
FIRST_SOUND_MS = 120_000


@pytest.fixture(scope="module")
def made(running, tmp_path_factory):
    """A voice that really speaks, and the run it came from."""
    workspace = open_workspace(running.home)
    run = runs.create(workspace, Plan("Ada", "p" * 12, 1, "pocket", "/base"))
    folder = tmp_path_factory.mktemp("made") / "voice"
    finished.voice(folder, "Ada", scores={"similarity": 0.91}, **{"from": {"run": run.id}})
    for step, pitch, loud in ((0, 220, 0.4), (50, 110, 0.2)):
        with files.new_folder(run.samples / f"step-{step:06}") as new:
            rows = []
            for number, text in enumerate(("Hello there.", "And good bye.")):
                soundfile.write(new / f"{number:02}.flac", tone(pitch, loud, 4), RATE)
                rows.append({"text": text, "file": f"{number:02}.flac", "seconds": 4.0})
            files.write_json(new / "samples.json", {"v": 1, "step": step, "samples": rows})
    yield folder
    workspace.close()


def tone(pitch, loud, seconds):
    at = np.arange(round(seconds * RATE)) / RATE
    return (loud * np.sin(2 * np.pi * pitch * at)).astype(np.float32)


@pytest.fixture
def voice(made, workspace):
    """One of its own for each test."""
    return library.keep(workspace, made, f"Ada {time.monotonic_ns()}")


@pytest.fixture
def place(page, running, voice):
    page.goto(f"{running.url}#/voices/{voice.id}")
    page.get_by_role("heading", name=voice.name, exact=True).wait_for()
    return page


def region(page, name):
    return page.get_by_role("region", name=name)


def value(locator):
    return float(locator.evaluate("each => each.value"))


def until(check, seconds=10):
    deadline = time.monotonic() + seconds
    while not check() and time.monotonic() < deadline:
        time.sleep(0.03)
    assert check()


def test_a_text_is_heard_while_it_is_spoken_and_kept(place, voice, workspace, request):
    speak = region(place, "Speak")
    speak.get_by_label("What is to be said").fill(TEXT)
    speak.get_by_role("button", name="Speak", exact=True).click()
    speak.get_by_text("Sentence 1,").wait_for(timeout=FIRST_SOUND_MS)

    meter = speak.get_by_role("meter")
    until(lambda: value(meter) > 0.01)
    speak.get_by_text(re.compile(r"Sentence \d, 0:02")).wait_for()
    assert "Doctor" in speak.get_by_role("listitem").first.inner_text()
    place.screenshot(path=PICTURES / f"{request.node.name}-speaking.png")

    kept = region(place, "What was spoken")
    kept.get_by_text("Read as: It costs twenty-five dollars.").wait_for(timeout=60_000)
    [found] = spoken.all_of(workspace, voice.id)
    sound = soundfile.read(spoken.sound_of(workspace, found.id))[0]
    assert found.whole and len(found.lines) == 3
    assert np.sqrt(np.mean(sound**2)) > 0.01
    kept.get_by_role("button", name="Play: Good morning").click()
    until(lambda: place.evaluate("document.getElementById('player').currentTime") > 0.3)


def test_speaking_stops_within_a_second_and_what_was_said_stays(place, voice, workspace):
    speak = region(place, "Speak")
    speak.get_by_label("What is to be said").fill(" ".join([TEXT] * 40))
    speak.get_by_role("button", name="Speak", exact=True).click()
    speak.get_by_text("Sentence 1,").wait_for(timeout=FIRST_SOUND_MS)

    before = time.monotonic()
    speak.get_by_role("button", name="Stop", exact=True).click()
    speak.get_by_role("button", name="Speak", exact=True).wait_for()

    assert time.monotonic() - before < 1
    until(lambda: spoken.all_of(workspace, voice.id))
    [found] = spoken.all_of(workspace, voice.id)
    assert not found.whole and 1 <= len(found.lines) < 120
    region(place, "What was spoken").get_by_text("stopped").wait_for()


def test_two_are_heard_at_the_same_place_and_switched_without_a_gap(place, request):
    listen = region(place, "Listen and compare")
    listen.get_by_role("combobox", name="Sentence", exact=True).select_option("Hello there.")
    listen.get_by_role("combobox", name="A", exact=True).select_option("Ada: step 50")
    listen.get_by_role("button", name="Play", exact=True).click()
    meter, position = listen.get_by_role("meter"), listen.get_by_label("Position")
    until(lambda: value(meter) > 0.1)

    # Each 2 ms the quietest moment around the switch: a gap would be one without a sound.
    place.evaluate(
        """() => { const meter = document.querySelector('.compare meter'); window.least = 1;
        window.watch = setInterval(() => { least = Math.min(least, meter.value); }, 2); }"""
    )
    at = value(position)
    listen.get_by_role("button", name="Hear B").click()
    place.wait_for_timeout(400)

    assert 0.2 < value(position) - at < 2
    assert place.evaluate("least") > 0.1
    assert value(meter) > 0.25  # as loud as B alone
    assert listen.get_by_role("button", name="Hear B").get_attribute("aria-pressed") == "true"
    listen.get_by_label("Show spectrograms").check()
    listen.get_by_role("img", name="Spectrogram").first.wait_for()
    listen.get_by_text("higher than the real").or_(
        listen.get_by_text("lower than the real")
    ).first.wait_for()
    listen.screenshot(path=PICTURES / f"{request.node.name}-listen.png")
    listen.get_by_role("button", name="Pause").click()


def test_two_are_compared_blind_and_the_result_is_kept(place):
    listen = region(place, "Listen and compare")
    listen.get_by_role("combobox", name="A", exact=True).select_option("Ada: step 50")
    listen.get_by_role("button", name="Compare blind").click()
    dialog = place.get_by_role("dialog")
    dialog.get_by_role("combobox", name="How many times").select_option("4")
    dialog.get_by_role("button", name="Begin").click()

    for number in range(4):
        dialog.get_by_text(f"{number + 1} of 4").wait_for()
        assert "step 50" not in dialog.inner_text()
        dialog.get_by_role("button", name="Second", exact=True).click()
        dialog.get_by_role("button", name="Neither").click()
        if number == 1:
            place.wait_for_timeout(300)

    dialog.get_by_text("None of 4 times was one liked better").wait_for()
    dialog.get_by_role("button", name="Back to all").click()
    dialog.get_by_text("Earlier comparisons").click()
    dialog.get_by_text("None of 4 times").first.wait_for()
    dialog.get_by_role("button", name="Close").click()


ONE_FILE = "One file for another Timbre (.timbre)"
PACK_MS = 30_000


def exported(place):
    place.get_by_role("button", name="Export").click()
    return place.get_by_role("dialog")


def test_a_voice_is_saved_as_one_file_and_taken_in_again(place, voice, tmp_path, workspace):
    dialog = exported(place)
    dialog.get_by_text("Nobody has said yet whose voice it is.").wait_for()
    with place.expect_download(timeout=PACK_MS) as download:
        dialog.get_by_role("button", name=f"Save: {ONE_FILE}").click()
    path = tmp_path / "ada.timbre"
    shutil.copy(download.value.path(), path)
    # It is packed: now it is only sent, in this dialog and the next.
    dialog.get_by_role("button", name="Close").click()
    again = exported(place).get_by_role("link", name=f"Save (14 MB): {ONE_FILE}")
    with place.expect_download() as download:
        again.click()
    assert path.read_bytes() == Path(download.value.path()).read_bytes()
    assert [each.request.kind for each in queue.jobs(workspace)].count("pack") == 1
    dialog.get_by_role("button", name="Close").click()

    place.get_by_role("button", name="Import a voice").click()
    place.get_by_label("A .timbre file").set_input_files(path)

    place.get_by_role("heading", name=f"{voice.name} (2)", exact=True).wait_for()
    assert download.value.suggested_filename == f"{voice.name}.timbre"


def test_a_packing_is_seen_and_stopped_and_downloads_nothing(place, voice, workspace, request):
    place.on("download", lambda download: pytest.fail(f"{download.suggested_filename} came"))
    held = queue.submit(
        workspace, jobs_at_work.request("count", 100_000, needs=f"voice-{voice.id}")
    )
    dialog = exported(place)
    dialog.get_by_role("button", name=f"Save: {ONE_FILE}").click()
    dialog.get_by_text(f"Pack {voice.name}").wait_for()
    dialog.get_by_role("button", name="Close").click()
    exported(place).get_by_role("progressbar", name=f"Pack {voice.name}").wait_for()
    place.screenshot(path=PICTURES / f"{request.node.name}-packing.png")

    dialog.get_by_role("button", name="Take out of the queue").click()

    dialog.get_by_role("button", name=f"Save: {ONE_FILE}").wait_for()
    dialog.get_by_text("Taken out of the queue.").wait_for()
    queue.stop(workspace, held.id)
    list(held.folder.follow(poll_seconds=0.05))
    assert not [*(workspace.cache / "voices" / voice.id).glob("*/*")]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A fine-tuned XTTS as another program leaves it."""
    folder = tiny.make_base(tmp_path_factory.mktemp("theirs") / "Grandma")
    for name in ("dvae.pth", "mel_stats.pth"):
        (folder / name).unlink()
    soundfile.write(folder / "reference.wav", tone(140, 0.4, 4), RATE)
    return folder


def test_a_voice_of_another_program_is_taken_in_or_says_why_not(place, theirs, tmp_path, request):
    broken = tmp_path / "Broken"
    shutil.copytree(theirs, broken)
    (broken / "vocab.json").unlink()
    place.get_by_role("button", name="Import a voice").click()
    dialog = place.get_by_role("dialog")
    path = dialog.get_by_label("Or where the file or the folder lies")
    path.fill(str(broken))
    dialog.get_by_role("button", name="Import", exact=True).click()
    dialog.get_by_text("Name its language (--language)").wait_for()
    dialog.get_by_label("The language it speaks").select_option(label="German")
    dialog.get_by_role("button", name="Import", exact=True).click()
    dialog.get_by_text("Broken has no vocab.json.").wait_for(timeout=PACK_MS)

    path.fill(str(theirs))
    dialog.get_by_role("button", name="Import", exact=True).click()
    dialog.get_by_role("progressbar", name="Take in Grandma").wait_for()
    dialog.get_by_text("goes on when the dialog is closed").wait_for()
    place.screenshot(path=PICTURES / f"{request.node.name}-coming.png")

    place.get_by_role("heading", name="Grandma", exact=True).wait_for(timeout=120_000)
    dialog.wait_for(state="hidden")
    region(place, "Grandma").get_by_text("XTTS v2 · de").wait_for()


def test_a_voice_goes_into_the_trash_and_is_taken_back(place, voice):
    shelf = region(place, "The library")
    place.get_by_role("button", name="Move to trash").click()
    shelf.get_by_role("button", name=voice.name).and_(shelf.locator(".name")).wait_for(
        state="hidden"
    )

    shelf.get_by_text("Trash (").click()
    shelf.get_by_role("button", name=f"Take back: {voice.name}").click()

    shelf.locator(".name").filter(has_text=voice.name).wait_for()


def test_tags_favourite_and_consent_are_kept_and_found(place, voice, running):
    page = place
    page.get_by_label("New tag").fill("calm")
    page.get_by_role("button", name="Add tag").click()
    page.get_by_role("button", name="Take away the tag calm").wait_for()
    page.get_by_role("button", name=f"Favourite: {voice.name}").click()
    page.get_by_text("Whose voice it is, picture").click()
    page.get_by_label("Name of the person who speaks").fill("Ada Lovelace")
    page.get_by_label("Yes").check()
    page.get_by_role("button", name="Keep this answer").click()
    page.get_by_text("It is the voice of Ada Lovelace, who agrees to its use.").wait_for()

    page.reload()
    page.get_by_label("Search by name").fill("lovelace calm")

    star = page.get_by_role("button", name=f"Favourite: {voice.name}")
    star.wait_for()
    assert star.get_attribute("aria-pressed") == "true"
