"""The editor in a real Chromium: corrected by keyboard and pointer, in two tabs, with the studio gone."""

from __future__ import annotations

import re
import time

import pytest

from finetune import editing, projects
from tests.app.browser.conftest import PICTURES
from tests.app.browsing import let_notes_stay, needs_browser
from tests.bench import screen_project, screen_tabs
from voices.workspace import open_workspace

pytestmark = needs_browser

CLIPS = 60
EDITS = 12
SOON_MS = 15_000


@pytest.fixture
def item(workspace):
    return screen_project.make(workspace, f"Ada {time.monotonic_ns()}", CLIPS)


@pytest.fixture
def place(page, running, item):
    page.set_default_timeout(SOON_MS)
    page.goto(f"{running.url}#{item.id}/transcript")
    page.get_by_role("button", name=re.compile("^all ")).click()
    page.locator(".wave canvas").wait_for()
    return page


@pytest.fixture
def clip(workspace, item):
    """A clip as it is on the disk."""
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        yield lambda clip_id: opened.transcript.clip(clip_id).values


def line(page, number):
    """The line at a place in the list, counted from 1."""
    return page.locator(f".line[aria-posinset='{number}']")


def centre(page, selector):
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def is_saved(page):
    page.locator("[data-state=saved]").wait_for()


def point_at(page, number):
    line(page, number).locator(".said").click()
    page.keyboard.press("Escape")
    page.locator(f".line.on[aria-posinset='{number}'] .said").wait_for()
    page.locator(".wave .word").first.wait_for()


def test_a_text_is_typed_saved_by_enter_and_the_next_is_there_to_type(place, clip):
    line(place, 2).locator(".said").click()
    place.get_by_label("Text of clip 2").fill("The kettle sang.")
    place.keyboard.press("Enter")

    place.get_by_label("Text of clip 3").wait_for()
    assert place.evaluate("document.activeElement.dataset.clip") == "3"
    is_saved(place)
    assert clip(2).text == "The kettle sang."
    place.get_by_role("button", name="edited 1").wait_for()


def test_what_is_typed_saves_itself_and_escape_takes_it_back(place, clip):
    before = clip(2).text
    line(place, 2).locator(".said").click()

    place.get_by_label("Text of clip 2").press_sequentially(" And more")
    place.wait_for_timeout(300)
    is_saved(place)
    assert clip(2).text == f"{before} And more"
    place.keyboard.press("Escape")
    is_saved(place)

    assert clip(2).text == before


@pytest.mark.parametrize("away", [-1_200, 1_500])
def test_the_keyboard_stays_in_the_text_while_the_list_is_scrolled_away_and_back(place, clip, away):
    place.mouse.move(*centre(place, ".virtual"))
    place.mouse.wheel(0, 1_100)
    line(place, 25).locator(".said").click()
    text = place.get_by_label("Text of clip 25")
    text.fill("Max")

    for letters, by in (("x", away), ("s", -away), ("m", away), (" sang", -away), (".", 0)):
        place.keyboard.type(letters)
        place.mouse.wheel(0, by)
        place.wait_for_timeout(100)
    is_saved(place)

    assert text.input_value() == clip(25).text == "Maxxsm sang."


def test_letters_are_letters_while_typing_and_keys_elsewhere(place, clip):
    line(place, 2).locator(".said").click()
    place.get_by_label("Text of clip 2").fill("")
    place.keyboard.type("xmsjk / ?")
    place.keyboard.press("Enter")
    is_saved(place)
    assert clip(2).text == "xmsjk / ?"

    place.keyboard.press("Escape")
    place.keyboard.press("x")
    is_saved(place)
    place.get_by_role("button", name="left out 1").wait_for()
    assert not clip(3).included
    assert clip(2).included
    place.keyboard.press("k")
    place.locator(".line.on[aria-posinset='2']").wait_for()
    place.keyboard.press("/")
    assert place.evaluate("document.activeElement.type") == "search"


def test_a_clip_is_split_at_a_word_merged_undone_and_redone_by_keys(place, clip):
    point_at(place, 4)
    before, words = clip(4), clip(4).text.split()

    place.locator(".wave .word").nth(1).click()
    place.keyboard.press("s")
    place.get_by_role("button", name=f"all {CLIPS + 1}", exact=True).wait_for()
    assert (clip(4).text, clip(CLIPS + 1).text) == (words[0], " ".join(words[1:]))

    place.keyboard.press("m")
    place.get_by_role("button", name=f"all {CLIPS}", exact=True).wait_for()
    assert clip(4) == before

    place.keyboard.press("Control+z")
    place.get_by_role("button", name=f"all {CLIPS + 1}", exact=True).wait_for()
    place.keyboard.press("Control+Shift+z")
    place.get_by_role("button", name=f"all {CLIPS}", exact=True).wait_for()
    assert clip(4) == before


def test_an_end_is_dragged_and_moved_by_keys(place, clip):
    point_at(place, 5)
    before = clip(5)
    end = place.get_by_role("slider", name="End of the clip")
    end.scroll_into_view_if_needed()
    box = end.bounding_box()

    place.mouse.move(box["x"] + 12, box["y"] + 40)
    place.mouse.down()
    place.mouse.move(box["x"] - 20, box["y"] + 40, steps=4)
    place.mouse.up()
    place.locator(".line.on").get_by_text("not checked").wait_for()
    is_saved(place)
    dragged = clip(5)
    end.press("ArrowLeft")
    place.wait_for_timeout(700)
    is_saved(place)

    assert dragged.end < before.end
    assert clip(5).end == pytest.approx(dragged.end - 0.01, abs=0.002)
    assert clip(5).start == before.start


def test_a_clip_is_played_by_space_and_its_words_light_up(place):
    point_at(place, 6)

    place.keyboard.press(" ")
    place.locator(".wave .word.said").first.wait_for()

    assert place.evaluate("document.getElementById('player').currentTime") > 0
    place.keyboard.press(" ")
    assert place.evaluate("document.getElementById('player').paused")


def test_find_and_replace_shows_what_changes_and_is_one_undo(place, item, workspace):
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        had = sum("kettle" in each.values.text.lower() for each in opened.transcript.clips())
        place.get_by_role("button", name=re.compile("For all")).click()
        place.get_by_role("button", name="Find and replace…").click()
        place.get_by_label("Find", exact=True).fill("kettle")
        place.get_by_label("Replace by").fill("pot")
        place.get_by_role("button", name=f"Change {had}", exact=True).click()
        place.get_by_text(f"{had} changed.").wait_for()
        assert not any("kettle" in each.values.text.lower() for each in opened.transcript.clips())

        place.get_by_role("status").get_by_role("button", name="Undo").click()
        place.get_by_text("Undone:").wait_for()

        again = sum("kettle" in each.values.text.lower() for each in opened.transcript.clips())
    assert again == had > 1


def test_what_cannot_be_done_is_said_in_the_dialog_that_asked_for_it(place, item, workspace):
    place.get_by_role("button", name=re.compile("For all")).click()
    place.get_by_role("button", name="Find and replace…").click()
    asked = place.get_by_role("dialog")
    asked.get_by_label("Find", exact=True).fill("kettle")
    change = asked.get_by_role("button", name=re.compile("^Change [1-9]"))
    change.wait_for()
    with projects.open_project(projects.folder_of(workspace, item)) as opened:
        for each in opened.transcript.clips():
            opened.transcript.edit("leave out", editing.leave_out([each], "noise").edits)

    change.click()

    asked.get_by_role("alert").get_by_text("changed elsewhere").wait_for()


def test_undo_and_redo_say_what_they_would_do_and_are_grey_while_there_is_nothing(place, clip):
    undo, redo = (place.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    assert (undo.is_disabled(), redo.is_disabled()) == (True, True)

    line(place, 2).locator(".said").click()
    place.keyboard.type("And ")
    assert undo.is_enabled()
    place.get_by_title("Undo: change the text").click()
    place.get_by_title("Redo: change the text").wait_for()
    assert (undo.is_disabled(), redo.is_disabled()) == (True, False)

    undo.click(force=True)
    place.get_by_text("There is nothing to undo.").wait_for()


def test_an_undo_is_not_offered_any_more_when_something_else_is_the_last_change(place):
    let_notes_stay(place)
    place.get_by_role("button", name=re.compile("For all")).click()
    place.get_by_role("button", name="Find and replace…").click()
    place.get_by_label("Find", exact=True).fill("kettle")
    place.get_by_label("Replace by").fill("pot")
    place.get_by_role("button", name=re.compile("^Change [1-9]")).click()
    offered = place.get_by_role("status").get_by_role("button", name="Undo")
    offered.wait_for()

    line(place, 2).locator(".said").click()
    place.keyboard.type("And ")

    offered.wait_for(state="detached")


def test_of_thousands_only_what_is_seen_is_in_the_page(page, running, workspace):
    item = screen_project.make(workspace, f"Many {time.monotonic_ns()}", 1_000)
    page.goto(f"{running.url}#{item.id}/transcript")
    page.get_by_role("button", name="all 1,000").first.click()
    page.locator(".line").first.wait_for()

    page.locator(".virtual").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")

    line(page, 1000).wait_for(timeout=SOON_MS)
    assert page.locator(".line").count() < 60


def test_a_dataset_is_frozen_and_listed(place):
    place.get_by_role("button", name="Freeze as dataset 1").click()

    place.get_by_role("region", name="Datasets").get_by_text("Dataset 1", exact=True).wait_for()
    place.get_by_role("button", name="Freeze as dataset 2").wait_for()


def test_while_the_studio_is_not_reachable_what_was_typed_stays_and_is_sent_again(
    watched, place, clip
):
    line(place, 2).locator(".said").click()
    place.context.set_offline(True)
    place.get_by_label("Text of clip 2").fill("Typed in a tunnel.")
    place.locator("[data-state=waiting]").wait_for()
    before = clip(2).text

    place.context.set_offline(False)
    is_saved(place)

    assert before != "Typed in a tunnel."
    assert clip(2).text == "Typed in a tunnel."
    watched.complaints[:] = [each for each in watched.complaints if "ERR_INTERNET" not in each]


@pytest.fixture
def tabs(chromium, running, item):
    """Two tabs on one transcript."""
    contexts = [chromium.new_context(viewport={"width": 1280, "height": 900}) for _ in range(2)]
    pages = [each.new_page() for each in contexts]
    for page in pages:
        page.set_default_timeout(SOON_MS)
        page.goto(f"{running.url}#{item.id}/transcript")
        page.get_by_role("button", name=re.compile("^all ")).click()
        page.locator(".wave canvas").wait_for()
    yield pages
    for context in contexts:
        context.close()


def test_two_tabs_lose_nothing_write_nothing_over_and_follow_each_other(tabs, running, item):
    record = screen_tabs.edit_in_turn(tabs, item.id, range(1, 20), range(EDITS))

    PICTURES.mkdir(exist_ok=True)
    tabs[0].screenshot(path=PICTURES / "transcript-two-tabs.png")
    workspace = open_workspace(running.home)
    found = screen_tabs.figures(record, screen_tabs.edited(workspace, item))
    workspace.close()
    assert (found["edits_lost"], found["silent_overwrites"]) == (0, 0)
    assert found["clashes_shown"] == found["clashes"] == 1
    # Alone it is below 2 s; other tests may have this computer's cores.
    assert found["follow_s"] <= 2


def test_a_conflict_shows_both_texts_and_lets_a_third_be_written(tabs, clip):
    tabs[0].context.set_offline(True)
    for page, text in zip(tabs, ("Mine.", "Theirs."), strict=True):
        line(page, 2).locator(".said").click()
        page.get_by_label("Text of clip 2").fill(text)
    tabs[1].keyboard.press("Enter")
    is_saved(tabs[1])
    tabs[0].context.set_offline(False)
    tabs[0].locator(".conflict").wait_for()
    shown = tabs[0].locator(".conflict").inner_text()

    tabs[0].screenshot(path=PICTURES / "transcript-conflict.png")
    tabs[0].get_by_label("Or write a third").fill("Ours.")
    tabs[0].get_by_role("button", name="Save this").click()
    is_saved(tabs[0])

    assert "Mine." in shown
    assert "Theirs." in shown
    assert clip(2).text == "Ours."
    line(tabs[1], 2).get_by_text("Ours.").wait_for(timeout=4_000)


def test_a_late_answer_is_not_taken_for_what_another_wrote_since(tabs, item, clip):
    one, other = tabs
    held = []
    one.route("**/transcript.text", lambda route: held.append((route, route.fetch())), times=1)
    line(one, 2).locator(".said").click()
    one.get_by_label("Text of clip 2").fill("Mine.")
    line(other, 2).get_by_text("Mine.").wait_for()  # it is saved, and the answer is on its way
    line(other, 2).locator(".said").click()
    other.get_by_label("Text of clip 2").fill("Theirs.")
    other.keyboard.press("Enter")
    is_saved(other)
    while screen_tabs.text_of(one, item.id, 2) != "Theirs.":
        one.wait_for_timeout(50)

    one.get_by_label("Text of clip 2").fill("Mine, more.")
    [(route, answer)] = held
    route.fulfill(response=answer)

    one.locator(".conflict").wait_for()
    shown = one.locator(".conflict").inner_text()
    assert "Mine, more." in shown and "Theirs." in shown
    assert clip(2).text == "Theirs."


def test_what_was_typed_in_a_clip_that_was_merged_elsewhere_stays_to_be_copied(tabs):
    tabs[0].context.set_offline(True)
    line(tabs[0], 3).locator(".said").click()
    tabs[0].get_by_label("Text of clip 3").fill("Typed in vain.")
    point_at(tabs[1], 2)
    tabs[1].keyboard.press("m")
    tabs[1].get_by_role("button", name=f"all {CLIPS - 1}", exact=True).wait_for()

    tabs[0].context.set_offline(False)

    gone = tabs[0].get_by_role("alert").filter(has_text="merged into another")
    gone.get_by_text("Typed in vain.").wait_for()
    gone.get_by_role("button", name="Let it go").click()
    is_saved(tabs[0])


def test_nothing_serious_is_in_the_way_of_anybody(place):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    line(place, 2).locator(".said").click()
    place.get_by_role("button", name=re.compile("^For all")).click()

    found = axe.Axe().run(place).response["violations"]

    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
