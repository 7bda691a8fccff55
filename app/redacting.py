"""
What is private is taken out of a text before it leaves this computer.

Paths lose where they lead, names and words of a person's own give way to "<name>" and "<text>",
anything that looks like a secret to "<secret>". Rather too much than too little.
"""

from __future__ import annotations

import getpass
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app import ROOT

# So many words in a row are somebody's sentence; fewer are in everybody's.
_SENTENCE_WORDS = 4
_SHORTEST_NAME = 3
_SHORTEST_SECRET = 6
_SECRET_NAMES = re.compile(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|(^|_)(API_?)?KEYS?($|_)|AUTH", re.IGNORECASE
)
_SECRETS = (
    re.compile(r"\bhf_[A-Za-z0-9]{8,}"),
    re.compile(r"\b(?:sk|ghp|gho|github_pat|xox[abp]|glpat|AKIA)[-_]?[A-Za-z0-9_-]{12,}"),
    re.compile(r"(?<=bearer )[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    re.compile(
        r"(?<=[?&\s\"'])(?:access_|api_)?(?:token|key|secret|password)[\"']?\s*[=:]\s*[\"']?[^\s&\"']{6,}",
        re.IGNORECASE,
    ),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END|\Z)[^\n]*", re.DOTALL),
    # Whatever else is long and of letters and digits mixed: tokens of any other kind.
    re.compile(r"(?<![\w/.-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{32,}(?![\w/.-])"),
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
# A letter of Chinese or Japanese is a word here: there are no spaces between those. A line break as
# repr writes it parts words, too.
_WORD = re.compile(
    r"\\[nrt]|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff]+"
)
_HOMES = re.compile(r"(?:/home|/Users|[A-Za-z]:[\\/]+Users|\\\\[\w.-]+)[\\/]+[^\\/\s\"':]+")
_PLACE = re.compile(
    r"(?<![\w.~>/\\])(?:/(?!(?:usr|lib|opt|proc|sys|dev|etc)/)[^/\s\"'<>]+/|[A-Za-z]:[\\/]+)"
    r"[^\n\"'<>]*"
)


@dataclass(frozen=True)
class Private:
    """What is to be taken out."""

    names: tuple[str, ...] = ()
    """Of projects, voices, recordings and people."""
    texts: tuple[str, ...] = ()
    """Transcripts, and what was spoken."""
    places: tuple[tuple[Path, str], ...] = ()
    """Folders, and what is written in place of each."""
    secrets: tuple[str, ...] = field(default=(), repr=False)


def of_this_computer(workspace: Path) -> tuple[tuple[Path, str], ...]:
    """The folders that are known here, those within others first."""
    known = {workspace: "<workspace>", ROOT: "<timbre>", Path(sys.prefix): "<python>"}
    known.setdefault(_home(), "~")
    # In a container somebody's home may be /, which is in every path.
    told = [(path, sign) for path, sign in known.items() if len(path.parts) > 1]
    return tuple(sorted(told, key=lambda each: -len(str(each[0]))))


def people() -> set[str]:
    """What the user and the computer are called."""
    found = {_home().name, platform.node()}
    with suppress(OSError, KeyError, ImportError):  # in a container nobody may have a name
        found.add(getpass.getuser())
    return found


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables that are called like secrets."""
    return tuple(
        value
        for name, value in environment.items()
        if _SECRET_NAMES.search(name) and len(value) >= _SHORTEST_SECRET and os.sep not in value
    )


class Redactor:
    """Takes out of texts what is private."""

    def __init__(self, private: Private) -> None:
        self._places = [(re.compile(_either_way(path)), sign) for path, sign in private.places]
        self._secrets = private.secrets
        self._names = _one_of(private.names)
        self._people = _one_of(people())
        self._sentences = set(_shingles_of(private.texts))

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "<secret>")
        for pattern in _SECRETS:
            text = pattern.sub("<secret>", text)
        text = self._without_sentences(text)
        for place, sign in self._places:
            text = place.sub(sign, text)
        text = _PLACE.sub("<path>", _HOMES.sub("~", text))
        text = _MAIL.sub("<mail>", text)
        text = self._names.sub("<name>", text)
        return self._people.sub("<user>", text)

    def _without_sentences(self, text: str) -> str:
        words = [word for word in _WORD.finditer(text) if word[0][0] != "\\"]
        keys = [word[0].casefold() for word in words]
        private: set[int] = set()
        for count in range(2, _SENTENCE_WORDS + 1):
            for first in range(len(keys) - count + 1):
                if tuple(keys[first : first + count]) in self._sentences:
                    private.update(range(first, first + count))
        parts, at = [], 0
        for first, last in _spans(sorted(private)):
            parts += [text[at : words[first].start()], "<text>"]
            at = words[last].end()
        return "".join([*parts, text[at:]])


def _either_way(path: Path) -> str:
    """A path as it is, as JSON and repr write it, and with the slashes of the other system."""
    return r"[\\/]+".join(re.escape(part.strip("\\/")) for part in path.parts) + r"(?![\w-])"


def _one_of(names: Iterable[str]) -> re.Pattern[str]:
    """Any of some names, the longest first; where there are spaces between words, as whole words."""
    found = sorted({name for name in names if _is_telling(name)}, key=len, reverse=True)
    either = "|".join(_bounded(name) for name in found)
    return re.compile(either or r"(?!)", re.IGNORECASE)


def _is_telling(name: str) -> bool:
    """Whether it is long enough to be somebody's: two letters are a name in Chinese."""
    return len(name) >= (_SHORTEST_NAME if name.isascii() else 2)


def _bounded(name: str) -> str:
    before = r"(?<![^\W_])" if name[0].isascii() else ""
    after = r"(?![^\W_])" if name[-1].isascii() else ""
    return f"{before}{re.escape(name)}{after}"


def _shingles_of(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """All few words in a row that a text has; a shorter text is taken whole, one word is not."""
    for text in texts:
        words = [word.casefold() for word in _WORD.findall(text)]
        if 1 < len(words) < _SENTENCE_WORDS:
            yield tuple(words)
        for first in range(len(words) - _SENTENCE_WORDS + 1):
            yield tuple(words[first : first + _SENTENCE_WORDS])


def _spans(places: list[int]) -> Iterator[tuple[int, int]]:
    """Numbers that follow each other, as first and last."""
    first = None
    for at, place in enumerate(places):
        first = place if first is None else first
        if at + 1 == len(places) or places[at + 1] != place + 1:
            yield first, place
            first = None
