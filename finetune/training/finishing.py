"""A finished voice: what the engine opens to speak, and beside it what tells where it is from."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from engines.base import Sound, Trainable
from engines.errors import NotFoundError
from finetune.jobs.events import Event, Said
from finetune.runs import Plan, RunFolder
from finetune.spoken_samples import sentences_for
from finetune.training.sampling import cause_of, flac, spoken, undisturbed
from voices import files
from voices.library import ENGINE, FACTS, REFERENCE, SAMPLE

# Of a plan, what another computer has no use for, or nobody else is to read.
_ONLY_HERE = ("device", "threads", "features_on", "save_every", "listen_every")
_SEED = 0

_log = logging.getLogger(__name__)


def finish(
    trainable: Trainable,
    run: RunFolder,
    plan: Plan,
    reference: Sound,
    reference_text: str,
    about: Mapping[str, Any],
    say: Callable[[Event], None] = lambda event: None,
    alike: Callable[[Sound], float | None] = lambda sound: None,
) -> Path:
    """
    Write the voice as the weights are now: it appears when all of it is there.

    `about` says what the plan does not: language, licence (of base and code), base_fingerprint,
    learned_with (all settings, settled), step, why (it is the best), scores. `alike` tells how like
    the real voice a sound is. A voice of an earlier end is kept under another name.
    """
    if not run.path.is_dir():
        raise NotFoundError(f"There is no run {run.path.name}.", "Choose one that is there.")
    language = about.get("language", "")
    long = sentences_for(language, ())[-1:]
    text = "".join(plan.sentences[:1] or long)
    with files.new_folder(run.voice) as new:
        (new / ENGINE).mkdir()
        trainable.save(new / ENGINE)
        (new / REFERENCE).write_bytes(flac(reference))
        sound = _sample(trainable, text, language, reference, say)
        if sound is not None:
            (new / SAMPLE).write_bytes(flac(sound))
        sample = {
            "sample_text": text if sound else "",
            "sample_similarity": alike(sound) if sound else None,
        }
        facts = {**_facts(run, plan, about), **sample, "reference_text": reference_text}
        files.write_json(new / FACTS, facts)
        _keep_the_earlier(run)
    return run.voice


def _sample(
    trainable: Trainable,
    text: str,
    language: str,
    reference: Sound,
    say: Callable[[Event], None],
) -> Sound | None:
    """Speak a sentence with the voice; None when that fails, for the voice counts."""
    if not text:
        return None
    try:
        with undisturbed(trainable.network):
            return spoken(trainable, text, language, reference, _SEED)
    except Exception as error:
        _log.exception("The sample of the voice could not be spoken")
        say(Said(f"The voice is kept without a sample: {cause_of(error)}"))
    return None


def _facts(run: RunFolder, plan: Plan, about: Mapping[str, Any]) -> dict[str, Any]:
    train = {name: value for name, value in about["learned_with"].items() if name not in _ONLY_HERE}
    told = {name: about.get(name) for name in ("licence", "base_fingerprint", "why", "scores")}
    told["engine_settings"] = plan.engine_settings
    told = _without_places(told, (run.path, run.path.parent.parent, Path(plan.base), Path.home()))
    return {
        "v": 1,
        "name": plan.name,
        "engine": plan.engine,
        "language": about.get("language", ""),
        "licence": told["licence"] or {},
        "from": {
            "project": plan.project,
            "version": plan.version,
            "extra": [list(each) for each in plan.extra],
            "base_fingerprint": told["base_fingerprint"] or "",
            "continues": plan.continues,
            "run": run.path.name,
            "step": about.get("step"),
        },
        "why": told["why"] or "",
        "scores": told["scores"] or {},
        "settings": {"train": train, "engine": told["engine_settings"]},
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _without_places(value: Any, known: Sequence[Path]) -> Any:
    """Leave out where on this computer anything lies: a path tells its owner's name."""
    if isinstance(value, Mapping):
        return {name: _without_places(each, known) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_places(each, known) for each in value]
    if isinstance(value, (Path, str)):
        return _without_place(str(value), known)
    return value


def _without_place(text: str, known: Sequence[Path]) -> str:
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(text).is_absolute():
            return kind(text).name
    for place in sorted(known, key=lambda each: -len(each.parts)):
        if place.is_absolute() and place.name:
            text = text.replace(str(place), place.name)
    return text


def _keep_the_earlier(run: RunFolder) -> None:
    """A run that went on after its voice was made gets another one; the first is not lost."""
    if files.exists(run.voice):
        step = json.loads((run.voice / FACTS).read_text("utf-8"))["from"]["step"]
        number = sum(1 for _ in run.path.glob(f"{run.voice.name}-*"))
        run.voice.rename(run.voice.with_name(f"{run.voice.name}-{number:02}-step-{step or 0:06}"))
