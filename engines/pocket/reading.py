"""Reads English as people type it: every written word with its spoken words and their phones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engines.pocket.pronouncing import lookup, pronounce
from engines.pocket.spelling import Phones
from engines.texts.abbreviations import ABBREVIATIONS
from engines.texts.normalize import preview
from engines.texts.numerals import say_ordinal, say_whole, say_year


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken word."""

    text: str
    phones: Phones
    """Its default pronunciation in this place."""
    choices: tuple[Phones, ...]
    """Every way it may be said, the default first."""


@dataclass(frozen=True, slots=True)
class Written:
    """What stands between two spaces (or dashes), as it was written, and how it is said."""

    text: str
    start: int
    end: int
    spoken: tuple[Word, ...]
    """Empty where nothing is said: "-"."""
    mark: str
    """The strongest punctuation behind it: "", ",", ".", "?" or "!"."""


def read(text: str) -> tuple[Written, ...]:
    """Read a text: what is said for each written word, and the pause behind it."""
    tokens = list(_tokens(text))
    heard = [_heard(tokens, place) for place in range(len(tokens))]
    marks = [_mark(tokens, place) for place in range(len(tokens))]
    return tuple(
        Written(token.text, token.start, token.start + len(token.text), spoken, mark)
        for token, spoken, mark in zip(tokens, _in_context(heard, marks), marks, strict=True)
    )


# ---- What is written: tokens, with what normalising made of them ----


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    said: str
    """The same with numbers and abbreviations written out, in plain letters and signs."""


# A dash, or punctuation without a space behind it, parts words too: "wait—what", "Well,yes".
_PARTS_WORDS = re.compile(
    r"(?<=\w)(?:[—–―]|--+|…|\.{2,})(?=[\"'“‘(]?[^\W\d_])"
    r"|(?<=[^\W\d_])[,;!?:](?=[\"'“‘(]?[^\W\d_])"
    r"|(?<=[a-z][a-z])\.(?=[A-Z][a-z])"
)
_TELEPHONE = re.compile(r"\d{3}-\d{4}")
_QUOTES = str.maketrans(
    dict.fromkeys("’‘ʼ`´′＇‛", "'") | dict.fromkeys("‐‑−﹣－", "-") | dict.fromkeys("‒–—―", "—")
)
_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "th", "þ": "th"}
_LETTERS |= {letter.upper(): latin.capitalize() for letter, latin in _LETTERS.items()}
_LETTERS |= {
    "ı": "i",
    "×": " times ",
    "÷": " divided by ",
    "™": "",
    "®": "",
    "©": "",
    "\u2044": "/",
}


def _tokens(text: str) -> Iterator[_Token]:
    """Cut a text at its spaces; a change over several words belongs to the first of them."""
    spans = [span for span in preview(text, "en").spans if not _TELEPHONE.fullmatch(span.before)]
    changed = {at: span for span in spans for at in range(span.start, span.end)}
    for start, end in _places(text):
        parts, at = [], start
        while at < end:
            span = changed.get(at)
            parts.append(text[at] if span is None else span.after if span.start == at else "")
            at = at + 1 if span is None else span.end
        yield _Token(text[start:end], start, _plain("".join(parts)).strip())


def _places(text: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer(r"\S+", text):
        start = match.start()
        if not re.search(r"://|www\.", match.group()):
            for cut in _PARTS_WORDS.finditer(match.group()):
                yield start, match.start() + cut.end()
                start = match.start() + cut.end()
        yield start, match.end()


def _plain(text: str) -> str:
    """Write a text in plain letters: café as cafe, curly quotes and long dashes as typed ones."""
    parts: list[str] = []
    for sign in unicodedata.normalize("NFKD", "".join(_LETTERS.get(sign, sign) for sign in text)):
        if sign.isdecimal():
            parts.append(str(unicodedata.decimal(sign)))
        elif not unicodedata.combining(sign):
            parts.append(_LETTERS.get(sign, sign).translate(_QUOTES))
    return "".join(parts)


# ---- Punctuation ----

_SAYS_NOTHING = re.compile(r"[^A-Za-z0-9&@%#+=$€£°]*")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+")


def _mark(tokens: Sequence[_Token], place: int) -> str:
    """Tell the strongest punctuation behind a word; the dot of "Mt." is none."""
    said = tokens[place].said
    # Backwards, because a search for the end of a long row of dots takes its square.
    found = _SAYS_NOTHING.match(said[::-1])
    behind = found.group()[::-1] if found else ""
    for sign in "?!":
        if sign in behind:
            return sign
    if ".." in behind:
        return ","
    if "." in behind:
        return "" if _dot_belongs_to_word(tokens, place) else "."
    if re.search(r"[,;:—]|--", behind) or behind == said == "-":
        return ","
    return ""


def _dot_belongs_to_word(tokens: Sequence[_Token], place: int) -> bool:
    if place + 1 == len(tokens):
        return False
    word = tokens[place].said.strip("\"'“”()[]")
    if re.fullmatch(r"[A-Z]\.", word):
        return place == 0 or tokens[place - 1].text[:1].isupper()  # J. Smith, but "plan B. Then"
    if _INITIALS.fullmatch(word) or word.lower() == "ph.d.":
        return word[0].isupper() or not tokens[place + 1].text[:1].isupper()
    return word.lower().rstrip(".") in ABBREVIATIONS["en"]


# ---- What is said: words with their pronunciations, not yet in their place ----


@dataclass(frozen=True, slots=True)
class _Heard:
    text: str
    ways: tuple[Phones, ...]
    is_letter: bool = False


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _table(lines: str) -> dict[str, str]:
    """Read "km kilometers|mph miles per hour" as what is said for each."""
    return {short: long for short, _, long in (line.partition(" ") for line in lines.split("|"))}


_SPOKEN = re.compile(
    r"(?P<initials>(?<![A-Za-z])(?:[A-Za-z]\.){2,}(?:[A-Za-z](?![A-Za-z]))?)"
    r"|(?P<money>[$€£]\d+(?:[.,]\d+)*(?:[kmbKMB]|bn)(?![A-Za-z]))"
    r"|(?P<plural>(?<!\d)[1-9]?\d?\d0'?s(?![A-Za-z]))"
    r"|(?P<phone>(?<![\d-])\d{3,4}(?:-\d{3,4}){1,2}(?![\d-]))"
    r"|(?P<ordinal>\d{1,15}(?:st|nd|rd|th|ST|ND|RD|TH)(?![A-Za-z]))"
    r"|(?P<fraction>(?<![\d/])[13]/[234](?![\d/]))"
    r"|(?P<digits>\d+)"
    r"|(?P<word>'?[A-Za-z]+(?:'[A-Za-z]+)*'?)"
    r"|(?P<dot>(?<=[A-Za-z0-9])\.(?=[A-Za-z0-9]))"
    r"|(?P<sign>[&@%#+=$€£°])"
)
_SIGNS = {"&": "and", "@": "at", "%": "percent", "#": "hash", "+": "plus", "=": "equals"}
_SIGNS |= {"$": "dollars", "€": "euros", "£": "pounds", "°": "degrees"}
_FRACTIONS = {"1/2": "one half", "1/3": "one third", "2/3": "two thirds", "1/4": "one quarter"}
_FRACTIONS |= {"3/4": "three quarters"}
_UNITS = _table(
    "km kilometers|cm centimeters|mm millimeters|kg kilograms|mg milligrams|ml milliliters|"
    "mph miles per hour|hz hertz|khz kilohertz|mhz megahertz|ghz gigahertz|kb kilobytes|"
    "mb megabytes|gb gigabytes|tb terabytes|ft feet|lb pounds|lbs pounds|oz ounces|"
    "kwh kilowatt hours|min minutes|sec seconds|hrs hours|ms milliseconds"
)
_ALWAYS_UNITS = _set("km cm kg khz mhz ghz mph kwh")
_WITH_DOT = _table(
    "ft. fort|mt. mount|st. saint|ave. avenue|blvd. boulevard|rd. road|inc. incorporated|"
    "ltd. limited|co. company|corp. corporation|ph.d. p h d|cmdr. commander|maj. major"
)
_BEFORE_DIGITS = _table(
    "jan. january|feb. february|mar. march|apr. april|jun. june|jul. july|aug. august|"
    "sep. september|sept. september|oct. october|nov. november|dec. december|fig. figure|"
    "vol. volume|ch. chapter|p. page|pp. pages|min. minimum|max. maximum"
)
_MANY = _table("k thousand|m million|b billion|bn billion")
_INSTEAD = _table("vs versus|'n' and|etc et cetera|json jason|jpeg jay peg")
_LIGHTS = "LED"  # a word in small letters


def _heard(tokens: Sequence[_Token], place: int) -> tuple[_Heard, ...]:
    """Hear the words of a token as they sound alone."""
    said = tokens[place].said
    before = tokens[place - 1].text if place else ""
    after = tokens[place + 1].text if place + 1 < len(tokens) else ""
    long = _written_out(said.strip(",;:!?\"'()[]").lower(), before, after)
    if long:
        return _words(long)
    bare = said.strip(",.;:!?\"'()[]")
    if before[-1:].isdigit() and bare.lower() in ("am", "pm"):
        return _letters(bare)
    is_short = bare == "A" and said.rstrip(",;!?\"')]").endswith("A.")
    if is_short or (_may_be_letters(bare) and not (_is_shouted(before) or _is_shouted(after))):
        return _letters(bare)
    return tuple(heard for match in _SPOKEN.finditer(said) for heard in _part(match))


def _written_out(word: str, before: str, after: str) -> str | None:
    """Write out a unit behind a number, a month before one, and other short forms with a dot."""
    bare = word.rstrip(".")
    if before[-1:].isdigit() and bare in _UNITS:
        several = _UNITS[bare]
        return several.replace("feet", "foot").removesuffix("s") if before == "1" else several
    if after[:1].isdigit() and word in _BEFORE_DIGITS:
        return _BEFORE_DIGITS[word]
    if word == "st." and before[:1].isupper() and not after[:1].isupper():
        return "street"
    return _WITH_DOT.get(word)


def _may_be_letters(word: str) -> bool:
    """Whether these capitals are letters by one of the dictionary's ways: US, ID, but not IT."""
    if word == _LIGHTS:
        return True
    if not re.fullmatch("[A-Z]{2,3}", word):
        return False
    named = [phone.rstrip("012") for letter in _letters(word) for phone in letter.ways[0]]
    return any(named == [phone.rstrip("012") for phone in way] for way in lookup(word.lower()))


def _is_shouted(word: str) -> bool:
    return len(word) > 2 and word.isupper()


def _part(match: re.Match[str]) -> tuple[_Heard, ...]:
    kind, part = match.lastgroup, match.group()
    if kind == "word":
        behind_digit = match.string[: match.start()][-1:].isdigit()
        return _word(part, behind_digit)
    if kind == "initials":
        return _letters(part.replace(".", ""))
    if kind == "dot":
        digits = re.search(r"\d\.\d", match.string[match.start() - 1 : match.end() + 1])
        return _words("point" if digits else "dot")
    if kind == "sign":
        return _words(_SIGNS[part])
    return _words(_number(kind, part))


def _number(kind: str | None, part: str) -> str:
    """Say digits that the rules for texts leave alone: 1990s, 555-1234, the 3 of MP3."""
    if kind == "money":
        amount = part.rstrip("kmbnKMB")
        return preview(f"{amount} {_MANY[part[len(amount) :].lower()]}", "en").after
    if kind == "plural":
        return _several(say_year(part.rstrip("s'"), "en") or _digit_by_digit(part))
    if kind == "ordinal":
        return say_ordinal(int(part[:-2]), "en") or _digit_by_digit(part)
    if kind == "fraction":
        return _FRACTIONS.get(part) or _digit_by_digit(part)
    if kind == "phone" or len(part) > 15 or (part[0] == "0" and len(part) > 1):
        return _digit_by_digit(part)
    return say_year(part, "en") or _digit_by_digit(part)


def _digit_by_digit(part: str) -> str:
    return " ".join(say_whole(digit, "en") or "" for digit in part if digit.isdigit())


def _several(said: str) -> str:
    return said[:-1] + "ies" if said.endswith("y") else said + ("es" if said[-1] == "x" else "s")


def _words(said: str) -> tuple[_Heard, ...]:
    return tuple(heard for word in re.findall(r"[A-Za-z']+", said) for heard in _word(word))


@lru_cache(maxsize=1 << 14)
def _word(word: str, behind_digit: bool = False) -> tuple[_Heard, ...]:
    """Say one word of letters: as a word if it is one or could be, by letters if not."""
    small = word.lower()
    for form in (small, small.strip("'")):
        if form in _INSTEAD:
            return _words(_INSTEAD[form])
        if form in _ALWAYS_UNITS or (behind_digit and form in _UNITS):
            return _words(_UNITS[form])
        if behind_digit and form in ("am", "pm"):
            return _letters(form)
        if len(form) == 1 and form.isalpha():
            return (_Heard(word, lookup("a"), True),) if form == "a" else _letters(form.upper())
        if lookup(form):
            return (_Heard(word.strip("'") if form != small else word, lookup(form)),)
    return _unknown(word.strip("'"))


def _unknown(word: str) -> tuple[_Heard, ...]:
    """Say a word that is not in the dictionary: BBC, CDs, YouTube, sooo, Zorblax."""
    plural = re.fullmatch(r"([A-Z]{2,})('?s)", word)
    if plural:
        return _with_s(_letters(plural[1]))
    vowels = re.search("[aeiouy]", word.lower())
    if not vowels or (len(word) <= 4 and re.fullmatch(r"[A-Z]{2,}[a-z]?", word)):
        return _letters(word)
    pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z']+|[A-Z]", word)
    if len(pieces) > 1:
        return tuple(heard for piece in pieces for heard in _word(piece))
    for short in (re.sub(r"(.)\1{2,}", again, word.lower()) for again in (r"\1\1", r"\1")):
        if short != word.lower() and lookup(short):
            return (_Heard(word, lookup(short)),)
    return (_Heard(word, pronounce(word)),)


def _with_s(letters: tuple[_Heard, ...]) -> tuple[_Heard, ...]:
    *first, last = letters
    phones = last.ways[0]
    end = ("AH0", "Z") if phones[-1] in ("S", "CH") else ("Z",)
    return (*first, _Heard(last.text + "s", ((*phones, *end),), True))


def _letters(word: str) -> tuple[_Heard, ...]:
    """Say the names of letters."""
    return tuple(
        _Heard(letter, (("EY1",),) if letter == "A" else lookup(letter.lower())[:1], True)
        for letter in word.upper()
        if letter.isalpha()
    )


# ---- What the neighbours decide ----

_DETERMINERS = _set(
    "a an the this that these those my your his her its our their some any no every each of in "
    "new old good bad big small first last next own more much most"
)
_BEFORE_VERBS = _set(
    "to will would can could should shall may might must i you we they not don't didn't doesn't "
    "won't can't couldn't wouldn't let's please i'll you'll we'll they'll who"
)
# Of these the dictionary has both; the noun has its stress first, or ends in a weak -ate.
_SHIFTING = _set(
    "address advocate alternate associate attribute conduct conflict console content contest "
    "contract convert deliberate desert digest discount duplicate estimate export extract "
    "graduate import increase insert insult invalid moderate object perfect permit present "
    "produce progress project protest rebel record records refuse separate subject survey suspect "
    "transfer transport upset"
)
_OTHERS: dict[str, tuple[Phones, Phones]] = {
    word: (tuple(noun.split()), tuple(verb.split()))
    for word, noun, verb in (
        ("use", "Y UW1 S", "Y UW1 Z"),
        ("close", "K L OW1 S", "K L OW1 Z"),
        ("live", "L AY1 V", "L IH1 V"),
        ("lives", "L AY1 V Z", "L IH1 V Z"),
        ("wind", "W IH1 N D", "W AY1 N D"),
        ("house", "HH AW1 S", "HH AW1 Z"),
        ("excuse", "IH0 K S K Y UW1 S", "IH0 K S K Y UW1 Z"),
        ("tear", "T IH1 R", "T EH1 R"),
    )
}
# Where the dictionary puts a weak or a rarer form first.
_DEFAULTS: dict[str, Phones] = {
    word: tuple(phones.split())
    for word, phones in (
        ("and", "AE1 N D"),
        ("to", "T AH0"),
        ("use", "Y UW1 Z"),
        ("live", "L IH1 V"),
        ("lives", "L IH1 V Z"),
        ("tear", "T IH1 R"),
        ("lead", "L IY1 D"),
        ("subject", "S AH1 B JH IH0 K T"),
        ("perfect", "P ER1 F IH2 K T"),
        ("survey", "S ER1 V EY2"),
        ("invalid", "IH2 N V AE1 L AH0 D"),
        ("convert", "K AH0 N V ER1 T"),
        ("wound", "W UW1 N D"),
    )
}


def _in_context(
    heard: Sequence[tuple[_Heard, ...]], marks: Sequence[str]
) -> Iterator[tuple[Word, ...]]:
    """Choose for every word the pronunciation that its neighbours ask for."""
    row: list[_Heard | None] = []
    for words, mark in zip(heard, marks, strict=True):
        row += [*words, *([None] if mark else [])]
    row = [None, *row, None]
    place = 1
    for words, mark in zip(heard, marks, strict=True):
        yield tuple(
            _chosen(word, row[place + at - 1], row[place + at + 1]) for at, word in enumerate(words)
        )
        place += len(words) + bool(mark)


def _chosen(word: _Heard, before: _Heard | None, after: _Heard | None) -> Word:
    default = _default(word, before, after)
    return Word(word.text, default, tuple(dict.fromkeys((default, *word.ways))))


def _default(word: _Heard, before: _Heard | None, after: _Heard | None) -> Phones:
    small = word.text.lower()
    previous = before.text.lower() if before else ""
    if word.is_letter:
        return _letter_or_article(word, before, after) if small == "a" else word.ways[0]
    if small == "the":
        vowel = after is not None and after.ways[0][0][-1].isdigit()
        return ("DH", "IY0") if vowel else ("DH", "AH0")
    if small == "read":
        return ("R", "IY1", "D") if previous in _BEFORE_VERBS - {"i"} else ("R", "EH1", "D")
    ways = _DEFAULTS.get(small, word.ways[0]), *word.ways
    if previous in _BEFORE_VERBS:
        return next((way for way in ways if _is_verb(small, way)), ways[0])
    if previous in _DETERMINERS:
        return next((way for way in ways if _is_noun(small, way)), ways[0])
    return ways[0]


def _is_noun(word: str, way: Phones) -> bool:
    if word in _OTHERS:
        return way == _OTHERS[word][0]
    return word in _SHIFTING and not _is_verb(word, way)


def _is_verb(word: str, way: Phones) -> bool:
    if word in _OTHERS:
        return way == _OTHERS[word][1]
    if word.endswith("ate"):
        return word in _SHIFTING and way[-2:] == ("EY2", "T")
    first = next((phone for phone in way if phone[-1].isdigit()), "")
    return word in _SHIFTING and not first.endswith("1")


def _letter_or_article(word: _Heard, before: _Heard | None, after: _Heard | None) -> Phones:
    if len(word.ways) == 1:
        return word.ways[0]
    inside = before is not None and not before.text.isupper()
    capital = word.text == "A" and inside and after is not None and after.text.islower()
    return ("EY1",) if after is None or capital else ("AH0",)
