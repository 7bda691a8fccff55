"""
Fifty voices, no two alike, that leave one library for another on another path.

`python -m tests.bench.speaking_travel TASK.json SAID.json`: a process that says a sentence with
each, and notes the hash of its samples.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from engines.pocket import weights
from engines.pocket.facts import CONFIG, WEIGHTS
from engines.pocket.sound import Floats
from tests import finished, speech
from tests.bench.progress import Progress
from tests.bench.record import CannotMeasure, Measured, Settings
from voices import files, library, travel
from voices.library import Consent, Voice
from voices.speaking.narrator import Narrator
from voices.workspace import Workspace, open_workspace

VOICES = 50
SENTENCES = Path(__file__).with_name("pocket_sentences.txt")
# Names in many scripts, long, spaced, and with signs that a file's name could not have.
NAMES = (
    *("Ada", "Ädele Öz", "Жанна", "李雷", "さくら", "محمد", "नेहा", "Ελένη", "Dvořák", "김민지"),
    *("a/b\\c:d*e?", "CON", "..", "Emoji 🎙️👩🏽‍🚀", "e\u0301tude", "ﬁn", "İI", "n" * 200, "'; --", "%s{0}"),
)  # fmt: skip
TAGS = ("calm", "story", "größe", "夜", "old radio", "🎧")
_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What one voice is asked to say, and how."""

    voice: str
    text: str
    seed: int
    speed: float


def measure(work: Path, settings: Settings, progress: Progress) -> Measured:
    """Count the voices that say the same, sample for sample, in the library they came to."""
    count = settings.rounds or VOICES
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(closing(open_workspace(work / path)))
            for path in ("one", "far away/другой дом/home")
        )
        base = finished.voice(work / "base")
        kept = [_keep(one, base, number, work) for number in progress.through(range(count), "made")]
        taken = [_taken(one, other, each, work) for each in progress.through(kept, "moved")]
    here = _said(one.root, [_wish(*each) for each in enumerate(kept)], work / "here")
    # In another order too: what one of them says does not hang on who spoke before.
    there = _said(other.root, [_wish(*each) for each in enumerate(taken)][::-1], work / "there")
    return compared(
        [(each.name, here[each.id], there[new.id]) for each, new in zip(kept, taken, strict=True)]
    )


def compared(said: Sequence[tuple[str, str, str]]) -> Measured:
    """Tell how many are the same in both places, and which are not; also how many there are."""
    changed = [name for name, here, there in said if here != there]
    figures = {
        "rounds": len(said),
        "different_audio": len({here for _, here, _ in said}),
        "same_audio": len(said) - len(changed),
    }
    return Measured(figures, tuple(f"{name!r} says something else there." for name in changed))


# ---- Voices --------------------------------------------------------------------------------------


def _keep(workspace: Workspace, base: Path, number: int, work: Path) -> Voice:
    """Make a voice that nobody else has, and keep it with a tag or two and somebody's consent."""
    luck = np.random.default_rng(number)
    name = f"{NAMES[number % len(NAMES)]} {number // len(NAMES) or ''}".strip()
    folder = work / f"made-{number:02d}"
    _make(folder, base, name, luck)
    consent = Consent(f"Owner {name[:40]}", bool(luck.integers(2)))
    voice = library.keep(workspace, folder, name, consent)
    files.remove_folder(folder)
    tags = luck.choice(TAGS, luck.integers(1, 4), replace=False)
    return library.tag(workspace, voice, [str(each) for each in tags], [])


def _make(folder: Path, base: Path, name: str, luck: np.random.Generator) -> None:
    """Shake the weights of the base a little, and give it somebody's voice to speak like."""
    facts = json.loads((base / library.FACTS).read_bytes())
    nets = weights.read(base / library.ENGINE / WEIGHTS)
    config = json.loads((base / library.ENGINE / CONFIG).read_bytes())
    shaken = {key: _shaken(each, luck) for key, each in nets.items()}
    heard = speech.bundled()[luck.integers(40)]
    with files.new_folder(folder) as new:
        by_net = {each: weights.net_of(shaken, each) for each in weights.NETS}
        weights.write(
            new / library.ENGINE, {key: net for key, net in by_net.items() if net}, config
        )
        soundfile.write(new / library.REFERENCE, heard.samples, speech.RATE)
        files.write_json(new / library.FACTS, {**facts, "name": name})


def _shaken(tensor: Floats, luck: np.random.Generator) -> Floats:
    if not np.issubdtype(tensor.dtype, np.floating) or tensor.size < 2:
        return tensor
    return (tensor * (1 + 0.01 * luck.standard_normal(tensor.shape))).astype(np.float32)


def _taken(one: Workspace, other: Workspace, voice: Voice, work: Path) -> Voice:
    """Carry a voice over in one file."""
    path = work / "voice.timbre"
    travel.pack(library.find(one, voice.id), path)
    try:
        return travel.unpack(other, path)
    finally:
        path.unlink()


def _wish(number: int, voice: Voice) -> Wish:
    luck = np.random.default_rng(1000 + number)
    texts = SENTENCES.read_text(encoding="utf-8").splitlines()
    return Wish(voice.id, texts[number % len(texts)], number, round(luck.uniform(0.7, 1.4), 2))


# ---- Saying --------------------------------------------------------------------------------------


def _said(home: Path, wishes: Sequence[Wish], folder: Path) -> dict[str, str]:
    """Have a process of its own say all of it; the hash of each voice's samples."""
    folder.mkdir()
    task = {"home": str(home), "wishes": [[w.voice, w.text, w.seed, w.speed] for w in wishes]}
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    in_process("tests.bench.speaking_travel", folder / "task.json", folder / "said.json")
    found: dict[str, str] = json.loads((folder / "said.json").read_bytes())
    return found


def in_process(module: str, *arguments: Path) -> None:
    """Run a part of the benchmark by itself, with as many threads as a job has."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=_ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
    )  # fmt: skip
    if done.returncode:
        raise CannotMeasure(f"the voice did not speak:\n{done.stderr[-1500:]}")


def main(task_path: Path, said_path: Path) -> int:
    task = json.loads(task_path.read_bytes())
    with closing(open_workspace(Path(task["home"]))) as workspace:
        said = {wish[0]: _hash(workspace, Wish(*wish)) for wish in task["wishes"]}
    said_path.write_text(json.dumps(said), encoding="utf-8")
    return 0


def _hash(workspace: Workspace, wish: Wish) -> str:
    voice = library.find(workspace, wish.voice)
    manners: dict[str, Any] = {"speed": wish.speed}
    narrator = Narrator(voice.folder, voice.facts, seed=wish.seed, manners=manners)
    samples = narrator.say(wish.text).sound.samples
    return hashlib.sha256(samples.tobytes()).hexdigest()


if __name__ == "__main__":
    raise SystemExit(main(*map(Path, sys.argv[1:])))
