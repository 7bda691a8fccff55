"""Recordings as a person brings them in, reads them aloud, and makes a dataset of them."""

from __future__ import annotations

import time

import numpy as np
import pytest
import soundfile

from finetune import projects
from finetune.jobs import queue
from tests import speech
from tests.app.browsing import BROWSER, FLAGS, let_notes_stay, needs_browser

pytestmark = needs_browser

SECONDS = 60_000
SAID = "Our teacher carried the long letter by the station after midnight."


def sound_of(*numbers, gap=0.8):
    """Bundled sentences with the sound of a quiet room around them."""
    samples, _ = speech.joined(
        [speech.bundled()[number] for number in numbers], gaps=[gap], noise_db=40
    )
    room = 0.0003 * np.random.default_rng(0).standard_normal(int(1.5 * speech.RATE))
    return np.concatenate((room, samples, room)).astype(np.float32)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A browser whose microphone hears one sentence, then silence."""
    sync_api = pytest.importorskip("playwright.sync_api")
    heard = tmp_path_factory.mktemp("microphone") / "heard.wav"
    soundfile.write(heard, np.concatenate((sound_of(0), np.zeros(speech.RATE * 60))), speech.RATE)
    microphone = [
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={heard}%noloop",
    ]
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=[*FLAGS, *microphone])
        yield browser
        browser.close()


@pytest.fixture
def item(page, workspace):
    """A project, and the page at its recordings."""
    made = projects.create(workspace, f"Ada {time.monotonic_ns()}")
    page.evaluate("address => { location.hash = address; }", f"{made.id}/recordings")
    page.locator("header select option:checked", has_text=made.name).wait_for(state="attached")
    page.get_by_role("region", name="Add recordings").wait_for()
    return made


def recordings_of(workspace, item):
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        return [each.name for each in opened.recordings.all()]


def clips_of(workspace, item):
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        return [clip.values for clip in opened.transcript.clips()]


def region(page, name):
    return page.get_by_role("region", name=name, exact=True)


def heard_beyond(page, seconds):
    """Wait until the player is past a place; the page's own policy lets no condition be waited for."""
    deadline = time.monotonic() + 20
    while page.evaluate("document.getElementById('player').currentTime") <= seconds:
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


def choose(page, button, paths):
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button, exact=True).click()
    chooser.value.set_files(paths)


def test_a_folder_comes_in_with_its_names_and_each_file_that_does_not_says_why(
    page, item, workspace, tmp_path
):
    folder = tmp_path / "talks"
    for number, name in enumerate(("one.wav", "day 1/two.wav", "day 2/two.wav")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / name, sound_of(number), speech.RATE)
    (folder / "broken.wav").write_bytes(b"nothing at all")
    (folder / "cover.jpg").write_bytes(b"nothing at all")

    choose(page, "Choose a folder", folder)

    region(page, "What came of the import").get_by_text("broken.wav").first.wait_for(
        timeout=SECONDS
    )
    page.get_by_text("cover.jpg is neither sound nor text").wait_for()
    assert recordings_of(workspace, item) == ["day 1/two.wav", "day 2/two.wav", "one.wav"]
    rows = region(page, "Recordings").get_by_role("listitem")
    assert rows.count() == 3
    page.locator(".wave path[d^=M]").first.wait_for(state="attached")


def test_what_is_dropped_comes_in_and_a_second_time_is_told_so(page, item, workspace, tmp_path):
    soundfile.write(tmp_path / "talk.wav", sound_of(1), speech.RATE)
    content = list((tmp_path / "talk.wav").read_bytes())
    held = page.evaluate_handle(
        """bytes => {
            const dropped = new DataTransfer();
            dropped.items.add(new File([new Uint8Array(bytes)], 'talk.wav'));
            return dropped;
        }""",
        content,
    )

    page.dispatch_event("main", "drop", {"dataTransfer": held})
    region(page, "Recordings").get_by_text("talk.wav").wait_for(timeout=SECONDS)
    page.dispatch_event("main", "drop", {"dataTransfer": held})

    page.get_by_text("It is there already, as talk.wav.").wait_for(timeout=SECONDS)
    assert recordings_of(workspace, item) == ["talk.wav"]


def test_a_file_that_is_cancelled_stays_out_and_the_others_come_in(page, item, workspace, tmp_path):
    for number, name in enumerate(("fast.wav", "slow.wav")):
        soundfile.write(tmp_path / name, sound_of(number), speech.RATE)
    page.route("**/timbre/upload?name=slow.wav", lambda route: None)  # it never gets through

    choose(page, "Choose files", [tmp_path / "fast.wav", tmp_path / "slow.wav"])
    page.get_by_text("1 of 2 files have arrived").wait_for(timeout=SECONDS)
    page.get_by_role("button", name="Cancel slow.wav").click()

    region(page, "Recordings").get_by_text("fast.wav").wait_for(timeout=SECONDS)
    page.unroute("**/timbre/upload?name=slow.wav")
    assert recordings_of(workspace, item) == ["fast.wav"]


def test_a_recording_is_heard_and_a_click_into_its_picture_jumps(page, item, workspace, tmp_path):
    soundfile.write(tmp_path / "talk.wav", sound_of(0, 1), speech.RATE)
    choose(page, "Choose files", tmp_path / "talk.wav")

    region(page, "Recordings").get_by_role("button", name="Play: talk.wav").click(timeout=SECONDS)
    heard_beyond(page, 0.1)
    page.locator(".wave").click()

    heard_beyond(page, 3)


def test_an_import_goes_on_without_the_page(page, item, workspace, tmp_path):
    soundfile.write(tmp_path / "talk.wav", sound_of(2), speech.RATE)
    choose(page, "Choose files", tmp_path / "talk.wav")
    deadline = time.monotonic() + 20
    while not any(item.name in job.request.title for job in queue.jobs(workspace)):
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)
    page.locator(".sending").wait_for(state="detached")

    page.goto("about:blank")
    while not recordings_of(workspace, item):
        assert time.monotonic() < deadline + 60
        time.sleep(0.1)
    page.go_back()

    region(page, "Recordings").get_by_text("talk.wav").wait_for(timeout=SECONDS)


def test_a_text_and_its_recording_become_clips_in_one_click(page, item, workspace, tmp_path):
    soundfile.write(tmp_path / "talk.wav", sound_of(0), speech.RATE)
    (tmp_path / "talk.txt").write_text(SAID)
    choose(page, "Choose files", [tmp_path / "talk.wav", tmp_path / "talk.txt"])
    built = region(page, "Build dataset")
    built.get_by_label("I have the text").wait_for(timeout=SECONDS)
    assert built.get_by_label("I have the text").is_checked()
    built.get_by_text("talk.txt").wait_for()

    built.get_by_label("Language").select_option("en")
    built.get_by_role("button", name="Build dataset").click()

    built.get_by_role("button", name="To the transcript").wait_for(timeout=2 * SECONDS)
    assert [values.text for values in clips_of(workspace, item)] == [SAID]
    built.get_by_role("button", name="To the transcript").click()
    page.get_by_role("link", name="Transcript").and_(page.locator("[aria-current]")).wait_for()


def test_a_note_among_the_recordings_is_offered_as_their_text_and_no_more(page, item, tmp_path):
    soundfile.write(tmp_path / "talk.wav", sound_of(0), speech.RATE)
    (tmp_path / "note.txt").write_text("Hello.")
    choose(page, "Choose files", [tmp_path / "talk.wav", tmp_path / "note.txt"])
    built = region(page, "Build dataset")

    built.get_by_label("I have the text").wait_for(timeout=SECONDS)
    assert built.get_by_label("Timbre listens").is_checked()
    built.get_by_label("I have the text").check()

    built.get_by_text("note.txt").wait_for()


def test_a_build_of_which_no_clip_came_is_not_called_a_dataset(page, item, tmp_path):
    silence = 0.0003 * np.random.default_rng(0).standard_normal(5 * speech.RATE)
    soundfile.write(tmp_path / "talk.wav", silence, speech.RATE)
    (tmp_path / "talk.txt").write_text(SAID)
    choose(page, "Choose files", [tmp_path / "talk.wav", tmp_path / "talk.txt"])
    built = region(page, "Build dataset")
    built.get_by_label("Language").select_option("en", timeout=SECONDS)
    built.get_by_role("button", name="Build dataset").click()

    built.get_by_text("There are no clips").wait_for(timeout=2 * SECONDS)

    assert built.get_by_role("heading", name="The dataset is built").count() == 0
    assert built.get_by_role("heading", name="No dataset came of it").is_visible()


def test_without_a_whisper_here_a_build_waits_for_consent_and_settings_say_their_limits(
    page, item, tmp_path
):
    soundfile.write(tmp_path / "talk.wav", sound_of(0), speech.RATE)
    choose(page, "Choose files", tmp_path / "talk.wav")
    built = region(page, "Build dataset")
    built.get_by_label("Quality and speed").select_option("large-v1", timeout=SECONDS)

    assert built.get_by_role("button", name="Build dataset").is_disabled()
    built.get_by_label("Download it: 3.1 GB").check()
    assert built.get_by_role("button", name="Build dataset").is_enabled()

    built.get_by_text("More choices").click()
    longest = built.get_by_label("Longest clip (seconds)", exact=True)
    longest.fill("99")
    built.get_by_text("must be a number within the limits").wait_for()
    longest.fill("9.5")
    built.get_by_text("More choices (1 changed)").wait_for()
    built.get_by_role("button", name="Longest clip (seconds): back").click()
    assert longest.input_value() == "11"


def test_a_sentence_is_read_listened_to_survives_a_reload_and_becomes_a_clip(
    page, item, workspace, tmp_path
):
    (tmp_path / "mine.txt").write_text(f"{SAID}\nAnother sentence.\n")
    page.get_by_role("button", name="Record", exact=True).click()
    booth = region(page, "Record")
    choose(page, "Bring your own sentences", tmp_path / "mine.txt")
    booth.get_by_text(SAID).wait_for()

    booth.get_by_role("button", name="Turn the microphone on").click()
    booth.get_by_role("button", name="Record", exact=True).click()
    booth.locator("button:disabled", has_text="Skip").wait_for()
    page.wait_for_timeout(7500)
    booth.get_by_role("button", name="Stop", exact=True).click()
    booth.get_by_role("button", name="Listen").click()
    heard_beyond(page, 0.1)
    page.reload()
    page.get_by_role("button", name="Record", exact=True).click()
    booth.get_by_label("What to read").select_option("mine")
    booth.get_by_role("button", name="Keep, and go on").click()

    booth.get_by_text("Another sentence.").wait_for()
    booth.get_by_text("Good: 1. Being checked: 0.").wait_for(timeout=SECONDS)
    [values] = clips_of(workspace, item)
    assert values.text == SAID and values.included and 3 < values.end - values.start < 5
    assert recordings_of(workspace, item) == ["mine 001, take 1"]
    for job in queue.jobs(workspace, ended=0):
        queue.stop(workspace, job.id)


def spoken_freely(page, running, item, seconds):
    """Another page of the same browser, in which somebody has been speaking."""
    other = page.context.new_page()
    other.goto(f"{running.url}#{item.id}/recordings")
    other.get_by_role("button", name="Record", exact=True).click()
    booth = region(other, "Record")
    booth.get_by_label("What to read").select_option("Speak freely")
    booth.get_by_role("button", name="Turn the microphone on").click()
    booth.get_by_role("button", name="Record", exact=True).click()
    booth.get_by_role("button", name="Stop", exact=True).wait_for()
    other.wait_for_timeout(1000 * seconds)
    return other


def test_what_is_said_freely_outlives_a_page_that_goes_while_it_is_said(
    page, running, item, workspace
):
    spoken_freely(page, running, item, 9).close()

    page.get_by_role("button", name="Record", exact=True).click()
    booth = region(page, "Record")
    booth.get_by_role("button", name="Listen").click()
    heard_beyond(page, 0.1)
    booth.get_by_role("button", name="Keep, and go on").click()

    region(page, "Recordings").locator(".recording").wait_for(timeout=SECONDS)
    [name] = recordings_of(workspace, item)
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        [kept] = opened.recordings.all()
        samples, _ = soundfile.read(opened.working_of(kept.id))
    assert name.startswith("Recording 20") and 4 <= kept.seconds < 10
    assert np.abs(samples).max() > 0.1
    booth.get_by_role("button", name="Turn the microphone on").wait_for()


@pytest.mark.parametrize("ended", ["stopped", "left"])
def test_what_was_said_freely_waits_until_it_is_thrown_away(page, running, item, ended):
    other = spoken_freely(page, running, item, 5)
    booth = region(other, "Record")
    page.get_by_role("button", name="Record", exact=True).click()
    region(page, "Record").get_by_text("Sentence 1 of").wait_for()  # what goes on is not left over
    if ended == "stopped":
        booth.get_by_role("button", name="Stop", exact=True).click()
        booth.get_by_role("button", name="Listen").wait_for()
        other.reload()
    else:
        other.get_by_role("link", name="Voices").click()
        other.get_by_role("heading", name="Voices", level=1).wait_for()
        other.get_by_role("link", name="Recordings").click()

    other.get_by_role("button", name="Record", exact=True).click()
    booth.get_by_role("button", name="Throw away").click()
    other.get_by_role("dialog").get_by_role("button", name="Throw away").click()
    booth.get_by_role("button", name="Listen").wait_for(state="detached")
    other.reload()
    other.get_by_role("button", name="Record", exact=True).click()

    booth.get_by_text("Sentence 1 of").wait_for()
    other.close()


def test_a_microphone_that_is_refused_says_what_to_do(item, page):
    page.evaluate(
        """() => {
            const refuse = async () => { throw new DOMException('no', 'NotAllowedError'); };
            navigator.mediaDevices.getUserMedia = refuse;
        }"""
    )
    page.get_by_role("button", name="Record", exact=True).click()

    page.get_by_role("button", name="Turn the microphone on").click()

    page.get_by_role("alert").get_by_text("allow the microphone, and try again").wait_for()
    page.get_by_role("button", name="Turn the microphone on").wait_for()


def test_a_recording_goes_into_the_trash_and_is_taken_back(page, item, workspace, tmp_path):
    for number, name in enumerate(("one.wav", "two.wav")):
        soundfile.write(tmp_path / name, sound_of(number), speech.RATE)
    choose(page, "Choose files", [tmp_path / "one.wav", tmp_path / "two.wav"])
    rows = region(page, "Recordings").locator(".recording")
    rows.nth(1).wait_for(timeout=SECONDS)

    let_notes_stay(page)
    page.get_by_role("button", name="Move one.wav to the trash").click()

    said = page.get_by_text("one.wav is in the trash.")
    said.wait_for()
    rows.nth(1).wait_for(state="detached")
    assert recordings_of(workspace, item) == ["two.wav"]
    page.get_by_text("Trash (1)").click()
    page.get_by_role("button", name="Take back: one.wav").click()
    rows.nth(1).wait_for()
    said.wait_for(state="detached")
    assert recordings_of(workspace, item) == ["one.wav", "two.wav"]
