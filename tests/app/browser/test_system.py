"""System, used as a person would: what is seen is what is there, and what is asked is done."""

from __future__ import annotations

import io
import time
import zipfile

import pytest

from finetune import projects
from finetune.jobs import queue
from tests import nvml
from tests.app.browsing import needs_browser
from tests.app.test_studio import Studio
from tests.jobs_at_work import request

pytestmark = needs_browser

M = nvml.MIB
CARDS = (
    nvml.card(0),
    nvml.card(1, name="NVIDIA H100 80GB HBM3", memory_v2=f"{81559 * M} {60000 * M} {20959 * M} {600 * M}"),
    nvml.card(2, temperature=None, power=None, memory=None, memory_v2=None),
    nvml.card(3, temperature="!15"),
)  # fmt: skip
# What the page has to do within, in one piece, for a person not to notice.
LONG_TASKS = """
() => { window.long = []; new PerformanceObserver((list) => window.long.push(
  ...list.getEntries().map((each) => each.duration))).observe({ entryTypes: ['longtask'] }); }
"""
WATCHED_S = 8


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A studio on a computer with four GPUs."""
    folder = tmp_path_factory.mktemp("system")
    with pytest.MonkeyPatch.context() as patch:
        try:
            nvml.build(folder)
        except nvml.NoCompilerError as why:
            pytest.skip(str(why))
        answers = nvml.driver(*CARDS)
        (folder / "answers").write_text(
            "".join(f"{key} {value}\n" for key, value in answers.items())
        )
        patch.setenv("LD_LIBRARY_PATH", str(folder))
        patch.setenv("NVML_STAND_IN", str(folder / "answers"))
        studio = Studio(folder / "workspace")
        studio.url = studio.wait_until_found()
    yield studio
    studio.kill()


@pytest.fixture
def here(page):
    page.get_by_role("link", name="System").click()
    page.get_by_role("heading", name="GPU 0").wait_for()
    return page


def test_the_memory_of_a_card_is_the_same_figure_in_every_place(here):
    mb = 12 * 1024 * 1.048576  # as the planner has it, in millions of bytes

    said = here.evaluate(
        "async (mb) => (await import('/timbre/assets/parts/words.js')).memory(mb)", mb
    )

    assert said == "12.0 GB"
    assert f"/ {said}" in here.get_by_role("img", name="Memory").first.get_attribute("aria-label")


def test_each_gpu_is_a_gauge_and_what_is_unknown_is_said_so(here):
    card = here.locator(".card", has=here.get_by_role("heading", name="GPU 0"))
    dark = here.locator(".card", has=here.get_by_role("heading", name="GPU 2"))

    assert "2.0 GB / 12.0 GB" in card.get_by_role("img").get_attribute("aria-label")
    assert "61 °C" in card.inner_text() and "340 MB/s" in card.inner_text()
    assert "unknown" in dark.get_by_role("img").get_attribute("aria-label")
    assert "0 °C" not in dark.inner_text() and "0.0 GB" not in dark.inner_text()
    here.get_by_text("The GPU is lost").wait_for()
    here.get_by_role("heading", name="Computer", exact=True).wait_for()
    card.get_by_role("slider", name="GPU 0: memory and work in the last hour").wait_for()


def test_the_folder_of_converted_bases_is_named_in_words(here, workspace):
    folder = workspace.root / "models" / "converted"
    folder.mkdir(parents=True)
    (folder / "weights").write_bytes(bytes(50_000_000))
    room = here.get_by_role("region", name="What takes the room")

    room.get_by_role("button", name="Measure again").click()

    room.get_by_text("Bases made ready to train").wait_for()
    assert room.get_by_text("converted", exact=True).count() == 0


def test_a_job_is_looked_into_and_stopped(here, workspace):
    job = queue.submit(workspace, request("count", 100_000, "0.02", "200"))
    jobs = here.get_by_role("region", name="Jobs")
    jobs.get_by_text("of 100,000 steps").wait_for()

    jobs.get_by_role("button", name="Details count").first.click()
    here.get_by_role("dialog").get_by_text("tests.jobs_at_work").wait_for()
    here.keyboard.press("Escape")
    jobs.get_by_role("button", name="Stop and save").click()

    list(job.folder.follow(poll_seconds=0.05))
    assert queue.find(workspace, job.id).outcome.what.startswith("Saved at step")
    jobs.get_by_text("Nothing runs and nothing waits.").wait_for()


def test_waiting_jobs_change_places_and_are_taken_out(here, workspace):
    first = queue.submit(workspace, request("count", 100_000, needs="gpu-0"))
    waiting = [queue.submit(workspace, request("count", 10, needs="gpu-0")) for _ in range(2)]
    jobs = here.get_by_role("region", name="Jobs")
    jobs.get_by_role("button", name="Earlier").nth(1).click()
    deadline = time.monotonic() + 5
    while [job.id for job in queue.jobs(workspace)][1:3] != [waiting[1].id, waiting[0].id]:
        assert time.monotonic() < deadline
        time.sleep(0.05)

    for _ in waiting:
        jobs.get_by_role("button", name="Take out of the queue").first.click()
        here.wait_for_timeout(1800)

    assert [queue.find(workspace, job.id).outcome.what for job in waiting] == [
        "Taken out of the queue."
    ] * 2
    queue.stop(workspace, first.id)
    list(first.folder.follow(poll_seconds=0.05))


def test_a_project_in_the_trash_is_deleted_only_after_a_clear_yes(here, workspace):
    item = projects.create(workspace, f"Old <b>{time.monotonic_ns()}</b>")
    projects.shelf(workspace).trash(item.id)
    room = here.get_by_role("region", name="What takes the room")
    room.get_by_role("button", name="Measure again").click()
    delete = room.get_by_role("button", name=f"Delete Project {item.name}, in the trash")

    delete.click()
    here.get_by_role("button", name="No, leave it").click()
    assert projects.folder_of(workspace, item).exists()
    delete.click()
    here.get_by_role("dialog").get_by_text(item.name).wait_for()
    here.get_by_role("button", name="Delete for ever").click()
    delete.wait_for(state="hidden")

    assert not projects.folder_of(workspace, item).exists()
    assert item.id not in [each.id for each in projects.shelf(workspace).all(trashed=True)]


def test_the_computer_is_checked_and_what_helps_is_downloaded(here):
    here.get_by_role("button", name="Check this computer").click()
    here.get_by_text("a second of sound written and read back").wait_for(timeout=20_000)

    with here.expect_download() as got:
        here.get_by_role("link", name="Download a report for help").click()

    with zipfile.ZipFile(io.BytesIO(got.value.path().read_bytes())) as archive:
        assert b"a second of sound" in archive.read("doctor.json")


def test_a_licence_is_agreed_to_before_a_base_is_fetched(here, workspace):
    downloads = here.get_by_role("region", name="Downloads")
    downloads.get_by_text("More that can be downloaded").click()

    downloads.get_by_role("button", name="Download xtts", exact=True).click()

    here.get_by_role("dialog").get_by_text("Coqui Public Model License").wait_for()
    assert [job for job in queue.jobs(workspace) if job.request.kind == "download"] == []


def test_language_and_look_change_at_once_and_stay(here):
    here.get_by_label("Look").select_option("Dark")
    assert here.evaluate("document.documentElement.dataset.theme") == "dark"

    here.get_by_label("Language").select_option("zh")
    here.get_by_role("heading", name="这台电脑").wait_for()
    here.reload()

    here.get_by_role("heading", name="这台电脑").wait_for()
    assert here.evaluate("document.documentElement.dataset.theme") == "dark"


def test_four_gpus_on_show_never_hold_the_page_up(here):
    here.wait_for_timeout(3000)
    here.evaluate(LONG_TASKS)

    here.wait_for_timeout(WATCHED_S * 1000)

    assert here.evaluate("window.long") == []
