"""
The one training loop, for every engine.

    begin (or go on) -> [ step, step, ... -> listen -> save ] -> end

It owns the order of clips, the rate, what is kept and when; the engine only answers what a batch
costs. Gone on with, a run is bit for bit the one that was never interrupted.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch
from accelerate import Accelerator

from engines.base import Item, Trainable
from engines.errors import EngineError, UnlearnableError
from finetune import runs
from finetune.best import Choice, Heard, choose, early_stop_offered
from finetune.jobs.events import Event, Said, Saved, Step
from finetune.jobs.worker import StopWork
from finetune.runs import RunFolder
from finetune.training import checkpoints, memory, order, randomness, settling, weights
from finetune.training.average import Average
from finetune.training.features import Store
from finetune.training.optimizers import optimizer_for
from finetune.training.schedule import rate_at
from finetune.training.settling import Settled
from finetune.training.step import Interrupted, Stepper, Taken
from finetune.training.watch import Watch

SAVE_SECONDS = 600.0
_TELL_SECONDS = 0.5
# A run that is to end by the clock is measured over these, after the first few, which are slower.
_WARM_STEPS, _MEASURED_STEPS = 3, 20
_FAULTS_IN_A_ROW = 3
# A loss this many times the usual one is no bad luck any more.
_FAR_ABOVE = 4.0
_USUAL_OVER = 64
_KNOWN_AFTER = 16
_WAITS_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Lessons:
    """What a run learns from."""

    store: Store
    """The voice's own clips first, then those that are mixed in."""
    own: int
    names: Sequence[str]
    """What a person calls each clip."""
    digest: str
    """Changes with the clips or their order: a checkpoint of other lessons is refused."""
    extra_share: float = 0.0

    def epoch(self, number: int, seed: int) -> list[int]:
        """The clips of an epoch."""
        extra = len(self.store) - self.own
        return order.mixed(self.own, extra, self.extra_share, seed, number)

    def steps(self, number: int, seed: int, batch: int) -> list[tuple[int, ...]]:
        """The clips of an epoch, step by step."""
        clips = self.epoch(number, seed)
        lengths = [self.store.lengths[each] for each in clips]
        return [
            tuple(clips[each] for each in step)
            for step in order.steps_of(lengths, batch, seed, number)
        ]

    def items(self, indices: Sequence[int], seed: int, epoch: int) -> list[Item]:
        """Clips as a batch of one epoch takes them."""
        return [
            Item(
                self.store[each],
                self.store[self._companion(each, seed, epoch)],
                order.item_seed(seed, epoch, each),
            )
            for each in indices
        ]

    def _companion(self, index: int, seed: int, epoch: int) -> int:
        """Another clip of the same voice; what is mixed in counts as one other voice."""
        if index < self.own:
            return order.companion_of(index, self.own, seed, epoch)
        extra = len(self.store) - self.own
        return self.own + order.companion_of(index - self.own, extra, seed, epoch)


Listen = Callable[[int], Heard]
"""Tell how the weights of a step do; the weights are in place, and chance is left untouched."""


class Loop:
    """One run at work, on one of its devices."""

    def __init__(
        self,
        run: RunFolder,
        trainable: Trainable,
        lessons: Lessons,
        settled: Settled,
        accelerator: Accelerator,
        listen: Listen,
        say: Callable[[Event], None],
        wishes: Callable[[str], bool],
        ran_out: Callable[[int], None] = lambda clips: None,
    ) -> None:
        settings = settled.settings
        self._run, self._trainable, self._lessons = run, trainable, lessons
        self._settings, self._accelerator = settings, accelerator
        self._listen, self._say, self._wishes = listen, say, wishes
        self._watch = Watch(accelerator.device)
        network = torch.compile(trainable.network) if settings.compile else trainable.network
        self._optimizers = {
            turn: optimizer_for(trainable.parameters(turn), settings, accelerator.device)
            for turn in trainable.turns
        }
        self._stepper = Stepper(
            *(trainable, network, self._optimizers, accelerator),
            *(settings.micro_batch, settings.clip_norm, self._watch),
            lambda text: self._say(Said(text)),
            ran_out,
        )
        self._weights = weights.trained(trainable)
        self._average = Average(self._weights, settings.ema)
        self.done, self.total = 0, settled.total
        self._epoch, self._at = 0, 0
        self._faults = 0
        self._usual: deque[float] = deque(maxlen=_USUAL_OVER)
        self.heard: list[Heard] = []
        self._saved_at = time.monotonic()
        self._saved_step = -1
        self._best_step = 0
        self._offered = False
        self._warm_at = 0.0
        self._fitted = not settings.minutes
        self._teller = _Teller(self._watch, say)

    def run(self) -> None:
        """Learn until the end; raise StopWork, with everything saved, when asked to."""
        if not self._go_on():
            randomness.seed_all(self._settings.seed + self._accelerator.process_index)
            self._hear()
        elif self.done:
            self._catch_up()
        began, first = time.monotonic(), self.done
        while self.done < self.total:
            steps = self._lessons.steps(self._epoch, self._settings.seed, self._settings.batch)
            for indices in steps[self._at :]:
                self._one(indices)
                self._fit_into_minutes(time.monotonic() - began, self.done - first)
                if self.done >= self.total:
                    break
                with self._teller.away():
                    self._between()
            else:
                self._epoch, self._at = self._epoch + 1, 0
        self._hear()
        self._save()

    @property
    def best_step(self) -> int:
        """The step whose weights are kept as the best; 0 while the base is better than all."""
        return self._best_step

    def be_as_heard(self) -> None:
        """Let the weights be those that were heard last: with an average, the average."""
        weights.put_back(self._weights, self._average.tensors or self._weights)

    # ---- One step ----

    def _one(self, indices: Sequence[int]) -> None:
        settings, epoch = self._settings, self._epoch
        rate = rate_at(self.done, self.total, settings.learning_rate, settings)
        try:
            taken = self._stepper.take(
                lambda micro: self._lessons.items(micro, settings.seed, epoch),
                *(indices, rate, self._ceiling(), lambda: self._wishes("stop")),
            )
        except Interrupted:
            self._stop()
        self.done, self._at = self.done + 1, self._at + 1
        if taken.fault:
            self._bear(taken.fault, indices)
        else:
            self._faults = 0
        if taken.changed:
            self._usual.append(taken.loss)
            self._average.follow()
        self._teller.note(self._padding(indices), len(indices), taken)
        self._teller.tell(self.done, self.total, epoch, rate)

    def _ceiling(self) -> float:
        """The loss that is far above what is usual; anything is fine until that is known."""
        if len(self._usual) < _KNOWN_AFTER:
            return math.inf
        return max(_FAR_ABOVE * median(self._usual), 1e-3)

    def _bear(self, fault: str, indices: Sequence[int]) -> None:
        """Leave a batch out and name it; too many in a row end the run."""
        self._faults += 1
        named = ", ".join(self._lessons.names[each] for each in indices[:8])
        self._say(Said(f"Step {self.done} was left out: {fault}. Its clips: {named}."))
        if self._faults >= _FAULTS_IN_A_ROW:
            kept = "No checkpoint was saved before."
            if self._saved_step >= 0:
                kept = f"The last good checkpoint is step {self._saved_step}."
            raise UnlearnableError(
                f"{_FAULTS_IN_A_ROW} steps in a row could not be learned from: {fault}. {kept}",
                "Take a lower learning rate or precision fp32, and begin again. The log names the"
                " clips of these steps.",
            )

    def _padding(self, indices: Sequence[int]) -> float:
        lengths = [self._lessons.store.lengths[each] for each in indices]
        return order.padding(
            lengths, order.micro_batches(range(len(indices)), self._stepper.micro_batch)
        )

    def _fit_into_minutes(self, seconds: float, steps: int) -> None:
        """Settle, once, how many steps fit into the minutes that were wished for."""
        if self._fitted:
            return
        if steps == _WARM_STEPS:
            self._warm_at = seconds
        if steps == _WARM_STEPS + _MEASURED_STEPS:
            each = (seconds - self._warm_at) / _MEASURED_STEPS
            left = self._settings.minutes * 60 - seconds
            fits = settling.affordable(each, left, self.done, self.total)
            self.total, self._fitted = int(self._from_first(fits)), True
            self._say(Said(f"{self.total} steps fit into {self._settings.minutes:g} minutes."))

    def _from_first(self, value: Any) -> Any:
        """What the first device says holds for all."""
        if self._accelerator.num_processes == 1:
            return value
        said = [value]
        torch.distributed.broadcast_object_list(said)
        return said[0]

    # ---- Between steps ----

    def _between(self) -> None:
        """Heed wishes, listen and save when it is time."""
        if self._wished("stop"):
            self._stop()
        every = self._settings.save_every
        due = (
            self.done % every == 0
            if every
            else self._from_first(time.monotonic() - self._saved_at > SAVE_SECONDS)
        )
        if self.done % self._settings.listen_every == 0 or self._wished("sample"):
            self._hear()
        if due or self._wished("save"):
            self._save()

    def _wished(self, wish: str) -> bool:
        """Whether somebody wishes it, asked by one device for all: asking takes a wish away."""
        return bool(self._from_first(self._wishes(wish) if self._is_first else False))

    def _stop(self) -> None:
        self._save()
        raise StopWork(
            f"Stopped after step {self.done} of {self.total}. Everything is saved, and it goes on"
            " there when it is resumed."
        )

    def _catch_up(self) -> None:
        """Do what the run was stopped or killed before, at the step at which it goes on."""
        if self.done % self._settings.listen_every == 0:
            self._hear()
        choice = self._choice()
        best = runs.newest_best(self._run)
        kept = best is not None and best.name.endswith(f"-{self.done:06}")
        if self._from_first(choice.step == self.done and not kept):
            self._save(choice.reason)

    def _choice(self) -> Choice:
        """The best there is. Weights that were not kept when they were heard are gone."""
        there = (0, self._best_step, self.done)
        return choose([each for each in self.heard if each.step in there])

    def _hear(self) -> None:
        """Let the weights show what they can, and keep them when they are the best."""
        if self.heard and self.heard[-1].step == self.done:
            return
        with randomness.untouched(), self._average.in_place(), self._watch.memory("hearing"):
            heard = self._from_first(self._listen(self.done) if self._is_first else None)
        self.heard.append(heard)
        if self.done == 0:
            return
        choice = self._choice()
        if choice.step == self.done:
            self._best_step = self.done
            self._save(choice.reason)
        offer = early_stop_offered(self.heard)
        if offer and not self._offered:
            self._say(Said(offer))
        self._offered = bool(offer)

    @property
    def _is_first(self) -> bool:
        return bool(self._accelerator.is_main_process)

    # ---- Keeping and going on ----

    def _save(self, best: str = "") -> None:
        if self._saved_step == self.done and not best:
            return
        chances = self._chances()
        if self._is_first:
            self._save_here(chances, best)
        self._saved_step, self._saved_at = self.done, time.monotonic()

    def _save_here(self, chances: list[randomness.Chance], best: str) -> None:
        began = time.monotonic()
        with self._watch.phase("saving"):
            snapshot = self._snapshot(chances)
            folder = memory.once_more(
                lambda: checkpoints.save_with_patience(
                    *(self._run, snapshot, lambda text: self._say(Said(text))),
                    lambda: self._wishes("stop"),
                    best=best,
                )
            )
        self._say(
            Saved(
                self.done,
                folder.relative_to(self._run.path).as_posix(),
                round(snapshot.bytes / 1e6, 1),
                round(time.monotonic() - began, 2),
                best,
            )
        )

    def _chances(self) -> list[randomness.Chance]:
        mine = randomness.capture()
        if self._accelerator.num_processes == 1:
            return [mine]
        every: list[Any] = [None] * self._accelerator.num_processes
        torch.distributed.all_gather_object(every, mine)
        return every

    def _snapshot(self, chances: Sequence[randomness.Chance]) -> checkpoints.Snapshot:
        plain, tensors = weights.split_optimizer(self._optimizers)
        drawn = [randomness.to_plain(each) for each in chances]
        scaler = self._accelerator.scaler
        state = {
            "epoch": self._epoch,
            "at": self._at,
            "total": self.total,
            "fitted": self._fitted,
            "micro_batch": self._stepper.micro_batch,
            "faults": self._faults,
            "usual": list(self._usual),
            "best": self._best_step,
            "heard": [asdict(each) for each in self.heard],
            "lessons": self._lessons.digest,
            "settings": asdict(self._settings),
            "optimizer": plain,
            "scaler": scaler.state_dict() if scaler else {},
            "random": [each for each, _ in drawn],
        }
        return checkpoints.Snapshot(
            self.done,
            state,
            self._weights,
            tensors,
            self._average.tensors,
            {
                f"{rank}/{name}": v
                for rank, (_, each) in enumerate(drawn)
                for name, v in each.items()
            },
        )

    def _go_on(self) -> bool:
        """Take up the newest checkpoint, if there is one."""
        snapshot = checkpoints.load_newest(self._run, lambda text: self._say(Said(text)))
        self._accelerator.wait_for_everyone()
        if self._is_first:
            checkpoints.let_go_of_newer(self._run, snapshot.step if snapshot else -1)
        if snapshot is None:
            return False
        state = snapshot.state
        self._refuse_other(state)
        weights.put_back(self._weights, snapshot.weights)
        weights.join_optimizer(self._optimizers, state["optimizer"], snapshot.optimizer)
        self._average.load(snapshot.average)
        if self._accelerator.scaler and state["scaler"]:
            self._accelerator.scaler.load_state_dict(state["scaler"])
        self.done, self._epoch, self._at = snapshot.step, state["epoch"], state["at"]
        self.total, self._fitted = state["total"], state["fitted"]
        self._faults = state["faults"]
        self._stepper.micro_batch = min(self._stepper.micro_batch, state["micro_batch"])
        self._usual.extend(state["usual"])
        self.heard = [Heard(**each) for each in state["heard"]]
        self._saved_step, self._best_step = snapshot.step, state["best"]
        self._draw_on(snapshot)
        self._say(Said(f"It goes on after step {self.done} of {self.total}."))
        return True

    def _draw_on(self, snapshot: checkpoints.Snapshot) -> None:
        rank, known = self._accelerator.process_index, len(snapshot.state["random"])
        if rank >= known:  # more devices than before: theirs begin anew
            randomness.seed_all(self._settings.seed + rank)
            return
        mine = {
            name.partition("/")[2]: each
            for name, each in snapshot.random.items()
            if name.startswith(f"{rank}/")
        }
        randomness.restore(randomness.from_plain(snapshot.state["random"][rank], mine))

    def _refuse_other(self, state: dict[str, Any]) -> None:
        if state["lessons"] != self._lessons.digest:
            raise EngineError(
                "The clips of this run are not the ones it began with.",
                "Begin a new run with `train --from RUN`: it starts from the best weights of this"
                " one and learns from the clips there are now.",
            )


class _Teller:
    """Tells of steps, now and then, with what was measured since the last time."""

    def __init__(self, watch: Watch, say: Callable[[Event], None]) -> None:
        self._watch, self._say = watch, say
        self._told_at = time.monotonic()
        self._away_s = 0.0
        self._steps, self._clips, self._paddings = 0, 0, 0.0
        self._taken: Taken | None = None
        self._per_step: deque[float] = deque(maxlen=50)
        self._warned = False

    @contextmanager
    def away(self) -> Iterator[None]:
        """Time for something else than steps, which must not make them look slow."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._away_s += time.monotonic() - began

    def note(self, padding: float, clips: int, taken: Taken) -> None:
        self._steps += 1
        self._clips += clips
        self._paddings += padding
        if taken.changed:
            self._taken = taken

    def tell(self, step: int, total: int, epoch: int, rate: float) -> None:
        now = time.monotonic()
        took = max(1e-6, now - self._told_at - self._away_s)
        if (took < _TELL_SECONDS and step < total) or self._taken is None:
            return
        ms = self._watch.take(self._steps)
        self._per_step.append(took / self._steps)
        left = (total - step) * median(self._per_step)
        taken = self._taken
        self._say(
            Step(
                *(step, total, epoch, round(taken.loss, 6)),
                {name: round(value, 6) for name, value in taken.parts.items()},
                *(rate, round(taken.norm, 6), round(self._clips / took, 3)),
                *(round(self._paddings / self._steps, 4), ms, self._watch.take_peaks()),
                round(left, 1),
                self._watch.take_retries(),
            )
        )
        self._warn(ms)
        self._told_at, self._away_s = now, 0.0
        self._steps, self._clips, self._paddings = 0, 0, 0.0

    def _warn(self, ms: dict[str, float]) -> None:
        """Say so once when the device waits for its data."""
        share = ms.get("data", 0.0) / max(1e-9, sum(ms.values()))
        if self._warned or share < _WAITS_SHARE or len(self._per_step) < 5:
            return
        self._warned = True
        self._say(
            Said(
                f"{share:.0%} of the time goes by with preparing clips. Keeping the features in"
                " memory or on the GPU (features_on) helps, or fewer other programs."
            )
        )
