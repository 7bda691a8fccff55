"""Situations that a driver can be in, as it answers in them, and what is to be read from that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from unittest import mock

from finetune.monitor import driver as monitor
from finetune.monitor import nvml as asking
from finetune.monitor.cards import Card, Gpus
from tests.nvml import MIB, Answers, StandIn, card, driver

# Answers as they come when there is nothing to tell.
NA_BYTES, NA_UINT = 2**64 - 1, 2**32 - 1
HIGHEST_PID = 100_000
OF_MEMORY = ("total_mib", "free_mib", "used_mib", "reserved_mib")
LOST = "The GPU is lost: it does not answer any more. Restart the computer."
SHARED = "no memory of its own"
WDDM = "Windows (WDDM) does not tell"


def told(index: int = 0, *unknown: str, **others: object) -> Card:
    """What is read of a healthy card, but for what is unknown and what is otherwise."""
    healthy = Card(
        index=index,
        uuid=f"GPU-{index}",
        name="NVIDIA GeForce RTX 4070",
        total_mib=12288,
        free_mib=9728,
        capability=(8, 9),
        held_mib={},
        used_mib=2048,
        reserved_mib=512,
        busy_percent=97,
        temperature_c=61,
        watts=180.5,
        watts_limit=200.0,
        clock_mhz=2475,
        memory_clock_mhz=10501,
        pcie_generation=4,
        pcie_lanes=16,
        received_mb_s=340.0,
        sent_mb_s=12.0,
    )
    return replace(healthy, **dict.fromkeys(unknown), **others)


@dataclass(frozen=True)
class Situation:
    name: str
    answers: Answers
    cards: tuple[Card, ...] = ()
    """As they are to be read, without notes."""
    problem: str = ""
    notes: tuple[str, ...] = ()
    """A part of each that is to be there, of all cards."""
    hidden: tuple[str, ...] = ()
    """Functions that the driver does not have."""
    windows: bool = False
    wsl: bool = False
    timeout_seconds: float = 2.0
    driver: str | None = "570.124.06"
    cuda: str | None = "12.8"


def of_one(called: str, expected: Card, /, *notes: str, **facts: object) -> Situation:
    """A single card that answers so. Functions it lacks, and the like, begin with an underline."""
    others = {key[1:]: facts.pop(key) for key in list(facts) if key.startswith("_")}
    return Situation(called, driver(card(0, **facts)), (expected,), notes=notes, **others)


def without_cards(name: str, problem: str, answers: Answers, **others: object) -> Situation:
    facts = {"driver": None, "cuda": None} | others
    return Situation(name, answers, problem=problem, **facts)


V1_ONLY = told(0, "reserved_mib", used_mib=2560)
NO_MEMORY = told(0, *OF_MEMORY)

SITUATIONS = (
    # ---- The driver ----
    of_one("a healthy card", told()),
    Situation("eight cards", driver(*map(card, range(8))), tuple(map(told, range(8)))),
    Situation("a driver without a card", driver()),
    without_cards("a driver not loaded", "installed but not running", {"init": "!9"}),
    without_cards("a driver updated while in use", "updated while in use", {"init": "!18"}),
    without_cards("a driver that may not be asked", "may not ask", {"init": "!4"}),
    without_cards("a driver that has lost a card", "has lost a GPU", {"init": "!15"}),
    without_cards("an error nobody explains", "cannot be asked", {"init": "!999"}),
    without_cards("cards that cannot be counted", "cannot be asked", driver(count="!999")),
    without_cards(
        "a driver unloaded while asked", "not running", driver(card(0, temperature="!9"))
    ),
    without_cards("a driver that hangs", "did not answer", {"init": "~0.6"}, timeout_seconds=0.1),
    without_cards(
        "a card that hangs",
        "did not answer",
        driver(card(0), card(1, power="~0.6 1")),
        timeout_seconds=0.1,
    ),
    of_one("a driver that takes its time", told(), name="~0.3 NVIDIA GeForce RTX 4070"),
    Situation(
        "versions nobody tells",
        driver(card(0), driver="!999", cuda="!3"),
        (told(),),
        driver=None,
        cuda=None,
    ),
    # ---- A card that is lost hides no other ----
    Situation(
        "the second of two lost",
        driver(card(0), card(1), **{"1": "!15"}),
        (told(), Card(1, problem=LOST)),
    ),
    Situation(
        "the first of two lost over a question",
        driver(card(0, temperature="!15"), card(1)),
        (Card(0, problem=LOST), told(1)),
    ),
    of_one(
        "a card to be reset",
        Card(0, problem="The GPU stopped working and must be reset. Restart the computer."),
        busy="!16",
    ),
    of_one(
        "a card kept from the container",
        Card(0, problem="The system or the container keeps the GPU from this program."),
        handle="!17",
    ),
    # ---- Memory ----
    of_one("no newer memory", V1_ONLY, _hidden=("nvmlDeviceGetMemoryInfo_v2",)),
    of_one("another version of the newer memory", V1_ONLY, memory_v2="!25"),
    of_one(
        "memory of the computer, refused",
        replace(NO_MEMORY, shares_memory=True),
        SHARED,
        memory=None,
        memory_v2=None,
    ),
    of_one(
        "memory of the computer, told as 0",
        replace(NO_MEMORY, shares_memory=True),
        SHARED,
        memory="0 0 0",
        memory_v2=None,
    ),
    of_one(
        "more used than there is",
        told(0, "used_mib"),
        memory_v2=f"{12288 * MIB} {12289 * MIB} {9728 * MIB} {512 * MIB}",
    ),
    of_one(
        "17179869184 GiB used",
        told(0, "used_mib", "reserved_mib"),
        memory_v2=f"{12288 * MIB} {NA_BYTES} {9728 * MIB} {NA_BYTES - 4095}",
    ),
    of_one(
        "memory that cannot be", NO_MEMORY, memory_v2=f"{NA_BYTES} {NA_BYTES} {2**63} {NA_BYTES}"
    ),
    # ---- A card in parts ----
    of_one(
        "parts (MIG) in a container",
        told(0, *OF_MEMORY, "busy_percent", mig=True),
        "(MIG)",
        memory="!4",
        memory_v2="!4",
        busy=None,
        mig=1,
    ),
    of_one("parts (MIG) not made", told(mig=False), mig=0),
    # ---- Processes ----
    of_one(
        "programs that compute, draw, or both",
        told(held_mib={7: 1024, 8: 100, 9: None}),
        processes=f"7:{1024 * MIB},9:?",
        drawing=f"7:{1024 * MIB},8:{100 * MIB}",
    ),
    of_one(
        "older lists of programs",
        told(held_mib={7: 1024}),
        processes=f"7:{1024 * MIB}",
        _hidden=("nvmlDeviceGetComputeRunningProcesses_v3",),
    ),
    of_one(
        "no list of programs",
        told(0, "held_mib"),
        _hidden=tuple(f"nvmlDeviceGetComputeRunningProcesses_v{at}" for at in (2, 3)),
    ),
    of_one(
        "a program that holds more than there is",
        told(held_mib={7: None, 8: None}),
        processes=f"7:{12289 * MIB},8:{NA_BYTES - 1}",
    ),
    of_one(
        "programs outside the container",
        told(held_mib={7: 1024, 200_000: 1024}, strangers=frozenset({200_000})),
        "outside this container",
        processes=f"7:{1024 * MIB},200000:{1024 * MIB}",
    ),
    Situation(
        "a driver that miscounts programs",
        driver(card(0, processes="7:1024"), driver="535.54.03"),
        (told(0, "held_mib"),),
        notes=("535.54.03 misreports",),
        driver="535.54.03",
    ),
    # ---- Windows, as it was seen to answer ----
    of_one(
        "Windows with WDDM",
        told(held_mib={7: None, 8: None}, driver_model="WDDM"),
        WDDM,
        model=0,
        processes="7:?",
        drawing="7:?,8:?",
    ),
    of_one(
        "an older driver of Windows",
        told(0, "held_mib"),
        WDDM,
        model=0,
        processes="!3",
        _hidden=("nvmlDeviceGetDriverModel_v2",),
        _windows=True,
    ),
    of_one(
        "WSL",
        told(0, "held_mib", "watts", "temperature_c"),
        "does not tell WSL",
        processes="!3",
        power="!3",
        temperature="!3",
        _wsl=True,
    ),
    # ---- Other figures ----
    of_one(
        "a card that tells nothing but its name",
        Card(0, name="Tegra", shares_memory=True),
        SHARED,
        **{key.partition(".")[2]: None for key in card(0)} | {"name": "Tegra"},
    ),
    of_one(
        "figures that cannot be",
        told(
            0,
            "busy_percent",
            "temperature_c",
            "watts",
            "watts_limit",
            "clock_mhz",
            "memory_clock_mhz",
            "pcie_generation",
            "pcie_lanes",
            "sent_mb_s",
            "received_mb_s",
        ),
        busy=255,
        temperature=NA_UINT,
        pcie_generation=0,
        pcie_lanes=0,
        power_limit=0,
        **dict.fromkeys(("power", "clock", "memory_clock", "sent", "received"), NA_UINT),
    ),
    of_one("a name that is no text", told(0, "name"), name="\udcff\udcfe"),
    of_one("an older way to tell the heat", told(), _hidden=("nvmlDeviceGetTemperatureV",)),
)


def read(stand_in: StandIn, situation: Situation) -> Gpus:
    """Read a situation as the studio does."""
    stand_in.hide(*situation.hidden)
    stand_in.answer(situation.answers)
    release = "5.15-microsoft" if situation.wsl else "6.1.0"
    system = "Windows" if situation.windows else "Linux"
    opened = monitor.Driver(pid_exists=lambda pid: pid < HIGHEST_PID)
    with (
        mock.patch.object(asking.platform, "release", return_value=release),
        mock.patch.object(asking.platform, "system", return_value=system),
    ):
        found = opened.read(situation.timeout_seconds)
        opened.close()  # waits for one that hangs
    return found


def differences(found: Gpus, situation: Situation) -> list[str]:
    """What was read otherwise than it is to be; nothing when all is right."""
    plain = tuple(replace(each, notes=()) for each in found.cards)
    notes = [note for each in found.cards for note in each.notes]
    wrong = [] if plain == situation.cards else [f"cards {plain}, not {situation.cards}"]
    if (found.driver, found.cuda) != (situation.driver, situation.cuda):
        wrong.append(f"versions {found.driver}, {found.cuda}")
    if bool(found.problem) != bool(situation.problem) or situation.problem not in found.problem:
        wrong.append(f"problem {found.problem!r}, not {situation.problem!r}")
    if len(notes) != len(situation.notes):
        wrong.append(f"notes {notes}, not {situation.notes}")
    return wrong + [f"no {each!r}" for each in situation.notes if not any(each in n for n in notes)]
