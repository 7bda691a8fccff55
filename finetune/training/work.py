"""
A training, from its plan to the finished voice, as a job.

    settle -> base -> clips -> features, once -> learn (loop.py) -> the best weights -> the voice
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import torch
from accelerate import Accelerator

import engines
from engines.base import Engine, Sound, Trainable
from engines.errors import EngineError, StudioError
from finetune import bases, runs
from finetune.best import why_now
from finetune.fitting.probes import clips_to_probe
from finetune.hearing import models
from finetune.jobs.events import Chosen, Event, Said
from finetune.jobs.worker import Job
from finetune.references import Reference, find_reference
from finetune.runs import Plan, RunFolder
from finetune.settings import TrainSettings
from finetune.spoken_samples import sentences_for
from finetune.training import checkpoints, devices, finishing, memory, settling, weights
from finetune.training.features import Store, gather, place_for
from finetune.training.judging import Judge
from finetune.training.lookout import Lookout, looking_out
from finetune.training.loop import Lessons, Loop
from finetune.training.material import Material, of_project
from finetune.training.recompute import forget_activations
from finetune.training.settling import Settled
from finetune.training.sizing import Sizing, facts_of, task_of
from finetune.training.told import Told
from finetune.training.trial import Stage, Trial
from voices import files, library
from voices.workspace import open_workspace

# Weights for inference only, and what else a voice's folder holds, beside what is trained.
_VOICE_BYTES = 500_000_000
_OPTIMIZER_NUMBERS = 2
_REFERENCE_SECONDS = 12.0


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a run finds what it needs."""

    run: RunFolder

    @property
    def root(self) -> Path:
        return self.run.path.parents[1]

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def features(self) -> Path:
        return self.root / "cache" / "features"

    @property
    def fits(self) -> Path:
        """What was measured of memory."""
        return self.root / "cache" / "fits"

    def project(self, project_id: str) -> Path:
        return self.root / "projects" / project_id


def train(job: Job, run: RunFolder) -> str:
    """Do a run, or go on with it; return what came of it in a sentence."""
    if run.is_finished:
        return "This run has ended already, and its voice is there."
    plan = runs.read_plan(run.plan_path)
    device = devices.choose_device(plan.train.device)
    precision = devices.choose_precision(
        plan.train.precision,
        device.value,
        devices.capability(device.value),
        engines.find(plan.engine).half_on_processors,
    )
    accelerator = devices.accelerator_for(device.value, precision.value)
    devices.set_threads(plan.train.threads, device.value)
    say: Callable[[Event], None] = _say_nothing
    if accelerator.is_main_process:
        for folder in (run.path, run.checkpoints, run.best, run.samples):
            folder.mkdir(exist_ok=True)
            files.sweep(folder)
        say = Told(job.say, run.history_path)
    say(Said(f"It computes on {device.value} ({device.reason}), in {precision.value}"
             f" ({precision.reason})."))  # fmt: skip
    return _Training(job, run, plan, accelerator, precision.value, say).do()


class _Training:
    """One run at work."""

    def __init__(
        self,
        job: Job,
        run: RunFolder,
        plan: Plan,
        accelerator: Accelerator,
        precision: str,
        say: Callable[[Event], None],
    ) -> None:
        self._job, self._run, self._plan = job, run, plan
        self._accelerator, self._precision = accelerator, precision
        self._lookout = Lookout(say, run.machine_path, accelerator.device)
        self._say = self._lookout.say
        self._places = _Places(run)
        self._engine: Engine = engines.find(plan.engine)

    def do(self) -> str:
        material = self._material(self._plan.project, self._plan.version)
        extra = [self._material(*each) for each in self._plan.extra]
        base, trainable = self._load()
        lessons, check = self._lessons(trainable, material, extra)
        settled = self._settle(lessons)
        trainable.forget_features()
        memory.free()
        self._make_ready(trainable)
        settled, ran_out = self._size(trainable, lessons, settled, material)
        learned_with = replace(settled.settings, precision=self._precision)
        self._say(Chosen(0, asdict(learned_with), settled.sentences))
        self._refuse_without_room(trainable, settled)
        judge = self._judge(material)
        reference = find_reference(material.train, material.sound, judge.print_of)
        self._say(Said(f"The voice is heard and spoken like one clip: {reference.reason}"))
        stage = self._stage(material, reference, judge)
        trial = Trial(
            *(self._run, trainable, check, self._accelerator, settled.settings.micro_batch),
            *(settled.settings.seed, stage, self._say, self._job.stop_wanted),
        )
        loop = Loop(
            *(self._run, trainable, lessons, settled, self._accelerator, trial),
            *(self._say, self._wishes, ran_out),
        )
        if not self._accelerator.is_main_process:
            loop.run()
            return ""
        with looking_out(self._lookout, self._run.path):
            loop.run()
        return self._finish(trainable, loop, stage, reference, base, learned_with)

    # ---- What it learns from ----

    def _material(self, project: str, version: int) -> Material:
        folder = self._places.project(project)
        return of_project(folder, version, self._engine, self._job.stop_wanted)

    def _load(self) -> tuple[Path, Trainable]:
        settings = self._engine.settings(**self._plan.engine_settings)
        base = bases.converted(self._engine, Path(self._plan.base), self._places.models, self._say)
        trainable = self._engine.load(base, settings)
        # Now, so that features are made there too.
        trainable.network.to(self._accelerator.device)
        self._say(Said(f"The base of {self._engine.title} is loaded."))
        return base, trainable

    def _lessons(
        self, trainable: Trainable, material: Material, extra: list[Material]
    ) -> tuple[Lessons, Store]:
        own = material.sources(material.train)
        others = [source for each in extra for source in each.sources(each.train)]
        sources = own + others
        store = self._store(trainable, sources, "to learn from")
        check = self._store(trainable, material.sources(material.check), "for checking")
        keys = " ".join(source.key for source in sources)
        digest = hashlib.sha256(f"{len(own)} {trainable.features_version} {keys}".encode())
        names = [source.name for source in sources]
        share = self._plan.extra_share if others else 0.0
        return Lessons(store, len(own), names, digest.hexdigest(), share), check

    def _store(self, trainable: Trainable, sources: list[Any], purpose: str) -> Store:
        store = gather(trainable, sources, self._places.features, self._say, self._job.stop_wanted)
        device = self._accelerator.device
        free_gpu = torch.cuda.mem_get_info()[0] if device.type == "cuda" else None
        free = int(psutil.virtual_memory().available)
        where, reason = place_for(self._plan.train.features_on, store.bytes, free_gpu, free)
        said = f"The clips {purpose} ({len(store):,}) wait {_PLACES[where]}: {reason}."
        self._say(Said(said))
        return store.placed(where, device)

    def _settle(self, lessons: Lessons) -> Settled:
        clips = len(lessons.epoch(0, self._plan.train.seed))
        return settling.settle(self._plan.train, self._engine.advised, lessons.own, clips)

    # ---- The model ----

    def _make_ready(self, trainable: Trainable) -> None:
        trainable.network.train()
        if self._plan.continues:
            before = RunFolder(self._run.path.with_name(self._plan.continues))
            self._start_from(before, trainable)

    def _size(
        self, trainable: Trainable, lessons: Lessons, settled: Settled, material: Material
    ) -> tuple[Settled, Callable[[int], None]]:
        """
        Settle how it computes on this device, and who learns of it when memory runs out.

        What a person left open is measured.
        """
        settings, lengths = settled.settings, lessons.store.lengths
        if self._plan.train.micro_batch:
            if settings.recompute == "yes":
                forget_activations(trainable.blocks())
            return settled, _learn_nothing
        sentence = sentences_for(material.language, self._plan.sentences)[0]
        voice = material.sound(material.train[0])
        sizing = Sizing(
            *(trainable, settings, self._accelerator, self._precision),
            facts_of(trainable, self._engine, self._plan, self._accelerator.device),
            self._places.fits,
            partial(trainable.speak, sentence, material.language, voice, settings.seed),
        )
        self._say(Said("Finding out how many clips it can compute at once."))
        task = task_of(lengths, settings.batch, self._accelerator.num_processes)
        sized = sizing.choose(lessons.items(clips_to_probe(lengths), settings.seed, 0), task)
        self._say(sized.event)
        if sized.is_hopeless:
            raise EngineError(
                f"{self._engine.title} does not fit into the memory there is. {sized.reasons[0]}",
                "Or try it all the same, one clip at a time: --micro-batch 1.",
            )
        settings = replace(settings, micro_batch=sized.option.micro_batch)
        return replace(settled, settings=settings), sizing.ran_out

    def _start_from(self, before: RunFolder, trainable: Trainable) -> None:
        begun = checkpoints.are_there(self._run)
        found = checkpoints.best(before)
        if found is None:
            newest = checkpoints.load_newest(before, lambda text: self._say(Said(text)))
            found = (newest.step, "its last", newest.weights) if newest else None
        if found is None and begun:
            return  # it has all that it needs of that run
        if found is None:
            raise checkpoints.nothing_kept(before)
        step, reason, kept = found
        weights.put_back(weights.trained(trainable), kept)
        if begun:
            return  # unless none of its own is whole, it goes on from there
        self._say(
            Said(
                f"It starts from step {step} of run {before.id} ({reason}). Only the weights are"
                " taken over: the rate rises anew and ends with this run, and every clip of this"
                " dataset counts the same."
            )
        )

    def _refuse_without_room(self, trainable: Trainable, settled: Settled) -> None:
        trained = checkpoints.size_of(weights.trained(trainable))
        copies = 1 + _OPTIMIZER_NUMBERS + (settled.settings.ema > 0)
        whole = checkpoints.size_of(dict(trainable.network.named_parameters()))
        # Once its checkpoint is let go of, the best takes room of its own.
        beside = trained + whole + _VOICE_BYTES
        checkpoints.refuse_without_room(self._run, trained * copies, beside)

    # ---- Hearing it ----

    def _judge(self, material: Material) -> Judge:
        held_out = material.check or material.train
        return Judge((material.sound(each) for each in held_out), self._say, self._transcriber())

    def _stage(self, material: Material, reference: Reference, judge: Judge) -> Stage:
        language = material.language
        sentences = sentences_for(language, self._plan.sentences)
        sound = reference.sound
        most = int(_REFERENCE_SECONDS * sound.rate)
        return Stage(sentences, language, Sound(sound.samples[:most], sound.rate), judge)

    def _transcriber(self) -> Path | None:
        if not self._plan.transcriber:
            return None
        return models.find(self._plan.transcriber, self._places.models).folder

    def _wishes(self, wish: str) -> bool:
        if wish == "stop":
            return self._job.stop_wanted()
        if not self._job.folder.asked(wish):
            return False
        self._job.folder.answered(wish)
        return True

    # ---- The voice ----

    def _keep_voice(self) -> None:
        """Take the voice into the library; it is whole without that, and `voices keep` does it."""
        try:
            with closing(open_workspace(self._places.root)) as workspace:
                library.keep(workspace, self._run.voice, self._plan.name, self._plan.consent)
        except StudioError as error:
            self._say(Said(f"The voice is not in the library yet. {error}"))

    def _finish(
        self,
        trainable: Trainable,
        loop: Loop,
        stage: Stage,
        reference: Reference,
        base: Path,
        learned_with: TrainSettings,
    ) -> str:
        best = checkpoints.best(self._run, lambda text: self._say(Said(text)))
        step, why = loop.done, "It is the last one: none was better than the base before it."
        if best is not None:
            step, then, kept = best
            why = why_now(step, then, loop.heard)
            weights.put_back(weights.trained(trainable), kept)
        else:
            loop.be_as_heard()
            if loop.best_step:
                why = "It is the last one: the best was damaged on the disk."
        heard = next((each for each in loop.heard if each.step == step), None)
        finishing.finish(
            *(trainable, self._run, self._plan, stage.reference, reference.example.text),
            {
                "language": stage.language,
                "licence": {
                    "code": self._engine.licence,
                    "base": [each.licence for each in self._engine.bases],
                },
                "base_fingerprint": base.name,
                "learned_with": asdict(learned_with),
                "step": step,
                "why": why,
                "scores": {
                    "check_loss": heard.check_loss if heard else None,
                    "similarity": heard.similarity if heard else None,
                    "character_errors": heard.character_errors if heard else None,
                },
            },
            self._say,
            stage.judge.similarity,
        )
        self._keep_voice()
        return (
            f"{self._plan.name} can speak, with the weights of step {step} of {loop.total}. {why}"
        )


_PLACES = {"gpu": "on the GPU", "memory": "in the computer's memory", "disk": "on the disk"}


def _learn_nothing(clips: int) -> None:
    """Memory ran out at a size that a person chose: that says nothing about the planner's."""


def _say_nothing(event: Event) -> None:
    """What other devices than the first would say, the first one says."""
