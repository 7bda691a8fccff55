"""Numbers read from digits and said in words."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module

from engines.texts.spoken_forms import DECIMAL_COMMA, POINT, YEARS_IN_PAIRS

# Longer numbers are telephone or card numbers, which are said digit by digit, or not at all.
_MOST_DIGITS = 15


def read_number(written: str, language: str) -> tuple[str, str] | None:
    """Read a number as its digits before and after the decimal sign; None if it is none."""
    comma = language in DECIMAL_COMMA
    decimal, group = (",", ".") if comma else (".", ",")
    written = re.sub("[\u00a0\u202f]", "", written)
    if re.fullmatch(rf"\d{{1,3}}(\{group}\d{{3}})+(\{decimal}\d+)?", written):
        written = written.replace(group, "")
    whole, _, decimals = written.replace(",", ".").partition(".")
    if not re.fullmatch(r"\d*", decimals) or len(whole) + len(decimals) > _MOST_DIGITS:
        return None
    if len(whole) > 1 and whole.startswith("0"):
        return None  # 0199: a telephone number or a code
    return whole, decimals


def say_number(whole: str, decimals: str, language: str) -> str | None:
    if not decimals:
        return say_whole(whole, language)
    if language not in POINT:
        return _num2words(float(f"{whole}.{decimals}"), language)
    digits = [say_whole(digit, language) for digit in decimals]
    parts = [say_whole(whole, language), POINT[language], *digits]
    if None in parts:
        return None
    return ("" if language in ("zh", "ja") else " ").join(part for part in parts if part)


def say_year(digits: str, language: str) -> str | None:
    """Say a whole number, one that looks like a year as a year."""
    if language in YEARS_IN_PAIRS and re.fullmatch(r"1[1-9]\d\d|20[1-9]\d", digits):
        return _num2words(int(digits), language, "year")
    return say_whole(digits, language)


def say_whole(digits: str, language: str) -> str | None:
    if language == "zh":
        return _chinese(int(digits))
    return _num2words(int(digits), language)


def say_ordinal(value: int, language: str) -> str | None:
    """Say the place in a row: "third"."""
    return _num2words(value, language, "ordinal")


@lru_cache(
    maxsize=4096, typed=True
)  # a table of figures says the same ones again and again, at 0.1 ms each
def _num2words(value: float, language: str, to: str = "cardinal") -> str | None:
    """Ask num2words, which knows dozens of languages, Hindi and Chinese not among them."""
    num2words = import_module("num2words").num2words  # late: it brings all its languages
    try:
        said = str(num2words(value, lang=language, to=to))
    except (NotImplementedError, OverflowError):
        return None
    return said.replace(",", "") if language == "en" else said


def _chinese(value: int) -> str:
    """Say a whole number in Chinese, which counts in ten thousands."""
    if value == 0:
        return "零"
    groups, unit = [], 0
    while value:
        value, group = divmod(value, 10_000)
        if group:
            groups.append((unit, group))
        unit += 1
    return _chinese_groups(groups[::-1])


def _chinese_groups(groups: list[tuple[int, int]]) -> str:
    said, last = "", -1
    for unit, group in groups:
        if said and (group < 1000 or last - unit > 1):
            said += "零"
        said += _chinese_below_10000(group) + ("", "万", "亿", "万亿")[unit]
        last = unit
    return said.removeprefix("一") if said.startswith("一十") else said


def _chinese_below_10000(value: int) -> str:
    said, gap = "", False
    for size, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // size % 10
        if digit:
            said += ("零" if gap and said else "") + "零一二三四五六七八九"[digit] + name
        gap = digit == 0
    return said
