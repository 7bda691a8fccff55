"""One sentence as it is said: without the signs nobody reads aloud, numbers and addresses in words."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from engines.texts.normalize import preview
from engines.texts.spacing import DENSE, unspaced
from engines.texts.spoken_forms import ABBREVIATIONS
from voices.speaking.layout import HEADING

# Control signs, marks of writing direction, soft hyphens, private signs and halves of a sign.
# U+200C and U+200D stay: Hindi is spelled with them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\ufff9-\uffff\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff]"
)
_EMOJI = re.compile(
    "(?:[\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff]"
    "[\ufe0f\u200d\u20e3]*)+|[\ufe0f\u20e3]"
)
_LEFT_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?…])")
_DENSE = re.compile(f"[{DENSE}]")
# Most sentences, in which there is nothing to leave out: telling them takes the least time.
_PLAIN = re.compile(r"[^\W_](?:[^\W_]|[ ,;:.!?'’“”\"()…-])*")
_MAY_BE_ADDRESS = re.compile(r"\w\.\w|@")
_MARKUP = re.compile(r"\*+(?=\S)|(?<=\S)\*+|`+|(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w)|~~")
_BULLET = re.compile(r"\A\s*(?:[-*•‣▪◦–—]|>+)\s+(?=\S)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:https?|mailto)[^()\s]*\)")
_MAIL = re.compile(r"(?<![\w.+-])([\w+-]+(?:\.[\w+-]+)*)@([\w-]+(?:\.[\w-]+)+)")
_ADDRESS = re.compile(
    r"(?<![\w@.-])(?:(?:https?|ftp)://(?:www\.)?|www\.)([\w-]+(?:\.[\w-]+)+)(?::\d+)?(?:/[^\s<>\"”»)]*)?"
    r"|(?<![\w@.-])([\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|io))(?:/[^\s<>\"”»)]*)?(?![\w-])"
)
_AFTER_ADDRESS = ".,;:!?…"

DOT = {
    "en": "dot", "es": "punto", "fr": "point", "de": "Punkt", "it": "punto", "pt": "ponto",
    "pl": "kropka", "tr": "nokta", "ru": "точка", "nl": "punt", "cs": "tečka", "ar": "نقطة",
    "hu": "pont", "ko": "닷", "ja": "ドット", "zh": "点", "hi": "डॉट",
}  # fmt: skip
AT = {
    "en": "at", "es": "arroba", "fr": "arobase", "de": "at", "it": "chiocciola", "pt": "arroba",
    "pl": "małpa", "tr": "et", "ru": "собака", "nl": "apenstaartje", "cs": "zavináč",
    "ar": "آت", "hu": "kukac", "ko": "골뱅이", "ja": "アットマーク", "zh": "艾特", "hi": "ऐट",
}  # fmt: skip


def said(written: str, language: str) -> str:
    """Write a piece of text as it is said; "" when there is nothing in it to say."""
    short = language.split("-")[0].lower()
    text = written if _PLAIN.fullmatch(written) else _without_signs(written)
    if _MAY_BE_ADDRESS.search(text):
        text = _in_words(text, short)
    if _may_change(short).search(text):
        text = preview(text, short).after
    return _spaced(text) if any(map(str.isalnum, text)) else ""


def _without_signs(text: str) -> str:
    """Leave out what is for the eye alone: bullets, emphasis, pictures, control signs."""
    text = HEADING.sub("", _BULLET.sub("", text))
    if not text.isascii():
        text, pictures = _EMOJI.subn(" ", text)
        text = _LEFT_BEFORE_MARK.sub("", text) if pictures else text
    return _MARKUP.sub("", _LINK.sub(r"\1", _UNSEEN.sub("", text)))


def _in_words(text: str, language: str) -> str:
    """Say addresses by their host; nobody listens to what comes after it."""
    dot, at = (f" {table.get(language, '.')} " for table in (DOT, AT))
    text = _MAIL.sub(lambda m: f"{m[1]}{at}{m[2]}".replace(".", dot), text)

    def say(match: re.Match[str]) -> str:
        host = match[1] or match[2]
        path = match.group().rpartition(host)[2]
        return host.replace(".", dot) + path[len(path.rstrip(_AFTER_ADDRESS)) :]

    return _ADDRESS.sub(say, text)


@lru_cache
def _may_change(language: str) -> re.Pattern[str]:
    """What a sentence has in it when there is something to normalise: most have nothing."""
    signs = (re.escape(short) for short in ABBREVIATIONS.get(language, {}))
    return re.compile(rf"\d|&|\b(?i:{'|'.join(signs) or '&'})")


def _spaced(text: str) -> str:
    """Put one space where any were; scripts without spaces have none at the end of a line."""
    words = text.split()
    if text.isascii() or not _DENSE.search(text):
        return " ".join(words)
    spaced = words[0]
    for before, word in pairwise(words):
        spaced += word if unspaced(before[-1]) and unspaced(word[0]) else f" {word}"
    return spaced
