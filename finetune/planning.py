"""
A training as a person wishes for it, before it is begun: settled, checked, refused in a sentence.

What can be known without loading anything is refused here; the loop names what only it can see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from itertools import count
from pathlib import Path
from typing import Any

from engines.base import Engine
from engines.errors import DatasetError, EngineError, NameProblem, NotFoundError, SettingsError
from finetune import bases, projects, runs
from finetune.datasets import Example
from finetune.projects import Project
from finetune.runs import Plan, Run
from finetune.settings import CutSettings, TrainSettings
from finetune.versions import Version
from voices import names
from voices.shelf import Item
from voices.workspace import Workspace

_NAMED = 12
_YES_NO = {"yes": True, "true": True, "on": True, "1": True} | {
    "no": False,
    "false": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True)
class Wished:
    """What was typed of a training."""

    base: str = ""
    name: str = ""
    sentences: tuple[str, ...] = ()
    transcriber: str = ""
    continues: str = ""
    """A run, as people name it."""
    mix: tuple[str, ...] = ()
    """Projects, as people name them."""
    mix_share: float = Plan.extra_share
    whose: str = ""
    agreed: bool | None = None
    train: TrainSettings = field(default_factory=TrainSettings)
    engine_settings: Mapping[str, Any] = field(default_factory=dict)


def draft(workspace: Workspace, item: Item, engine: Engine, wished: Wished) -> Plan:
    """A plan that lacks only its dataset; raise for what cannot be."""
    refuse_unusable(engine)
    before = _run_to_continue(workspace, engine, wished)
    return Plan(
        name=names.clean(wished.name or item.name),
        project=item.id,
        version=0,
        engine=engine.name,
        base=before.plan.base if before else str(find_base(workspace, engine, wished.base)),
        sentences=tuple(filter(None, (each.strip() for each in wished.sentences))),
        transcriber=wished.transcriber,
        continues=before.id if before else "",
        extra=tuple(_mixed_in(workspace, engine, item, each) for each in wished.mix),
        extra_share=wished.mix_share,
        whose=wished.whose.strip(),
        agreed=wished.agreed,
        train=wished.train,
        engine_settings=dict(wished.engine_settings),
    )


def with_dataset(
    plan: Plan, engine: Engine, name: str, project: Project, number: int | None = None
) -> Plan:
    """The plan with a frozen dataset of its project; raise when the engine cannot learn from it."""
    return replace(plan, version=dataset_for(engine, name, project, number).number)


def dataset_for(engine: Engine, name: str, project: Project, number: int | None = None) -> Version:
    """A frozen dataset that the engine can learn from, the newest if none is named."""
    version = _frozen(name, project, number)
    refuse_unfit(engine, name, project, version)
    return version


def find_base(workspace: Workspace, engine: Engine, named: str) -> Path:
    return bases.find_base(engine, named, workspace.root / "models")


def refuse_unusable(engine: Engine) -> None:
    if problem := engine.missing():
        raise EngineError(
            f"{engine.title} cannot be used here: {problem}", "`launch.py doctor` checks it again."
        )


def refuse_language(engine: Engine, language: str) -> None:
    if not engine.speaks(language):
        raise SettingsError(
            f"{engine.title} does not speak {language}.",
            f"It speaks {', '.join(sorted(engine.languages))}.",
        )


def refuse_unfit(engine: Engine, name: str, project: Project, version: Version) -> None:
    """Raise unless the engine speaks the language of every clip and takes clips of their length."""
    _refuse_foreign(engine, name, project, version)
    _refuse_lengths(engine, name, version.dataset.examples)


def free_name(workspace: Workspace, name: str) -> str:
    """The name, with a number when a run has it already."""
    taken = {names.key(run.plan.name) for run in runs.all(workspace)}
    numbered = (f"{name[:240]} {number}" for number in count(2))
    return (
        name
        if names.key(name) not in taken
        else next(each for each in numbered if names.key(each) not in taken)
    )


def refuse_taken(workspace: Workspace, name: str) -> None:
    if free_name(workspace, names.clean(name)) != names.clean(name):
        raise NameProblem(f"There is a run called {name!r} already.", "Choose another name.")


# ---- Settings ----


def within(engine: Engine, cut: CutSettings) -> CutSettings:
    """Settings that make no clip too long for the engine."""
    longest = min(cut.max_seconds, engine.max_clip_seconds)
    return replace(cut, max_seconds=longest, target_seconds=min(cut.target_seconds, longest))


def settings_of(
    engine: Engine, typed: Mapping[str, Any], more: Sequence[str]
) -> tuple[TrainSettings, dict[str, Any]]:
    """
    Check settings of a training and of its engine.

    `typed` are values by name, `more` are NAME=VALUE, which count more.
    """
    own = {each.name: each for each in fields(engine.settings)}
    known = {**own, **{each.name: each for each in fields(TrainSettings)}}
    given = {**typed, **dict(_parsed(engine, known, each) for each in more)}
    for name in given:
        _refuse_unknown(engine, known, name)
    settings = engine.settings(**{name: given[name] for name in given if name in own})
    rest = {name: given[name] for name in given if name not in own}
    return TrainSettings(**rest), asdict(settings)


def _parsed(engine: Engine, known: Mapping[str, Field[Any]], said: str) -> tuple[str, Any]:
    """NAME=VALUE as the setting of this name takes it; what it does not take it refuses itself."""
    name, equals, value = said.partition("=")
    name = name.strip().replace("-", "_")
    if not equals:
        raise SettingsError(f"{said!r} does not say a value.", "Write it as NAME=VALUE.")
    _refuse_unknown(engine, known, name)
    kind: Any = type(known[name].default)
    try:
        return name, _YES_NO[value.strip().lower()] if kind is bool else kind(value.strip())
    except (ValueError, KeyError):
        return name, value


def _refuse_unknown(engine: Engine, known: Mapping[str, Field[Any]], name: str) -> None:
    if name not in known:
        raise SettingsError(
            f"{engine.title} has no setting {name!r}.", f"There is: {', '.join(sorted(known))}."
        )


# ---- What it starts from, and what it learns from ----


def _run_to_continue(workspace: Workspace, engine: Engine, wished: Wished) -> Run | None:
    if not wished.continues:
        return None
    run = runs.find(workspace, wished.continues)
    if run.plan.engine != engine.name:
        raise SettingsError(
            f"{run.plan.name} is a run of {run.plan.engine}, and this one is to be of"
            f" {engine.name}.",
            f"Take --engine {run.plan.engine}.",
        )
    if wished.base:
        raise SettingsError(
            "--from starts from the weights of a run, and --base from others.",
            "Leave one of them out.",
        )
    if run.best_step is None:
        raise NotFoundError(
            f"{run.plan.name} has no best weights yet.", "Let it run until it has heard itself."
        )
    if not Path(run.plan.base).is_dir():
        raise NotFoundError(
            f"The base of {run.plan.name} is not in {run.plan.base} any more.", "Put it back there."
        )
    return run


def _mixed_in(workspace: Workspace, engine: Engine, item: Item, named: str) -> tuple[str, int]:
    other = projects.shelf(workspace).find(named)
    if other.id == item.id:
        raise SettingsError(f"{other.name} cannot be mixed into itself.", "Name another project.")
    with projects.open_project(projects.folder_of(workspace, other)) as project:
        return other.id, dataset_for(engine, other.name, project).number


def _frozen(name: str, project: Project, number: int | None) -> Version:
    version = project.versions.newest() if number is None else project.versions.find(number)
    if version is not None:
        return version
    if project.transcript.clips():
        fix = f"Freeze its clips: `launch.py dataset freeze --name {_quoted(name)}`."
    else:
        fix = f"Make one: `launch.py dataset build RECORDINGS --name {_quoted(name)}`."
    raise NotFoundError(f"There is no dataset of {name} yet.", fix)


def _refuse_foreign(engine: Engine, name: str, project: Project, version: Version) -> None:
    used = Counter(each.recording for each in version.dataset.examples)
    recordings = [each for each in project.recordings.ever() if each.id in used]
    unknown = [each.name for each in recordings if not each.language]
    foreign = [each for each in recordings if each.language and not engine.speaks(each.language)]
    if foreign:
        languages = ", ".join(sorted({each.language for each in foreign}))
        raise DatasetError(
            f"{engine.title} does not speak {languages}, the language of"
            f" {_few([each.name for each in foreign])}.",
            f"It speaks {', '.join(sorted(engine.languages))}: choose another engine, or leave"
            " those recordings' clips out and freeze again.",
        )
    if unknown:
        raise DatasetError(
            f"{name}: nobody said which language is spoken in {_few(unknown)}.",
            "Say it with --language, in the same command that brought them in.",
        )


def _refuse_lengths(engine: Engine, name: str, examples: Sequence[Example]) -> None:
    low, high = engine.min_clip_seconds, engine.max_clip_seconds
    unfit = [each for each in examples if not low <= each.seconds <= high]
    if not unfit:
        return
    ids = " ".join(str(each.clip_id) for each in unfit[:_NAMED])
    raise DatasetError(
        f"{engine.title} learns from clips of {low:g} to {high:g} s, and {len(unfit):,} of {name}"
        f" {'is' if len(unfit) == 1 else 'are'} not:"
        f" {_few([f'clip {each.clip_id} ({each.seconds:.1f} s)' for each in unfit])}.",
        f"Trim, split or merge them, or leave them out (`launch.py clips leave-out {ids} --project"
        f" {_quoted(name)}`), then `launch.py dataset freeze --name {_quoted(name)}`.",
    )


def _few(named: Sequence[str]) -> str:
    more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
