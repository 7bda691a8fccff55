"""Everybody gets everywhere: screen readers, keyboards, both themes, wide and narrow."""

from __future__ import annotations

import re
from pathlib import Path

import axe_playwright_python
import pytest

from finetune import projects, runs
from finetune.jobs.events import Measured
from finetune.runs import Plan
from tests import finished, trainee
from tests.app.browser.conftest import BOTH
from tests.app.browsing import needs_browser
from tests.bench import screen_project
from voices import library
from voices.workspace import open_workspace

pytestmark = needs_browser

PLACES = ["home", "recordings", "transcript", "train", "voices", "system"]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# What holds the focus, and whether a person can tell.
FOCUSED = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const box = at.getBoundingClientRect(), look = getComputedStyle(at);
  const label = at.labels?.[0]?.innerText || at.getAttribute('aria-label') || at.innerText
    || at.title || at.placeholder || '';
  return {
    what: at.outerHTML.slice(0, 120), name: label.trim(),
    shown: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
    ringed: look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) > 0,
  };
}"""


# What is in sight and names itself, where it reads like English.
ENGLISH = r"""() => {
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { parentElement, textContent } = texts.currentNode;
    if (!parentElement.closest('pre, code, textarea')) found.push(textContent);
  }
  for (const name of ['title', 'aria-label', 'placeholder']) {
    for (const each of document.querySelectorAll(`main [${name}]`)) found.push(each.getAttribute(name));
  }
  const bare = (each) => each.replace(/`[^`]*`|--\w+ \S+|Public Model License|^Whisper .*/g, '');
  return found.filter((each) => /[a-z]{2,} [a-z]{2,}/.test(bare(each)));
}"""


@pytest.fixture(scope="module")
def filled(running, tmp_path_factory):
    """A project with everything in it: clips, a dataset, a run with a curve, a voice."""
    workspace = open_workspace(running.home)
    item = screen_project.make(workspace, "Ada", 40)
    with projects.open_project(projects.folder_of(workspace, item)) as project:
        trainee.freeze(project)
    run = runs.create(workspace, Plan("Ada", item.id, 1, "pocket", "/base"))
    steps = [trainee.step_event(step, 100, 2 - step / 100) for step in range(1, 100)]
    trainee.write_history(run, *steps, Measured(1, 1.5, {}), Measured(99, 1.0, {}))
    folder = finished.voice(tmp_path_factory.mktemp("made") / "voice", "Ada")
    library.keep(workspace, folder, "Ada")
    yield item
    workspace.close()


def opened(page, running, item, place):
    page.goto(f"{running.url}#{item.id}/{place}")
    page.get_by_role("heading", level=1).wait_for()
    page.wait_for_timeout(700)  # what is asked for when the place is there


@BOTH
@pytest.mark.parametrize("place", PLACES)
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(page, running, filled, place):
    opened(page, running, filled, place)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait_for_timeout(300)

    page.evaluate(AXE)
    found = page.evaluate("axe.run()")

    serious = [
        (each["id"], [node["html"] for node in each["nodes"]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("place", PLACES)
def test_the_keyboard_goes_through_all_of_a_place_and_shows_where_it_is(
    page, running, filled, place
):
    opened(page, running, filled, place)
    seen, lost = set(), []

    for _ in range(150):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at is None:
            break
        seen.add(at["what"])
        if not (at["name"] and at["shown"] and at["ringed"]):
            lost.append(at)

    assert lost == []
    buttons = page.locator("main button:visible:enabled:not([tabindex='-1'])").count()
    assert len(seen) >= min(buttons, 10)


def test_a_project_is_made_and_every_place_visited_by_keyboard_alone(page, running, filled):
    opened(page, running, filled, "home")

    page.get_by_label("New project").focus()
    page.keyboard.type("By keys")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Recordings").and_(page.locator("[aria-current]")).wait_for()

    for place in PLACES:
        page.get_by_role("navigation").get_by_role("link", name=place.capitalize()).focus()
        page.keyboard.press("Enter")
        page.locator(f"nav a[aria-current][href$='/{place}']").wait_for()
    assert (
        page.get_by_role("combobox", name="Project").locator(":checked").inner_text() == "By keys"
    )


@pytest.mark.parametrize("place", PLACES)
def test_in_chinese_nothing_of_timbres_own_is_said_in_english(page, running, filled, place):
    page.evaluate("localStorage.setItem('timbre.language', 'zh')")
    page.reload()
    opened(page, running, filled, place)
    if place == "system":
        page.get_by_role("button", name="检查这台电脑").click()
        page.get_by_text("Python", exact=True).first.wait_for()
        page.get_by_role("button", name="检查这台电脑", disabled=False).wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait_for_timeout(1500)

    spoken = re.compile(f"({'|'.join(screen_project.WORDS)}| )+\\.?", re.IGNORECASE)

    assert [each for each in page.evaluate(ENGLISH) if not spoken.fullmatch(each)] == []
