"""How the weights of a step do: their loss on clips they never learned from, and how they sound."""

from __future__ import annotations

import math
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from accelerate import Accelerator

from engines.base import Batch, Item, Sound, Trainable
from finetune.best import Heard
from finetune.jobs.events import Event, Measured, Said, Sampled
from finetune.jobs.telling import Telling
from finetune.runs import RunFolder
from finetune.training import memory, order
from finetune.training.features import Store
from finetune.training.judging import Judge
from finetune.training.sampling import speak_samples, undisturbed

# Their pieces and companions are drawn as in an epoch that no run ever comes to.
_EPOCH = 2**31


@dataclass(frozen=True, slots=True)
class Stage:
    """What samples are spoken with."""

    sentences: Sequence[str]
    language: str
    reference: Sound
    judge: Judge


class Trial:
    """Listens to the weights as they are."""

    def __init__(
        self,
        run: RunFolder,
        trainable: Trainable,
        check: Store,
        accelerator: Accelerator,
        micro_batch: int,
        seed: int,
        stage: Stage,
        say: Callable[[Event], None],
        stop: Callable[[], bool],
    ) -> None:
        self._run, self._trainable, self._check = run, trainable, check
        self._accelerator, self._micro_batch, self._seed = accelerator, micro_batch, seed
        self._stage, self._say, self._stop = stage, say, stop
        self._has_heard = False

    def __call__(self, step: int) -> Heard:
        told = self._told()
        loss = self._measure(step)
        samples = self._speak(step, told)
        return Heard(
            step,
            loss,
            _mean([each.similarity for each in samples]),
            _mean([each.character_errors for each in samples]),
        )

    def _told(self) -> Callable[[int], None]:
        """Tell how many sentences are spoken, the first time: afterwards the steps tell how far."""
        if self._has_heard:
            return _tell_nobody
        self._has_heard = True
        return Telling(self._say, "sentences spoken", len(self._stage.sentences)).at

    def _measure(self, step: int) -> float | None:
        """The check loss; None without check clips."""
        while len(self._check):
            try:
                found = check_losses(
                    *(self._trainable, self._check, self._accelerator),
                    *(self._micro_batch, self._seed),
                )
                break
            except Exception as error:
                if not memory.is_out_of_memory(error):
                    raise
                traceback.clear_frames(error.__traceback__)
            memory.free()
            if self._micro_batch == 1:
                self._say(
                    Said(
                        "Memory ran out while checking a single clip, so the check loss of this"
                        " step is missing. The training goes on."
                    )
                )
                return None
            self._micro_batch = math.ceil(self._micro_batch / 2)
            self._say(
                Said(f"Memory ran out while checking: {self._micro_batch} clips at once now.")
            )
        else:
            return None
        loss: float = found.pop("loss")
        if math.isfinite(loss):
            self._say(Measured(step, loss, found))
        else:
            self._say(Said(f"The check loss of step {step} is no number."))
        return loss

    def _speak(self, step: int, told: Callable[[int], None]) -> list[Sampled]:
        stage = self._stage
        return speak_samples(
            self._trainable,
            stage.sentences,
            stage.language,
            stage.reference,
            self._seed,
            self._run.samples,
            step,
            stage.judge,
            self._say,
            self._stop,
            told,
        )


def check_losses(
    trainable: Trainable, check: Store, accelerator: Accelerator, micro_batch: int, seed: int
) -> dict[str, float]:
    """The losses over all check clips, whatever the micro-batches, without changing anything."""
    clips = sorted(range(len(check)), key=lambda each: check.lengths[each])
    batches = order.micro_batches(clips, micro_batch)

    def made(indices: Sequence[int]) -> Batch:
        batch = trainable.batch([_item(check, each, seed) for each in indices])
        device = accelerator.device
        return {n: v.to(device) if torch.is_tensor(v) else v for n, v in batch.items()}

    totals: Counter[str] = Counter()
    for indices in batches:
        totals.update(made(indices)["targets"])
    sums: dict[str, float] = defaultdict(float)
    with undisturbed(trainable.network):
        for indices in batches:
            for turn in trainable.turns:
                with accelerator.autocast():
                    losses = trainable.network(made(indices), totals, turn)
                for name, value in losses.items():
                    sums[name] += float(value)
    return dict(sums)


def _item(check: Store, index: int, seed: int) -> Item:
    companion = order.companion_of(index, len(check), seed, _EPOCH)
    return Item(check[index], check[companion], order.item_seed(seed, _EPOCH, index))


def _tell_nobody(spoken: int) -> None:
    """How far it is the steps tell."""


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return fmean(known) if known else None
