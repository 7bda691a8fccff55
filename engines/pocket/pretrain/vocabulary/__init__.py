"""The word lists and the grammar of the corpus, and how their files are read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
NOUNS, VERBS, RULES = "nouns.txt", "verbs.txt", "grammar.txt"

HEADING = re.compile(r"\[(\w+)\]")
# Nouns and verbs that stand among the rare words, in a file with words of other kinds.
RARE_NOUNS, RARE_VERBS = "rare_thing", "rare_deed"

VOWELS = "aeiou"


@cache
def lists() -> dict[str, tuple[str, ...]]:
    """Every list by name; a form of its words as "name.many", "name.ed" and so on."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        for name, lines in _sections(path.read_text(encoding="utf-8")).items():
            entries = tuple(lines) if path.name == RULES else _entries(lines)
            if path.name == VERBS or name == RARE_VERBS:
                found |= _verbs(name, entries)
            elif path.name == NOUNS or name == RARE_NOUNS:
                found |= _nouns(name, entries)
            else:
                found[name] = entries
    return found


def _sections(text: str) -> dict[str, list[str]]:
    """The lines under each heading, without comments."""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        heading = HEADING.match(line)
        if heading:
            current = sections.setdefault(heading[1], [])
        elif line and not line.startswith("#"):
            current.append(line)
    return sections


def _entries(lines: list[str]) -> tuple[str, ...]:
    """What stands between commas, each once, in the order of the file."""
    entries = " ".join(lines).split(",")
    return tuple(dict.fromkeys(entry.strip() for entry in entries if entry.strip()))


def _nouns(name: str, entries: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    pairs = [entry.split("/") for entry in entries]
    return {
        name: tuple(pair[0] for pair in pairs),
        f"{name}.many": tuple(pair[1] if pair[1:] else with_s(pair[0]) for pair in pairs),
    }


def _verbs(name: str, entries: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    forms = [verb_forms(entry) for entry in entries]
    keys = (name, f"{name}.s", f"{name}.ed", f"{name}.en", f"{name}.ing")
    return {key: tuple(form[at] for form in forms) for at, key in enumerate(keys)}


def verb_forms(entry: str) -> tuple[str, ...]:
    """Base, -s, past, participle and -ing of a verb, of which the file says what is irregular.

    >>> verb_forms("plan planned")
    ('plan', 'plans', 'planned', 'planned', 'planning')
    """
    base, *given = entry.split()
    particle = given.pop() if given and given[-1] in PARTICLES else ""
    past = given[0] if given else with_ed(base)
    participle = given[1] if given[1:] else past
    ing = given[2] if given[2:] else with_ing(base, past)
    forms = (base, with_s(base), past, participle, ing)
    return tuple(f"{form} {particle}".strip() for form in forms)


# The second word of "rummage through" is no form of the verb.
PARTICLES = ("at", "for", "from", "in", "on", "over", "past", "through", "toward", "with")


def with_s(word: str) -> str:
    """The plural of a noun, or he-form of a verb: "box" to "boxes", "city" to "cities"."""
    if word.endswith("y") and word[-2] not in VOWELS:
        return f"{word[:-1]}ies"
    if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("go", "veto"):
        return f"{word}es"
    return f"{word}s"


def with_ed(word: str) -> str:
    """The past of a regular verb that doubles no letter."""
    if word.endswith("y") and word[-2] not in VOWELS:
        return f"{word[:-1]}ied"
    return f"{word}d" if word.endswith("e") else f"{word}ed"


def with_ing(base: str, past: str) -> str:
    """The -ing form; a letter that the past doubles or that a short verb needs is doubled."""
    if past == f"{base}{base[-1]}ed" or base in DOUBLING:
        return f"{base}{base[-1]}ing"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        return f"{base[:-1]}ing"
    return f"{base}ing"


# Irregular verbs, whose past does not show that their last letter is doubled.
DOUBLING = ("begin", "get", "set", "sit", "swim", "win", "run", "cut", "put", "hit", "spin")
