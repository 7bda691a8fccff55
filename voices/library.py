"""The library: every finished voice, found by name, tag or language, with all that is known of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.errors import NameProblem, NotFoundError
from voices import facts, files, names
from voices.shelf import Item, Shelf
from voices.workspace import Workspace

FACTS = "voice.json"
"""In a voice's folder: engine, language, licence, where it is from, scores."""
ENGINE, REFERENCE, SAMPLE = "engine", "reference.flac", "sample.flac"
_LONGEST_TAG = 40


@dataclass(frozen=True, slots=True)
class Consent:
    """Whose voice it is, and whether its owner agrees to its being used."""

    whose: str = ""
    agreed: bool | None = None
    """None: nobody was asked."""


@dataclass(frozen=True, slots=True)
class Voice:
    """One voice of the library."""

    item: Item
    folder: Path
    facts: Mapping[str, Any]
    tags: tuple[str, ...] = ()
    favourite: bool = False
    consent: Consent = Consent()

    @property
    def id(self) -> str:
        return self.item.id

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def engine(self) -> str:
        return str(self.facts.get("engine", ""))

    @property
    def language(self) -> str:
        return str(self.facts.get("language", ""))

    def matches(self, wanted: str) -> bool:
        """Whether all words of a search are in its name, tags, engine, language or owner."""
        said = " ".join(
            [self.name, *self.tags, self.engine, self.language, self.consent.whose]
        ).casefold()
        return all(word in said for word in wanted.casefold().split())


def shelf(workspace: Workspace) -> Shelf:
    """The voices as named things: list, find, rename, trash, restore."""
    return Shelf(workspace, "voices", "voice")


def keep(workspace: Workspace, folder: Path, name: str, consent: Consent = Consent()) -> Voice:
    """
    Take a finished voice into the library, under its name or one with a number.

    Its files are the same on the disk where that can be (hard links): nothing is there twice. It
    is listed last, so that a listed one is complete.
    """
    files.check_folder(folder, contents=False)
    voice_id = names.new_id()
    with files.new_folder(workspace.voices / voice_id) as new:
        link_files(folder, new)
    return list_one(workspace, voice_id, name, consent)


def list_one(workspace: Workspace, voice_id: str, name: str, consent: Consent) -> Voice:
    """List a voice whose folder is there, under its name or one with a number."""
    item = shelf(workspace).add(_free(workspace, name), voice_id)
    _note(workspace, item.id, whose=consent.whose, agreed=_as_number(consent.agreed))
    return find(workspace, item.id)


def listed(workspace: Workspace, search: str = "", *, trashed: bool = False) -> list[Voice]:
    """List voices, favourites first, then the newest."""
    found = [_voice(workspace, item) for item in shelf(workspace).all(trashed=trashed)]
    wanted = [each for each in found if each.matches(search)]
    return sorted(wanted, key=lambda each: not each.favourite)


def find(workspace: Workspace, name_or_id: str) -> Voice:
    """Find one by its name, its id, or the beginning of that."""
    try:
        return _voice(workspace, shelf(workspace).find(name_or_id))
    except NotFoundError:
        begins = [
            each
            for each in (*shelf(workspace).all(), *shelf(workspace).all(trashed=True))
            if len(name_or_id) >= 4 and each.id.startswith(name_or_id)
        ]
        if len(begins) != 1:
            raise
        return _voice(workspace, begins[0])


def tag(workspace: Workspace, voice: Voice, add: Iterable[str], remove: Iterable[str]) -> Voice:
    """Give tags and take them away; each is kept once, however it is capitalised."""
    gone = {names.key(each) for each in remove}
    tags = {names.key(each): each for each in voice.tags}
    for each in add:
        cleaned = names.clean(each)
        if len(cleaned) > _LONGEST_TAG or "," in cleaned:
            raise NameProblem(
                f"{cleaned!r} cannot be a tag.", f"Take up to {_LONGEST_TAG} signs, and no comma."
            )
        tags[names.key(cleaned)] = cleaned
    left = [each for key, each in tags.items() if key not in gone]
    _note(workspace, voice.id, tags=",".join(left))
    return find(workspace, voice.id)


def favour(workspace: Workspace, voice: Voice, favourite: bool) -> Voice:
    _note(workspace, voice.id, favourite=int(favourite))
    return find(workspace, voice.id)


def record_consent(workspace: Workspace, voice: Voice, consent: Consent) -> Voice:
    """Keep whose voice it is, and what the owner said."""
    _note(workspace, voice.id, whose=consent.whose.strip(), agreed=_as_number(consent.agreed))
    return find(workspace, voice.id)


def list_again(workspace: Workspace) -> list[Voice]:
    """Put voices that are on the disk and not in the list back into it: the list was lost."""
    known = {row["id"] for row in workspace.store.rows("SELECT id FROM voices")}
    found = [
        path
        for path in workspace.voices.iterdir()
        if names.is_id(path.name) and path.name not in known and files.exists(path)
    ]
    for path in found:
        name = facts.read(path / FACTS).get("name") or f"Found again {path.name}"
        shelf(workspace).add(_free(workspace, name), path.name)
    return [find(workspace, path.name) for path in found]


def _voice(workspace: Workspace, item: Item) -> Voice:
    row = workspace.store.row(
        "SELECT tags, favourite, whose, agreed FROM voices WHERE id = ?", item.id
    )
    folder = workspace.voices / item.id
    assert row is not None
    return Voice(
        item,
        folder,
        facts.read(folder / FACTS),
        tuple(filter(None, row["tags"].split(","))),
        bool(row["favourite"]),
        Consent(row["whose"], None if row["agreed"] is None else bool(row["agreed"])),
    )


def _note(workspace: Workspace, voice_id: str, **values: str | int | None) -> None:
    assignments = ", ".join(f"{column} = ?" for column in values)
    with workspace.store.change() as store:
        store.execute(f"UPDATE voices SET {assignments} WHERE id = ?", (*values.values(), voice_id))


def _free(workspace: Workspace, name: str) -> str:
    """The name, with a number when a voice has it already."""
    cleaned, number = names.clean(name), 1
    taken = {names.key(each.name) for each in shelf(workspace).all()}
    free = cleaned
    while names.key(free) in taken:
        number += 1
        free = f"{cleaned[:240]} ({number})"
    return free


def link_files(folder: Path, target: Path) -> None:
    """Give a voice's files another place: the same files on the disk where that can be."""
    for source in _files_in(folder):
        _link(source, target / source.relative_to(folder))


def _files_in(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name != files.MANIFEST
    )


def _link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the disk cannot do that."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _as_number(agreed: bool | None) -> int | None:
    return None if agreed is None else int(agreed)
