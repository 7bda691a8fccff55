import io
from functools import reduce

import pytest

from app.setup import progress
from app.setup.progress import Line, Seen, Watcher, duration, read_line, size, words

# What uv 0.13.8 prints with --no-progress into a file.
UV = """\
Using Python 3.11.7 environment at: .venv
Resolved 148 packages in 477ms
Downloading matplotlib (9.4MiB)
Downloading torch (506.0MiB)
   Building docopt==0.6.2
Downloading nvidia-cublas (403.5MiB)
 Downloaded matplotlib
      Built docopt==0.6.2
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(text: str) -> Seen:
    return reduce(read_line, text.splitlines(), Seen())


def test_uvs_lines_say_what_is_on_its_way():
    state = seen(UV)

    assert state.total == 148
    assert state.current == "torch"
    assert state.arrived == {"matplotlib"}
    assert not state.prepared
    assert seen(UV + " Downloaded torch\n").current == "nvidia-cublas"


def test_progress_shows_bytes_the_rate_the_time_left_and_what_it_waits_for():
    whole = Seen(begun=(("torch", 2931.9),))

    said = words(whole, written=2_400_000_000, rate=71e6, waited=30)

    assert said == "2.4 GB, 71 MB/s, 49 s left · torch"


def test_no_time_is_promised_before_it_can_be_known():
    state = seen(UV)

    assert "left" not in words(state, 1_000_000, 70e6, waited=1)
    assert "left" not in words(state, 1_000_000, 0, waited=60)
    assert "left" not in words(state, 90_000_000_000, 70e6, waited=60)


def test_packages_are_counted_where_the_system_counts_no_bytes():
    assert words(seen(UV), None, 0, waited=75) == "1 of 3 large packages, 1 min 15 s · torch"


def test_the_last_step_is_named():
    state = seen(UV + "Prepared 148 packages in 16.84s\n")

    assert words(state, 6_000_000_000, 1, 60) == "putting 148 packages in place"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (50, "50 s"), (60, "1 min"), (200, "3 min 20 s"), (3900, "1 h 5 min")],
)
def test_durations_read_like_a_person_says_them(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 MB"), (71_000_000, "71 MB"), (2.4e9, "2.4 GB"), (999e6, "1.0 GB")]
)
def test_sizes_read_like_a_person_says_them(count, said):
    assert size(count) == said


def test_the_rate_is_that_of_the_samples():
    assert progress.rate([(0.0, 0), (2.0, 100)]) == 50
    assert progress.rate([(0.0, 5)]) == 0
    assert progress.rate([(1.0, 5), (1.0, 9)]) == 0


def test_a_terminal_line_is_rewritten_and_leaves_nothing_of_a_longer_one():
    terminal = Terminal()
    line = Line(terminal)

    line.show("a long line of progress")
    line.show("short")
    line.say("Done.")

    shown = terminal.getvalue().split("\r")
    assert len(shown[2]) == len("a long line of progress")
    assert shown[-1] == "Done.\n"
    assert terminal.getvalue().count("\n") == 1


def test_a_file_gets_a_plain_line_now_and_then():
    file = io.StringIO()
    line = Line(file, every_s=10)

    for step in range(50):
        line.show(f"step {step}")

    assert file.getvalue() == "step 0\n"


def test_bytes_come_from_the_system_or_are_unknown():
    def unreadable(path):
        raise PermissionError(path)

    assert progress.bytes_written(1, lambda path: "rchar: 5\nwchar: 42\n") == 42
    assert progress.bytes_written(1, unreadable) is None


def test_the_watcher_reads_only_whole_new_lines(tmp_path):
    log = tmp_path / "setup.log"
    log.write_bytes(b"Downloading old (900.0MiB)\n")
    file = io.StringIO()
    watcher = Watcher(log, log.stat().st_size, "Installing", Line(file, every_s=0))

    with log.open("ab") as writing:
        writing.write(b"Downloading torch (5.0MiB)\nDownloading nvi")
    watcher.look(-1)
    with log.open("ab") as writing:
        writing.write(b"dia-cublas (6.0MiB)\n")
    watcher.look(-1)

    assert file.getvalue().splitlines() == [
        "Installing: 0 of 1 large packages, 0 s · torch",
        "Installing: 0 of 2 large packages, 0 s · nvidia-cublas",
    ]
