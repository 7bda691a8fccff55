"""Memory that spills is found within seconds, and never where none does."""

from __future__ import annotations

from random import Random

import pytest

from finetune.monitor.spill import Moment, no_figure, spilled, spilling


def healthy(at, chance=None, **others):
    """A training that fills its card, as good ones do, at a rate that goes up and down."""
    drawn = chance.uniform(0.7, 1.0) if chance else 1.0
    facts = {
        "total_mib": 12288,
        "free_mib": 300,
        "others_mib": 900,
        "reserved_mib": 10_500,
        "away_mib": 90,
        "link_mb_s": 400.0,
        "link_limit_mb_s": 31_504.0,
        "clips_per_second": 20.0 * drawn,
        "step_ms": 400.0 / drawn,
    }
    return Moment(float(at), **(facts | others))


def found_after(**otherwise):
    """How many seconds after a training begins to be otherwise it is said that memory spills."""
    moments = [healthy(at) for at in range(30)]
    for late in range(30):
        moments.append(healthy(30 + late, **{k: f(late) for k, f in otherwise.items()}))
        if said := spilling(moments, 400.0):
            return late, said
    return None, ""


def always(value):
    return lambda late: value


@pytest.mark.parametrize(
    ("otherwise", "said"),
    [
        ({"away_mib": lambda late: 200 + 100 * late}, "MiB of it are there"),
        ({"reserved_mib": always(12_000)}, "612 MiB more are in use than the GPU has"),
        (
            {"free_mib": always(100), "step_ms": always(14_400)},
            "a step takes 36.0 times as long",
        ),
        (
            {"link_mb_s": always(28_000), "clips_per_second": always(1)},
            "it learns at 5 % of its speed",
        ),
    ],
)
def test_each_sign_of_a_spill_is_said_within_ten_seconds(otherwise, said):
    late, found = found_after(**otherwise)

    assert late <= 10
    assert said in found and "Choose a smaller batch" in found


@pytest.mark.parametrize(
    "otherwise",
    [
        {"reserved_mib": always(11_388)},
        {"free_mib": always(0)},
        {"step_ms": always(14_400), "clips_per_second": always(1)},
        {"link_mb_s": always(31_000)},
        {"reserved_mib": lambda late: 12_000 if late % 3 == 0 else 10_500},
        {"others_mib": always(None), "reserved_mib": always(12_200)},
        {"total_mib": always(None), "free_mib": always(0), "step_ms": always(9000)},
        {"link_limit_mb_s": always(None), "link_mb_s": always(31_000), "step_ms": always(9000)},
    ],
)
def test_one_half_of_a_sign_or_a_short_one_is_none(otherwise):
    moments = [healthy(at) for at in range(30)]
    moments += [healthy(30 + at, **{k: f(at) for k, f in otherwise.items()}) for at in range(60)]

    assert not any(spilling(moments[:end], 400.0) for end in range(91))


def test_memory_that_lies_outside_and_does_not_grow_is_none():
    moments = [healthy(at, away_mib=600) for at in range(60)]

    assert not any(spilling(moments[:end], 400.0) for end in range(61))


def test_a_thousand_healthy_trainings_are_never_said_to_spill():
    for seed in range(1000):
        chance = Random(seed)
        moments = [healthy(at, chance, free_mib=chance.randint(0, 2000)) for at in range(30)]

        assert spilling(moments, 400.0) == ""


def test_nothing_known_is_no_spill():
    assert spilling([]) == ""
    assert spilling([Moment(float(at)) for at in range(60)], 400.0) == ""


ERROR = (
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8.00 GiB of"
    " which 0 bytes is free. Including non-PyTorch memory, this process has 17179869184.00 GiB"
    " memory in use. Of the allocated memory {} is allocated by PyTorch, and 1.00 GiB is reserved"
)


def test_an_error_tells_that_memory_had_spilled():
    said = spilled(ERROR.format("14.21 GiB"))

    assert "14551 MiB on a GPU of 8192 MiB" in said and "smaller batch" in said
    assert no_figure(ERROR)


@pytest.mark.parametrize("error", [ERROR.format("7000.50 MiB"), "CUDA out of memory.", ""])
def test_an_ordinary_error_tells_of_no_spill(error):
    assert spilled(error) == ""
