"""Our training loop beside Coqui's trainer: the same clips, base, batch and steps, in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from tests.bench import machine
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, CannotMeasure, Figure, Measured, Settings, together
from tests.bench.trainer_task import Found, Task

ROUNDS = 3
USUAL_EPOCHS = 10
BATCHES = (2, 4, 8, 16)
# On a processor its loaders compete with what learns; on a GPU it has as many as its demo takes.
CPU_WORKERS = (0, 2)
GPU_WORKERS = 8
GPU_THREADS = 4
_CODE = Path(__file__).parents[2]
_OUT_OF_MEMORY = ("out of memory", "OutOfMemoryError", "not enough memory")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is learned, by how large a network, on what."""

    dim: int
    layers: int
    heads: int
    clips: int
    warm_steps: int
    """Of Coqui's. Ours warms up for an epoch, because its clips come by length."""
    epochs: int
    phase_epochs: int
    batch: int = 4
    device: str = "cpu"
    batches: tuple[int, ...] = BATCHES
    patience_s: float = 1800.0
    """For one process."""


TINY = Scale(dim=128, layers=4, heads=2, clips=96, warm_steps=6, epochs=2, phase_epochs=2)
FULL = Scale(1024, 30, 16, clips=192, warm_steps=12, epochs=1, phase_epochs=2, device="cuda")


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to train on a GPU, a row of its table."""

    module: str
    about: str
    mixed: bool = False
    recompute: bool = False
    lora_rank: int = 0


KINDS = {
    "coqui_fp32": Kind("trainer_coqui", "Coqui's trainer as its demo sets it up, fp32"),
    "coqui_mixed": Kind("trainer_coqui", "Coqui's with its mixed precision", mixed=True),
    "ours": Kind("trainer_ours", "ours, precision auto"),
    "ours_recompute": Kind("trainer_ours", "ours, activations recomputed", recompute=True),
    "ours_lora": Kind("trainer_ours", "ours, LoRA of rank 16", lora_rank=16),
}


def measure(settings: Settings, progress: Progress) -> Measured:
    """Compare on a processor with a tiny network, or with `--gpu` the full size on a GPU."""
    return measure_at(FULL if settings.gpu else TINY, settings, progress)


def measure_at(scale: Scale, settings: Settings, progress: Progress) -> Measured:
    """The same at any size: the way over a GPU can be tried out without one."""
    with tempfile.TemporaryDirectory(prefix="timbre-bench-") as folder:
        bench = _Bench(Path(folder), scale)
        parts = _on_gpu(bench) if settings.gpu else _on_processor(bench, settings)
        wanted = [part for name, part in parts.items() if settings.wants(name)]
        if not wanted:
            raise CannotMeasure(
                f"that part is measured {'without' if settings.gpu else 'with'} --gpu"
            )
        bench.lay_out()
        return together([part() for part in progress.through(wanted, "parts")])


def _on_processor(bench: _Bench, settings: Settings) -> dict[str, Callable[[], Measured]]:
    rounds = settings.rounds or ROUNDS
    return {
        "one_thread": lambda: bench.sides(1, rounds, ""),
        "all_cores": lambda: bench.sides(machine.this().cores, rounds, "_all_cores"),
        "phases": bench.phases,
    }


def _on_gpu(bench: _Bench) -> dict[str, Callable[[], Measured]]:
    def at(batch: int) -> Callable[[], Measured]:
        return lambda: bench.table(batch)

    return {**{f"batch{each}": at(each) for each in bench.scale.batches}, "phases": bench.phases}


# ---- Processes -----------------------------------------------------------------------------------


class _Bench:
    """Clips and a base in a folder, and processes that learn from them one after the other."""

    def __init__(self, folder: Path, scale: Scale) -> None:
        self.scale = scale
        self._folder = folder
        self._count = 0

    def lay_out(self) -> None:
        """Write clips and base, in a process of its own, which takes its memory with it."""
        scale = self.scale
        code = (
            "from pathlib import Path\n"
            "from tests.bench import trainer_clips\n"
            "from tests.engines.xtts.tiny import make_base\n"
            f"trainer_clips.write(Path({str(self._clips)!r}), {scale.clips})\n"
            f"make_base(Path({str(self._base)!r}), dim={scale.dim}, layers={scale.layers},"
            f" heads={scale.heads})\n"
        )
        self._start(["-c", code], threads=machine.this().cores)

    def sides(self, threads: int, rounds: int, suffix: str) -> Measured:
        """Coqui's trainer without and with loaders, and ours, in turns."""
        tasks = [
            *(
                (f"coqui_{each}", replace(self._task(threads), workers=each))
                for each in CPU_WORKERS
            ),
            ("ours", self._task(threads)),
        ]
        found: dict[str, list[Found]] = {name: [] for name, _ in tasks}
        for number in range(rounds):
            # Backwards every second time: a machine that slows down slows all of them.
            for name, task in tasks[:: -1 if number % 2 else 1]:
                found[name].append(self._learn(f"trainer_{name.partition('_')[0]}", task))
        return side_by_side(found, self.scale.clips, suffix)

    def table(self, batch: int) -> Measured:
        """Every kind of training at one size of the batch."""
        workers = min(GPU_WORKERS, max(2, machine.this().cores - 1))
        rows: dict[str, Found | str] = {}
        for name, kind in KINDS.items():
            chosen = {"mixed": kind.mixed, "recompute": kind.recompute, "lora_rank": kind.lora_rank}
            task = replace(self._task(GPU_THREADS), batch=batch, workers=workers, **chosen)
            rows[name] = self._learn_if_it_fits(kind.module, task)
        return table_row(batch, rows)

    def phases(self) -> Measured:
        """A whole run, as a job does it."""
        task = replace(self._task(machine.this().cores), epochs=self.scale.phase_epochs)
        return Measured(json.loads(self._answer("trainer_phases", task).read_text()))

    @property
    def _clips(self) -> Path:
        return self._folder / "clips"

    @property
    def _base(self) -> Path:
        return self._folder / "base"

    def _task(self, threads: int) -> Task:
        scale = self.scale
        return Task(
            clips=str(self._clips),
            base=str(self._base),
            work="",
            batch=scale.batch,
            warm_steps=scale.warm_steps,
            epochs=scale.epochs,
            threads=threads,
            device=scale.device,
        )

    def _learn_if_it_fits(self, module: str, task: Task) -> Found | str:
        """What was found, or why there is nothing: the other rows of the table are worth as much."""
        try:
            return self._learn(module, task)
        except CannotMeasure as problem:
            said = str(problem)
            return "OOM" if any(words in said for words in _OUT_OF_MEMORY) else said

    def _learn(self, module: str, task: Task) -> Found:
        return Found.read(self._answer(module, task))

    def _answer(self, module: str, task: Task) -> Path:
        """Let a process do a task in a folder that is gone afterwards."""
        self._count += 1
        said, answer = (self._folder / f"{self._count}-{word}.json" for word in ("task", "answer"))
        with tempfile.TemporaryDirectory(dir=self._folder) as work:
            replace(task, work=work).write(said)
            self._start(["-m", f"tests.bench.{module}", str(said), str(answer)], task.threads)
        return answer

    def _start(self, arguments: Sequence[str], threads: int) -> None:
        try:
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=_CODE,
                env={**os.environ, **_variables(threads, self.scale.device)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=self.scale.patience_s,
            )
        except subprocess.TimeoutExpired as late:
            raise CannotMeasure(f"{arguments[1]} did not end in {late.timeout:.0f} s") from late
        if done.returncode:
            tail = "\n".join(done.stdout.splitlines()[-12:])
            raise CannotMeasure(f"{' '.join(arguments[:2])} ended with {done.returncode}:\n{tail}")


def _variables(threads: int, device: str) -> dict[str, str]:
    """The same surroundings for both: so many threads, the one GPU or none, no network."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "0") if device == "cuda" else ""
    return {
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "CUDA_VISIBLE_DEVICES": seen,
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(_CODE),
    }


# ---- What it comes to ----------------------------------------------------------------------------


def side_by_side(found: Mapping[str, Sequence[Found]], clips: int, suffix: str) -> Measured:
    """The figures of rounds: Coqui's with whatever loaders it was faster with, over all rounds."""
    ours = found["ours"]
    coqui = max(
        (name for name in found if name != "ours"),
        key=lambda name: median(each.clips_per_s for each in found[name]),
    )
    theirs = found[coqui]
    feature_s = median(each.feature_s for each in ours)
    rounds = list(zip(ours, theirs, strict=True))
    figures = {
        "clips_per_s_ours": median(each.clips_per_s for each in ours),
        "clips_per_s_coqui": median(each.clips_per_s for each in theirs),
        "clips_per_s_ratio": median(one.clips_per_s / other.clips_per_s for one, other in rounds),
        "clips_per_cpu_s_ratio": median(
            one.clips_per_cpu_s / other.clips_per_cpu_s for one, other in rounds
        ),
        "coqui_workers": int(coqui.rpartition("_")[2]),
        "feature_s": feature_s,
        "ratio_with_features": median(
            with_features(one.clips_per_s, other.clips_per_s, clips, one.feature_s)
            for one, other in rounds
        ),
        "padding_share": max(each.padding for each in ours),
        "padding_share_coqui": median(each.padding for each in theirs),
        "clips_missing": sum(each.missing for each in ours),
        "clips_twice": sum(each.twice for each in ours),
        "host_peak_mb": max(each.host_peak_mb for each in ours),
        "host_peak_mb_coqui": max(each.host_peak_mb for each in theirs),
    }
    return Measured({f"{name}{suffix}": value for name, value in figures.items()}, _said(ours))


def with_features(ours: float, coqui: float, clips: int, feature_s: float) -> float:
    """How many times faster a usual run is in all, when clips are prepared once at its start."""
    learned = clips * USUAL_EPOCHS
    return (learned / coqui) / (feature_s + learned / ours)


def table_row(batch: int, rows: Mapping[str, Found | str]) -> Measured:
    """The figures of one batch size on a GPU; what did not fit has none, and a line that says so."""
    there = {name: row for name, row in rows.items() if isinstance(row, Found)}
    figures: dict[str, float] = {}
    for name, row in there.items():
        figures[f"{name}_b{batch}_clips_per_s"] = row.clips_per_s
        figures[f"{name}_b{batch}_gpu_mb"] = row.gpu_peak_mb
    figures |= _against(batch, there)
    lines = [f"{n}, batch {batch}: {row}" for n, row in rows.items() if isinstance(row, str)]
    return Measured(figures, (*lines, *_said([*there.values()])))


def _against(batch: int, rows: Mapping[str, Found]) -> dict[str, float]:
    """Ours beside Coqui's: how many times faster, and which share of its memory."""
    figures = {}
    ours = rows.get("ours")
    if ours and (fp32 := rows.get("coqui_fp32")):
        figures[f"ratio_fp32_b{batch}"] = ours.clips_per_s / fp32.clips_per_s
        if fp32.gpu_peak_mb:
            figures[f"memory_share_b{batch}"] = ours.gpu_peak_mb / fp32.gpu_peak_mb
    if ours and (mixed := rows.get("coqui_mixed")):
        figures[f"ratio_mixed_b{batch}"] = ours.clips_per_s / mixed.clips_per_s
    return figures


def _said(found: Sequence[Found]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.said for each in found if each.said))


def _side_figures(suffix: str, where: str) -> tuple[Figure, ...]:
    return (
        Figure(f"clips_per_s_ours{suffix}", f"learned from, {where}"),
        Figure(f"clips_per_s_coqui{suffix}", f"Coqui's trainer, {where}"),
        Figure(f"clips_per_s_ratio{suffix}", "ours to Coqui's", ">= 2"),
        Figure(f"clips_per_cpu_s_ratio{suffix}", "the same by processor time, loaders included"),
        Figure(f"coqui_workers{suffix}", "loaders with which Coqui's was faster, of 0 and 2"),
        Figure(f"feature_s{suffix}", "preparing all clips, once"),
        Figure(
            f"ratio_with_features{suffix}", f"ours to Coqui's over {USUAL_EPOCHS} epochs, with that"
        ),
        Figure(f"padding_share{suffix}", "of what the network computed, ours", "< 0.10"),
        Figure(f"padding_share_coqui{suffix}", "of what it computed, Coqui's"),
        Figure(f"clips_missing{suffix}", "left out of an epoch of ours", "== 0"),
        Figure(f"clips_twice{suffix}", "more than once in an epoch of ours", "== 0"),
        Figure(f"host_peak_mb{suffix}", "memory of our process at most"),
        Figure(f"host_peak_mb_coqui{suffix}", "of Coqui's, loaders not counted"),
    )


def _gpu_figures(batch: int) -> tuple[Figure, ...]:
    rows = [
        figure
        for name, kind in KINDS.items()
        for figure in (
            Figure(f"{name}_b{batch}_clips_per_s", f"batch {batch}: {kind.about}"),
            Figure(f"{name}_b{batch}_gpu_mb", "its GPU memory at most"),
        )
    ]
    return (
        *rows,
        Figure(f"ratio_fp32_b{batch}", f"batch {batch}: ours to Coqui's fp32", ">= 3"),
        Figure(f"ratio_mixed_b{batch}", f"batch {batch}: ours to Coqui's mixed", ">= 1.5"),
        Figure(f"memory_share_b{batch}", f"batch {batch}: ours of Coqui's fp32", "<= 0.5"),
    )


PHASES = {
    "convert_base": "knowing the base and making it safetensors, once",
    "load_base": "bringing it into memory",
    "features": "preparing the clips, once",
    "data": "putting batches together, all steps",
    "forward": "forward, all steps",
    "backward": "backward, all steps",
    "optimizer": "changing the weights, all steps",
    "check": "losses of held-out clips, each time",
    "sample": "speaking and judging samples, each time",
    "save": "checkpoints, each time",
    "finish": "writing the voice",
}


def _phase_figures() -> tuple[Figure, ...]:
    return (
        Figure("phase_steps", "steps of the run whose phases these are"),
        *(
            figure
            for name, about in PHASES.items()
            for figure in (
                Figure(f"phase_{name}_s", f"seconds: {about}"),
                Figure(f"phase_{name}_mb", "memory of the process at most, meanwhile"),
            )
        ),
    )


BENCHMARK = Benchmark(
    name="trainer",
    about="Our training loop beside Coqui's trainer: clips a second, memory, padding, phases.",
    figures=(
        *_side_figures("", "one thread"),
        *_side_figures("_all_cores", "all cores"),
        *(figure for each in BATCHES for figure in _gpu_figures(each)),
        *_phase_figures(),
    ),
    measure=measure,
    parts=("one_thread", "all_cores", "phases", *(f"batch{each}" for each in BATCHES)),
    for_gpu=True,
)
