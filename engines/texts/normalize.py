"""Numbers and abbreviations written as they are said, always as a preview first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from engines.texts.abbreviations import ORDINAL_DOTS
from engines.texts.numerals import read_number, say_number, say_ordinal, say_whole, say_year
from engines.texts.spoken_forms import (
    ABBREVIATIONS,
    AND,
    CENTS,
    CURRENCIES,
    MINUS,
    MONTHS,
    NUMBER_SIGNS,
    PERCENT,
    PERCENT_FIRST,
    UNTIL,
)

# Digits with their groups and decimals; a dot or comma at the end belongs to the sentence.
_DIGITS = r"\d+(?:[.,\u00a0\u202f]\d+)*"
_DENSE = frozenset(("zh", "ja", "ko", "th"))
# As computers write it: the one way of writing a day in figures that has one meaning.
_DAY = re.compile(
    r"(?<![\w:/.-])(?P<year>[12]\d{3})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?![\w:/-]|\.\d)"
)
_RANGE = re.compile(r"(?<![\w.,:/–-])(\d{1,4})\s?[-–]\s?(\d{1,4})(?![\w:/–-]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class Span:
    """One place that changes: where it is in the text before, and what it becomes."""

    start: int
    end: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    """What normalising would do to a text, to be shown before it is done."""

    before: str
    after: str
    spans: tuple[Span, ...]
    left: tuple[str, ...] = ()
    """Numbers nobody here can say for sure: the 3 in "am 3. Mai", 1990s, MP3."""


def preview(text: str, language: str) -> Change:
    """Show what a text looks like with numbers and abbreviations written out."""
    spans: list[Span] = []
    for pattern, say in _rules(language.split("-")[0].lower()):
        for match in pattern.finditer(text):
            said = None if _taken(spans, match) else say(match)
            if said is not None and said != match.group():
                spans.append(Span(match.start(), match.end(), match.group(), said))
    spans.sort(key=lambda span: span.start)
    return Change(text, _replaced(text, spans), tuple(spans), tuple(_left(text, spans)))


def _taken(spans: list[Span], match: re.Match[str]) -> bool:
    return any(span.start < match.end() and match.start() < span.end for span in spans)


def _replaced(text: str, spans: list[Span]) -> str:
    parts, last = [], 0
    for span in spans:
        parts += [text[last : span.start], span.after]
        last = span.end
    return "".join([*parts, text[last:]])


def _left(text: str, spans: list[Span]) -> Iterator[str]:
    for match in re.finditer(r"\w*\d[\w.,:/–-]*", text):
        if not _taken(spans, match):
            yield match.group().rstrip(".,:/–-")


# ---- The rules, the most particular first ----

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], "str | None"]]


@lru_cache
def _rules(language: str) -> tuple[Rule, ...]:
    return (*_each_rule(language),)


def _each_rule(language: str) -> Iterator[Rule]:
    number = _number_pattern(language)
    yield from _money_rules(language, number)
    if language in PERCENT:
        yield re.compile(f"{number}[ \u00a0\u202f]?[%％]"), lambda m: _percent(m, language)
        yield re.compile(f"(?<!\\w)%{number}"), lambda m: _percent(m, language)
    if language in NUMBER_SIGNS:
        signs, word = NUMBER_SIGNS[language]
        yield re.compile(rf"(?<!\w)(?:{signs})\s?(?=\d)"), lambda m: f"{_as_begun(word, m)} "
    if language == "en":
        yield re.compile(r"(?<![\w:.,])(\d{1,2}):([0-5]\d)([ap]m)?(?![\w:])"), _time
        yield _DAY, _day
        yield re.compile(r"(?<![\w.,])(\d{1,15})(?:st|nd|rd|th)\b"), _ordinal
    if language in UNTIL:
        yield _RANGE, lambda m: _range(m, language)
    if language in MINUS:
        yield re.compile(r"(?<![\w)-])[-−](?=\d)"), lambda m: f"{MINUS[language]} "
    yield re.compile(number), lambda m: _number(m, language)
    for short, long in ABBREVIATIONS.get(language, {}).items():
        yield _abbreviation(short, long)
    if language in AND:
        yield re.compile(r"(?<=\s)&(?=\s)"), lambda m: AND[language]


def _number_pattern(language: str) -> str:
    """Numbers that stand alone: not those in MP3, 4K, 1990s, 5:30, or 2024-11-21."""
    letters = "[A-Za-z]" if language in _DENSE else r"[^\W\d_]"
    before = rf"(?<!{letters})(?<![\d_])(?<!\d[.,:/–-])"
    return rf"{before}(?P<number>{_DIGITS})(?!{letters}|[\d_]|[:/.,–-]\d)"


def _money_rules(language: str, number: str) -> Iterator[Rule]:
    signs = CURRENCIES.get(language)
    if signs:
        sign = f"(?P<sign>[{''.join(signs)}])"
        many = r"(?: (?P<many>thousand|million|billion|trillion)\b)?" if language == "en" else ""
        plain = number[number.index("(?P<number>") :]
        yield re.compile(f"{sign}\\s?{plain}{many}"), lambda m: _money(m, language)
        yield re.compile(f"{number}[ \u00a0\u202f]?{sign}"), lambda m: _money(m, language)


def _money(match: re.Match[str], language: str) -> str | None:
    value = read_number(match["number"], language)
    if value is None:
        return None
    whole, decimals = value
    one, several = CURRENCIES[language][match["sign"]]
    many = match.groupdict().get("many")
    if many:
        return f"{say_number(whole, decimals, language)} {many} {several}"
    amount = f"{say_whole(whole, language)} {one if int(whole) == 1 else several}"
    if not decimals.strip("0"):
        return amount
    if language != "en":
        return f"{say_number(whole, decimals, language)} {several}"
    return f"{amount} and {_cents(decimals, match['sign'])}" if len(decimals) == 2 else None


def _cents(decimals: str, sign: str) -> str:
    one, several = CENTS[sign]
    return f"{say_whole(decimals, 'en')} {one if int(decimals) == 1 else several}"


def _percent(match: re.Match[str], language: str) -> str | None:
    value = read_number(match["number"], language)
    said = value and say_number(*value, language)
    if not said:
        return None
    parts = [PERCENT[language], said] if language in PERCENT_FIRST else [said, PERCENT[language]]
    return ("" if language in ("zh", "ja") else " ").join(parts)


def _time(match: re.Match[str]) -> str | None:
    hour, minute = match[1], match[2]
    if int(hour) > 23:
        return None
    said, half = say_whole(hour, "en"), f" {match[3][0]} m" if match[3] else ""
    if minute != "00":
        return f"{said} {'oh ' if minute[0] == '0' else ''}{say_whole(minute, 'en')}{half}"
    if half:
        return f"{said}{half}"
    return f"{said} o'clock" if 1 <= int(hour) <= 12 else f"{said} hundred"


def _day(match: re.Match[str]) -> str | None:
    month = MONTHS[int(match["month"]) - 1]
    return f"{month} {say_ordinal(int(match['day']), 'en')}, {say_year(match['year'], 'en')}"


def _ordinal(match: re.Match[str]) -> str | None:
    return say_ordinal(int(match[1]), "en")


def _range(match: re.Match[str], language: str) -> str | None:
    first, last = match[1], match[2]
    if int(first) >= int(last) or "0" in (first[0], last[0]):
        return None
    return f"{say_year(first, language)} {UNTIL[language]} {say_year(last, language)}"


def _number(match: re.Match[str], language: str) -> str | None:
    written, text = match["number"], match.string
    value = read_number(written, language)
    if value is None or _may_be_ordinal(text[match.end() :], written, language):
        return None
    return say_year(written, language) if written.isdigit() else say_number(*value, language)


def _as_begun(word: str, match: re.Match[str]) -> str:
    """Give a word a capital where it begins a sentence."""
    begins = re.search(r"(^|[.!?]\s)\W*$", match.string[: match.start()])
    return word[0].upper() + word[1:] if begins else word


def _may_be_ordinal(rest: str, written: str, language: str) -> bool:
    """Whether this is "3." before another word, in a language that writes ordinals so."""
    dotted = re.match(r"\.(?:\s+\w|-)", rest)
    return language in ORDINAL_DOTS and len(written) <= 2 and dotted is not None


def _abbreviation(short: str, long: str) -> Rule:
    # "Z. B." may begin a sentence; "m." for "M." is a metre.
    first = f"[{short[0]}{short[0].upper()}]"
    pattern = re.compile(rf"(?<![\w.]){first}{re.escape(short[1:])}(?!\w)")

    def say(match: re.Match[str]) -> str:
        capital = match.group()[0].isupper() and short[0].islower()
        said = long[0].upper() + long[1:] if capital else long
        # The dot also ended the sentence: keep one.
        after = match.string[match.end() :]
        ends = short.endswith(".") and (not after.strip("\"'”’»)]} ")) and short[0].islower()
        return said + "." if ends else said

    return pattern, say
