"""Names people give, and the ids that stand for them on disk."""

from __future__ import annotations

import re
import secrets
import unicodedata

from engines.errors import NameProblem

MAX_CHARACTERS = 255
# They turn the reading order of what follows, so that a name can pretend to be another one.
_TURNS_TEXT = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ID = re.compile(r"[0-9a-f]{12}")

_LONGEST_ON_DISKS = 200
_REFUSED_ON_DISKS = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
# What Windows takes for a device, whatever ending it has.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d) *(\.|$)", re.IGNORECASE)


def new_id() -> str:
    """Make the name of a file or folder: safe on every system, never derived from user text."""
    return secrets.token_hex(6)


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def clean(name: str) -> str:
    """The name as it is kept: one Unicode spelling, no spaces around it; or why it cannot be."""
    if len(name) > 4 * MAX_CHARACTERS:  # before the slower checks, whatever was pasted
        raise _too_long()
    if any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in name):
        raise NameProblem("The name has a line break or an invisible control sign in it.", _RETYPE)
    if _TURNS_TEXT & set(name):
        raise NameProblem("The name has a sign in it that turns the reading order.", _RETYPE)
    cleaned = unicodedata.normalize("NFC", name).strip()
    if not any(unicodedata.category(sign)[0] in "LNPS" for sign in cleaned):
        raise NameProblem("The name is empty.", "Type at least one visible character.")
    if len(cleaned) > MAX_CHARACTERS:
        raise _too_long()
    return cleaned


def key(name: str) -> str:
    """What two names that look alike have in common: case and width of letters do not count."""
    return unicodedata.normalize("NFKC", name).casefold()


_RETYPE = "Type it again instead of pasting it."


def _too_long() -> NameProblem:
    return NameProblem(
        f"The name is longer than {MAX_CHARACTERS} characters.", "Choose a shorter one."
    )


def for_disk(name: str) -> str:
    """
    A name that came from elsewhere as one part of a path, as every system takes it; may be empty.

    Disks count bytes, and a sign may have four; the end is kept, for a file's kind stands there.
    """
    kept = _REFUSED_ON_DISKS.sub("_", name).strip(" .").encode("utf-8", "replace")
    end = kept[-_LONGEST_ON_DISKS:].decode(errors="ignore").strip(" .")
    return f"_{end}" if _DEVICE.match(end) else end
