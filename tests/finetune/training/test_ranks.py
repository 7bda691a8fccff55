"""Two devices, here two processes: the same run, the same decisions, and one of everything kept."""

from __future__ import annotations

import json
import os
import socket
import sys
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.finetune.training import learning
from tests.finetune.training.learning import Lesson

SECONDS = 150
# A fork has everything loaded already.
HOW = get_context("fork" if sys.platform == "linux" else "spawn")


def plain(tmp, **changes):
    """A run in which nothing is drawn by chance, and with weights that no step uses."""
    from tests.learner import LearnerSettings

    settings = replace(learning.SETTINGS, epochs=2, micro_batch=5, save_every=0, weight_decay=0.3)
    chosen = LearnerSettings(dropout=0.0, spare=True)
    return Lesson(Path(tmp), replace(settings, **changes), chosen)


def failing(at, error):
    calls = iter(range(10**6))

    def before(batch):
        if next(calls) == at:
            raise error

    return before


def as_one(case, folder, rank, world, port):
    """What each process does."""
    from accelerate.state import AcceleratorState

    from finetune.training import loop

    several = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
    if world > 1:
        os.environ |= {**several, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    # accelerate warns when nobody says how many threads there are to be.
    os.environ |= {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    AcceleratorState._reset_state(reset_partial_state=True)
    loop._TELL_SECONDS = 0.0
    torch.set_num_threads(1)
    lesson, said = plain(folder), ""
    if case == "memory" and rank == 1:
        lesson.trainable.network.before = failing(4, torch.OutOfMemoryError("CUDA out of memory."))
    if case == "stop":  # only the second notices, in the middle of a step
        asked = iter(range(10**6))
        lesson.wishes = lambda wish: wish == "stop" and rank == 1 and next(asked) > 8
    if case == "broken" and rank == 1:
        lesson.trainable.network.before = failing(4, RuntimeError("mat1 and mat2"))
    if case == "wish":  # whoever asks first takes the wish away
        wish_file = Path(folder, "wish")
        lesson.wishes = lambda wish: wish == "save" and _taken(wish_file)
    try:
        lesson.learn()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    _leave(folder, rank, lesson, said)


def _taken(path):
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def _leave(folder, rank, lesson, said):
    from safetensors.torch import save_file

    save_file(lesson.weights, Path(folder, f"weights {rank}"))
    told = {
        "ended": said,
        "losses": [each.loss for each in lesson.steps],
        "micro_batch": lesson.loop._stepper.micro_batch,
        "saved": lesson.saved,
        "said": lesson.said,
        "done": lesson.loop.done,
    }
    Path(folder, f"told {rank}").write_text(json.dumps(told))


class Both:
    """What the processes of a run came to."""

    def __init__(self, folder, case, world=2):
        folder.mkdir(exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        processes = [
            HOW.Process(target=as_one, args=(case, str(folder), rank, world, port), daemon=True)
            for rank in range(world)
        ]
        for each in processes:
            each.start()
        for each in processes:
            each.join(SECONDS)
            each.kill()
            each.join()
        assert [each.exitcode for each in processes] == [0] * world
        self.told = [json.loads((folder / f"told {rank}").read_text()) for rank in range(world)]
        self.weights = [load_file(folder / f"weights {rank}") for rank in range(world)]
        self.checkpoints = sorted(each.name for each in (folder / "run/checkpoints").iterdir())


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return Both(tmp_path_factory.mktemp("alone"), "plain", world=1)


def assert_close(weights, others):
    for name, each in weights.items():
        if name != "seen":  # each device counts its own
            torch.testing.assert_close(each, others[name], rtol=1e-5, atol=1e-5)


def test_two_devices_come_to_what_one_comes_to(tmp_path, alone):
    both = Both(tmp_path, "plain")

    assert both.told[0]["ended"] == both.told[1]["ended"] == ""
    assert both.told[0]["losses"] == pytest.approx(alone.told[0]["losses"], rel=1e-5)
    assert_close(both.weights[0], alone.weights[0])
    assert_close(both.weights[0], both.weights[1])


def test_memory_that_runs_out_on_one_makes_both_take_less(tmp_path, alone):
    both = Both(tmp_path, "memory")

    assert [each["micro_batch"] for each in both.told] == [3, 3]
    assert "goes on with 3" in both.told[0]["said"]
    assert_close(both.weights[0], alone.weights[0])


def test_a_wish_that_one_notices_stops_both_with_one_checkpoint(tmp_path, alone):
    both = Both(tmp_path, "stop")

    assert all(each["ended"].startswith("StopWork: Stopped after step") for each in both.told)
    step = both.told[0]["done"]
    assert 0 < step == both.told[1]["done"] < alone.told[0]["done"]
    assert both.checkpoints == [f"step-{step:06}"]
    assert [each["saved"] for each in both.told] == [[step], []]

    again = Both(tmp_path, "plain")

    assert_close(again.weights[0], alone.weights[0])


def test_an_error_on_one_ends_both_in_words(tmp_path):
    both = Both(tmp_path, "broken")

    assert "mat1 and mat2" in both.told[1]["ended"]
    assert both.told[0]["ended"].startswith("EngineError: Another device could not go on")


def test_a_wish_is_fulfilled_whoever_could_have_taken_it(tmp_path):
    (tmp_path / "wish").touch()

    both = Both(tmp_path, "wish")

    assert both.told[0]["saved"] == [1, both.told[0]["done"]]
