"""The archive that helps to find a fault: it says what failed, and nothing that is private."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from app import diagnostics
from app.doctor import Check
from finetune import projects
from finetune.jobs.folder import JobFolder, Request
from finetune.jobs.outcome import Outcome
from finetune.monitor.machine import Computer
from finetune.monitor.sampler import Reading
from tests.nvml.situations import told
from voices import files, names, spoken
from voices.spoken import Spoken, Wish
from voices.workspace import now

SAID = "The canary sang seven songs behind the yellow curtain."
HEARD = "Parrots whisper under seventeen umbrellas."
SPOKEN = "Penguins never borrow marmalade on Tuesdays."
SCRIPT = "Walruses polish the silver candlesticks nightly."
GIVEN = "Ostriches juggle porcelain teapots at dawn."
CANARIES = (
    *(
        "canary",
        "yellow curtain",
        "Parrots",
        "umbrellas",
        "Rosalind",
        "Octavia",
        "hunter22",
        "sekrit",
        "marmalade",
        "candlesticks",
        "teapots",
    ),
    *("interview-rosalind", "GPU-0", "RIFFCANARY"),
)


def ended(workspace, outcome, log="", title="Train Rosalind"):
    """A job that ended, as its folder and the store have it."""
    folder = JobFolder(workspace.jobs / names.new_id())
    folder.write_request(Request("train", title, ("python", "-m", "x")))
    folder.log_path.write_text(log)
    folder.write_outcome(outcome)
    with workspace.store.change() as store:
        store.execute(
            "INSERT INTO jobs SELECT ?, coalesce(max(place), 0) + 1, '', '', 'ended', '', ? FROM jobs",
            (folder.id, now()),
        )
    return folder


@pytest.fixture
def archive(workspace, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "sekrit-sekrit")
    item = projects.create(workspace, "Rosalind")
    folder = projects.folder_of(workspace, item)
    (folder / "recordings" / "0123456789ab.wav").write_bytes(b"RIFFCANARY")
    with projects.open_project(folder) as project, project.store.change() as store:
        store.execute(
            "INSERT INTO recordings VALUES"
            " ('r1', 1, 'tapes/interview-rosalind.wav', 9, '', 'x', 'r1.wav', '{}', 'en', 0)"
        )
        store.execute("INSERT INTO clips VALUES (1, 'r1', 0, 3, ?, 1, '', 0, 1)", (SAID,))
        words = json.dumps([[word, 0, 1, 1] for word in HEARD.split()])
        store.execute("INSERT INTO hearings VALUES (1, 'r1', 'whisper', 'x', 'en', '', 1)")
        store.execute("INSERT INTO stretches VALUES (1, 0, 3, '[]', ?, x'')", (words,))
    trace = f'Traceback (most recent call last):\n  File "{workspace.root}/x.py", line 3, in f\n'
    with files.new_folder(spoken.folder_of(workspace) / "0123456789ab") as new:
        wish = Wish("0123456789ab", "Octavia", SPOKEN)
        spoken.write(Spoken(new.name, wish, 24000, (), now(), True), new)
    script = spoken.folder_of(workspace) / "123456789abc" / "script.txt"
    given = folder / "texts" / "000000-0123456789ab" / "given.txt"
    for path, text in ((script, SCRIPT), (given, GIVEN)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    log = f"{SPOKEN}\n{SCRIPT}\n{GIVEN}\n{SAID}\n{trace}ValueError: {HEARD!r} in tapes/interview-rosalind.wav sekrit-sekrit\n"
    ended(
        workspace,
        Outcome("bug", f"Broke at {SAID[:40]!r}", "Look.", "ValueError: x", tuple(log.split("\n"))),
    )
    ended(workspace, Outcome("bug", "Train Octavia broke."), "", "Train Octavia")
    ended(workspace, Outcome("finished", "Done."), "GOOD LOG")
    (workspace.root / "faults.txt").write_text(
        f"{trace}KeyError: 'Rosalind' token=hunter22hunter22\n"
    )
    (workspace.root / "studio.json").write_text('{"url": "http://127.0.0.1/?token=hunter22"}')
    reading = Reading(1.0, diagnostics_gpus(), Computer(ram_mib=16384))
    packed = diagnostics.pack(workspace, [Check("Disk", "problem", "0 GB", "Free some.")], reading)
    with zipfile.ZipFile(io.BytesIO(packed)) as read:
        return {name: read.read(name).decode() for name in read.namelist()}


def diagnostics_gpus():
    from finetune.monitor.cards import Gpus

    return Gpus((told(held_mib={4711: 100}),), "570.1", "12.8")


def test_nothing_private_is_in_any_file(archive, workspace):
    whole = "\n".join([*archive, *archive.values()])

    assert [canary for canary in (*CANARIES, str(workspace.root)) if canary in whole] == []


def test_it_says_what_failed_where_and_with_what(archive):
    job = json.loads(archive["jobs.json"])[-1]
    log = "".join(text for name, text in archive.items() if name.startswith("logs/"))

    assert (job["kind"], job["cause"], job["first_cause"]) == ("train", "bug", "ValueError: x")
    assert 'File "<workspace>/x.py", line 3, in f' in log
    assert "KeyError" in archive["faults.txt"]
    assert json.loads(archive["doctor.json"])[0]["fix"] == "Free some."
    assert json.loads(archive["versions.json"])["timbre"]
    [card] = json.loads(archive["gpus.json"])["cards"]
    assert card["total_mib"] == 12288 and "held_mib" not in card


def test_a_job_that_ended_well_is_not_in_it(archive):
    assert "GOOD LOG" not in "".join(archive.values())


def test_a_project_that_cannot_be_read_does_not_keep_it_from_being_made(workspace):
    item = projects.create(workspace, "Broken")
    (projects.folder_of(workspace, item) / "project.db").write_bytes(b"nonsense " * 1000)

    assert diagnostics.pack(workspace, [], None)
