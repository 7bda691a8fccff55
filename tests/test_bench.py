"""The benchmarks themselves: what they say of a figure, and that they notice what they look for."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from finetune.jobs.events import Progress as Step
from finetune.jobs.events import Said
from tests.bench import __main__ as command
from tests.bench import jobs_found, kills, model, mutants, progress, record, timing, writer
from tests.bench.killing import Killed
from tests.bench.machine import Machine
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Result, Settings
from tests.bench.seeds import SEEDS, Seed
from tests.stores import OpenTranscript
from voices import files

# ---- What is said of a figure --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "value", "holds"),
    [
        ("== 0", 0, True),
        ("== 0", 1, False),
        ("< 2", 1.99, True),
        ("< 2", 2, False),
        ("<= 0.02", 0.02, True),
        ("<= 0.02", 0.021, False),
        (">= 0.5", 0.5, True),
        ("== others", 12, True),
        ("== others", 11, False),
        ("== unmeasured", 11, None),
        ("", 11, None),
    ],
)
def test_a_limit_is_a_comparison_with_a_number_or_another_figure(limit, value, holds):
    assert Figure("one", "", limit).holds({"one": value, "others": 12}) is holds


def test_what_was_not_measured_neither_holds_nor_fails():
    assert Figure("one", "", "== 0").holds({}) is None


MACHINE = Machine("Some CPU | 3 GHz", 2, 16.0, "Linux 6", "3.11.7", ("Some GPU",))
FIGURES = (Figure("lost", "what is lost", "== 0"), Figure("rounds", "how many"))
EXAMPLE = Benchmark("example", "Loses things.", FIGURES, lambda *_: Measured({}), ("first",))


def a_result(lost=0, machine=MACHINE, date="2026-01-02T03:04:05+00:00", **settings):
    measured = Measured({"lost": lost, "rounds": 1200})
    said = record.command("example", Settings(**settings))
    return Result(EXAMPLE, date, machine, said, measured)


def rows(page):
    return [line for line in page.splitlines() if line.startswith("| 20")]


def test_a_result_is_one_object_with_all_it_takes_to_measure_again():
    said = a_result(gpu=True).as_json()

    assert list(said) == ["bench", "date", "machine", "command", "figures"]
    assert said["command"] == "python launch.py bench example --gpu"
    assert said["figures"] == {"lost": 0, "rounds": 1200}
    assert list(said["machine"]) == ["cpu", "cores", "ram_gb", "os", "python", "gpus"]


def test_keeping_a_result_twice_is_keeping_it_once():
    once = record.with_result("# Performance\n\nWords.\n", a_result())

    assert record.with_result(once, a_result()) == once
    assert rows(once) == [
        "| 2026-01-02 | Some CPU / 3 GHz, 2 cores, 16 GB RAM, Some GPU, Linux 6, Python 3.11.7 |"
        f" `python launch.py bench example` | `{name}` | {value} | {limit} |"
        for name, value, limit in [("lost", "0", "== 0"), ("rounds", "1,200", "")]
    ]


def test_a_newer_result_takes_the_place_of_the_older_and_leaves_the_others():
    other = replace(MACHINE, cores=64)
    page = record.with_result("# Performance\n", a_result(lost=3))
    page = record.with_result(page, a_result(machine=other))
    page = record.with_result(page, a_result(rounds=5)) + "\nMore words.\n"

    page = record.with_result(page, a_result(lost=0, date="2027-01-01T00:00:00+00:00"))

    assert [row.split(" | ")[0] for row in rows(page)] == ["| 2027-01-01"] * 2 + [
        "| 2026-01-02"
    ] * 4
    assert "missed" not in page
    assert page.endswith("\nMore words.\n")


def test_a_missed_limit_is_kept_as_missed():
    assert "| 3 | == 0, missed |" in record.with_result("", a_result(lost=3))


def test_parts_are_joined():
    both = record.together([Measured({"a": 1}, ("one",)), Measured({"b": 2}, ("two",))])

    assert both == Measured({"a": 1, "b": 2}, ("one", "two"))


# ---- Side by side --------------------------------------------------------------------------------


def test_two_ways_take_turns_in_going_first():
    order = []

    def way(name, seconds):
        return lambda: order.append(name) or seconds

    pairs = timing.alternate(way("a", 1.0), way("b", 1.5), range(3))

    assert "".join(order) == "abbaab"
    assert pairs == [(1.0, 1.5)] * 3
    assert timing.shares(pairs) == [0.5] * 3


def test_the_spread_is_where_the_middle_half_lies():
    assert timing.spread([5.0, 1.0, 2.0, 3.0, 400.0]) == timing.Spread(3.0, 2.0, 5.0)
    assert timing.spread([5.0]) == timing.Spread(5.0, 5.0, 5.0)


def test_progress_tells_how_far_it_is_and_how_long_it_takes():
    assert progress.in_words(0, 200, "rounds", 0) == "0 of 200 rounds in 0 s"
    assert progress.in_words(50, 200, "rounds", 100) == "50 of 200 rounds, 0.5/s, 300 s left"
    assert progress.in_words(200, 200, "rounds", 400) == "200 of 200 rounds in 400 s"


# ---- The command ---------------------------------------------------------------------------------


@pytest.fixture
def example(monkeypatch):
    def measure(settings, telling):
        if settings.rounds == 13:
            raise CannotMeasure("there is no such thing here")
        list(telling.through(range(3), "things"))
        return Measured({"lost": settings.rounds or 0}, ("A note.",))

    monkeypatch.setitem(record.KNOWN, "example", "example")
    monkeypatch.setattr(record, "find", lambda name: replace(EXAMPLE, measure=measure))


def test_the_answer_to_a_program_is_one_object_alone_on_stdout(example, capsys):
    assert command.main(["example", "--json"]) == 0

    said = capsys.readouterr()
    assert json.loads(said.out)["figures"] == {"lost": 0}
    assert json.loads(said.out)["notes"] == ["A note."]
    assert "3 of 3 things" in said.err


def test_a_missed_limit_is_shown_and_no_failure(example, capsys):
    assert command.main(["example", "--rounds", "7"]) == 0

    assert "no" in capsys.readouterr().out


def test_what_cannot_be_measured_is_a_sentence_and_a_failure(example, capsys):
    assert command.main(["example", "--rounds", "13", "--json"]) == 1

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "example could not be measured: there is no such thing here\n"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["nothing"], "There is no benchmark 'nothing'. There is: kills, jobs, mutants"),
        (["example", "--gpu"], "nothing to measure on a GPU"),
        (["example", "--only", "second"], "no part 'second'. Its parts: first."),
    ],
)
def test_misuse_is_a_sentence(example, capsys, typed, said):
    assert command.main(typed) == 2

    assert said in capsys.readouterr().err


def test_every_benchmark_is_listed_with_a_line(capsys):
    assert command.main(["list", "--json"]) == 0

    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == list(record.KNOWN)
    assert all(about.endswith(".") for about in listed.values())


def test_a_result_is_kept_on_the_page(example, tmp_path):
    page = tmp_path / "performance.md"

    command.main(["example", "--record"], page)
    command.main(["example", "--record"], page)

    assert page.read_text().startswith("# Performance")
    assert len(rows(page.read_text())) == 1


@pytest.mark.parametrize("name", record.KNOWN)
def test_every_figure_has_a_name_of_its_own_and_says_what_it_is(name):
    figures = record.find(name).figures

    assert len({figure.name for figure in figures}) == len(figures)
    assert all(figure.about and figure.name.isidentifier() for figure in figures)
    assert all(
        figure.holds({figure.name: 0, "mutants": 0, "rounds": 0, "clashes": 0}) is not None
        for figure in figures
        if figure.limit
    )


# ---- kills ---------------------------------------------------------------------------------------


def write(path, seed, count):
    """Do so many actions, without being killed."""
    transcript = OpenTranscript(path)
    transcript.add_recording(model.RECORDING, "One.wav", 3600.0)
    state = model.Model(seed)
    while state.count < count:
        wish = state.next_wish()
        wish.carry_out(transcript)
        state.follow(wish)
    transcript.close()


@pytest.mark.parametrize("seed", range(5))
def test_the_model_and_the_transcript_agree_on_every_action(seed, tmp_path):
    write(tmp_path / "project.db", seed, 60)

    assert kills.read_back(tmp_path / "project.db") == model.after(seed, 60).state()


@pytest.mark.parametrize(
    ("acknowledged", "goes_on", "lost"), [(40, 40, 0), (39, 40, 0), (43, None, 3), (41, None, 1)]
)
def test_edits_that_were_acknowledged_and_are_not_there_are_counted(
    tmp_path, acknowledged, goes_on, lost
):
    write(tmp_path / "project.db", 1, 40)
    found = kills.Transcripts()

    assert found.check(Killed(tmp_path, 1, 0, acknowledged)) == goes_on
    assert (found.lost, found.unreadable) == (lost, 0)


def test_a_store_that_cannot_be_read_is_counted(tmp_path):
    (tmp_path / "project.db").write_bytes(b"no database" * 100)
    found = kills.Transcripts()

    assert found.check(Killed(tmp_path, 1, 0, 4)) is None
    assert (found.lost, found.unreadable) == (0, 1)


def write_files(folder, seed, count):
    for name, content in writer.whole(seed, count).items():
        if isinstance(content, bytes):
            files.write_bytes(folder / name, content)
            continue
        with files.new_folder(folder / name) as new:
            for part, inside in content.items():
                (new / part).parent.mkdir(exist_ok=True)
                (new / part).write_bytes(inside)


@pytest.mark.parametrize(
    ("damage", "counted"),
    [
        (lambda folder: None, (0, 0, 0)),
        (lambda folder: (folder / writer.SETTINGS).write_bytes(b"half"), (1, 0, 0)),
        (lambda folder: (folder / writer.step(2) / files.MANIFEST).unlink(), (0, 1, 0)),
        (lambda folder: (folder / writer.step(2) / "empty").write_bytes(b"x"), (0, 1, 0)),
        (lambda folder: (folder / writer.SETTINGS).unlink(), (0, 0, 1)),
    ],
)
def test_files_and_folders_that_are_half_or_lost_are_counted(tmp_path, damage, counted):
    write_files(tmp_path, 1, 6)
    damage(tmp_path)
    found = kills.Folders()

    assert found.check(Killed(tmp_path, 1, 0, 6)) == (6 if counted == (0, 0, 0) else None)
    assert (found.half_files, found.half_folders, found.lost) == counted


def test_a_few_kills_lose_nothing():
    quiet = progress.Progress(io.StringIO())

    figures = kills.BENCHMARK.measure(Settings(rounds=4), quiet).figures

    assert figures["edits_acknowledged"] > 0 and figures["writes_acknowledged"] > 0
    missed = [figure.name for figure in kills.BENCHMARK.figures if figure.holds(figures) is False]
    assert missed == []


# ---- jobs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "last", "lost"),
    [
        ([1, 2, 3], 3, 0),
        ([1, 2], 3, 1),
        ([1, 3], 3, 1),
        ([], 2, 2),
        ([1, 2, 2, 3], 3, 1),
        ([2, 1, 3], 3, 3),
    ],
)
def test_steps_that_are_missing_or_out_of_order_are_counted(told, last, lost):
    events = [Said("Began."), *(Step(step, 0, "steps") for step in told)]

    assert jobs_found.steps_lost(events, last) == lost


def test_studios_live_between_a_moment_and_six_seconds_most_of_them_briefly():
    lives = jobs_found.planned_lives(100)

    assert lives == jobs_found.planned_lives(100)
    assert min(lives) >= 0.1 and max(lives) <= 6
    assert sum(life < 3 for life in lives) > 55


@pytest.mark.parametrize("part", ["found", "doubles", "orders"])
def test_a_quick_look_at_jobs_keeps_every_promise(part):
    from tests.bench import jobs

    quiet = progress.Progress(io.StringIO())

    figures = jobs.BENCHMARK.measure(Settings(rounds=1, parts=(part,)), quiet).figures

    # How long things take belongs to a measurement; a busy machine must not turn a test red.
    counted = [figure for figure in jobs.BENCHMARK.figures if figure.limit.startswith("==")]
    missed = [figure.name for figure in counted if figure.holds(figures) is False]
    assert figures["strays"] == 0 and missed == []


# ---- mutants -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_every_seeded_fault_fits_the_code(seed):
    content = (mutants.ROOT / seed.file).read_text(encoding="utf-8")

    assert mutants.mutated(content, seed) != content
    compile(mutants.mutated(content, seed), seed.file, "exec")
    assert all((mutants.ROOT / test.partition("::")[0]).exists() for test in seed.tests)


@pytest.mark.parametrize("content", ["nothing of it", "one two one"])
def test_a_fault_that_no_longer_fits_is_an_error(content):
    with pytest.raises(CannotMeasure, match="no longer fits"):
        mutants.mutated(content, Seed("a fault", "file.py", "one", "three", ()))
