"""What a build is to do, kept in a file so that it can be run again, and what came of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from finetune.settings import CutSettings, HearSettings
from finetune.texts.records import Problem
from voices import files

REPORT = "report.json"
"""What came of it, in the job's folder, for programs and for the page."""


@dataclass(frozen=True)
class Wish:
    """What is to be done, as it is kept in a file."""

    project: str
    """The project's folder."""
    models: str
    """Where models that were downloaded are."""
    sources: tuple[str, ...] = ()
    """Files and folders to bring in."""
    recordings: tuple[str, ...] = ()
    """Ids of those to work on, beside what is brought in; none means all."""
    text: str = ""
    """A transcript, or a folder with one."""
    encoding: str = ""
    whisper: str = ""
    """A size, or the folder of a model. Empty: the words come from the text alone."""
    download: bool = False
    """Whether the model may be downloaded."""
    again: bool = False
    """Whether what was heard already is heard again."""
    make_clips: bool = True
    freeze: bool = False
    seed: int = 0
    check_share: float = 0.1
    note: str = ""
    hear: HearSettings = field(default_factory=HearSettings)
    cut: CutSettings = field(default_factory=CutSettings)


def write_wish(wish: Wish, path: Path) -> None:
    files.write_json(path, {"v": 1, **asdict(wish)})


def read_wish(path: Path) -> Wish:
    """Read a wish; what only a newer Timbre knows is left out."""
    said = json.loads(path.read_bytes())
    known = {each.name: said[each.name] for each in fields(Wish) if each.name in said}
    for name in ("sources", "recordings"):
        known[name] = tuple(known.get(name, ()))
    return Wish(
        **{**known, "hear": HearSettings(**known["hear"]), "cut": CutSettings(**known["cut"])}
    )


@dataclass
class Report:
    """What came of a build, as it is collected."""

    files: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    clips: int = 0
    seconds: float = 0.0
    marks: dict[str, int] = field(default_factory=dict)
    version: int | None = None
    advice: str = ""

    @property
    def closing(self) -> str:
        """What came of it, in a sentence or two."""
        used = sum(each["recording"] is not None and not each["known"] for each in self.files)
        said = []
        if self.files:
            known = sum(each["known"] for each in self.files)
            refused = sum(each["recording"] is None for each in self.files)
            said.append(_counted(used, "recording") + " brought in" + _beside(known, refused))
        if self.clips:
            sorted_ = ", ".join(f"{count} {mark}" for mark, count in self.marks.items())
            said.append(f"{self.clips:,} clips, {self.seconds / 60:.1f} minutes ({sorted_})")
        if self.version:
            said.append(f"dataset version {self.version}. {self.advice}".rstrip("."))
        whole = "; ".join(said)
        return f"{whole[0].upper()}{whole[1:]}." if said else "There was nothing to do."


def _beside(known: int, refused: int) -> str:
    beside = [f"{known} there before"] * bool(known) + [f"{refused} not usable"] * bool(refused)
    return f" ({', '.join(beside)})" if beside else ""


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
