"""Checks of a clip: each gives a number and a sentence; together they sort good, look, leave out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from statistics import median
from typing import Literal

import numpy as np

from finetune.quiet import Levels
from finetune.scripts import foreign_letters, is_dense, says
from finetune.texts.records import excerpt
from finetune.texts.units import units_of
from finetune.words import Word, join_words

GOOD, MENTION, LOOK, LEAVE_OUT = 0.0, 0.2, 0.4, 1.0
"""Weights of a finding. They add up: two mentions, or one look, are worth a look."""

Mark = Literal["good", "look", "leave out"]
MARKS: tuple[Mark, ...] = ("good", "look", "leave out")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: its number, what that means in words, and how much it matters."""

    check: str
    number: float
    sentence: str
    weight: float = GOOD


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a clip is put until a person decides, and why."""

    mark: Mark
    reason: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a clip when it is checked."""

    text: str
    language: str
    seconds: float
    heard: Levels = field(default_factory=lambda: np.zeros(0, np.float32))
    """Its level every 10 ms (finetune.quiet.levels)."""
    clipped: float = 0.0
    """Share of samples at full scale (finetune.quiet.clipped_share)."""
    words: Sequence[Word] = ()


@dataclass(frozen=True, slots=True)
class Usual:
    """What is usual for a speaker: the medians of all clips."""

    per_second: float | None = None
    """Characters, for scripts of letters; None until enough clips are known."""
    dense_per_second: float | None = None
    """The same for Chinese, Japanese and Korean, where a character is a syllable or a word."""


@dataclass(frozen=True, slots=True)
class Fits:
    """What an engine can learn from, in its own units; None where it has no limit."""

    title: str
    min_seconds: float = 0.0
    max_seconds: float = float("inf")
    max_characters: int | None = None
    max_tokens: int | None = None
    characters: frozenset[str] | None = None
    """The characters it knows; everything else becomes UNK, a noise in its ears."""
    count_tokens: Callable[[str], int] | None = None


# A median of fewer clips moves too much to judge others by.
FEWEST_CLIPS = 8
# A digit is read as a word: "7" is "seven".
DIGIT_LETTERS = 4


def usual(clips: Iterable[Facts]) -> Usual:
    """Measure how fast this speaker speaks, over all clips."""
    letters: list[float] = []
    dense: list[float] = []
    for clip in clips:
        if clip.seconds > 0 and spoken_characters(clip.text):
            rates = dense if is_dense(clip.text) else letters
            rates.append(spoken_characters(clip.text) / clip.seconds)
    return Usual(_median(letters), _median(dense))


def _median(rates: Sequence[float]) -> float | None:
    return median(rates) if len(rates) >= FEWEST_CLIPS else None


def spoken_characters(text: str) -> int:
    """Count what takes time to say: letters and digits, not spaces and marks."""
    return sum(DIGIT_LETTERS if sign.isdigit() else 1 for sign in text if says(sign))


def check(clip: Facts, speaker: Usual, engines: Iterable[Fits] = ()) -> list[Finding]:
    """Do every check that can be done with what is known of the clip."""
    if not spoken_characters(clip.text):
        return [Finding("text", 0, "It has no words to learn from.", LEAVE_OUT)]
    found = [check_speed(clip, speaker), check_repeats(clip.text), check_script(clip)]
    if len(clip.heard):
        found += [check_clipping(clip.clipped), check_level(clip.heard), check_noise(clip.heard)]
    if clip.words:
        found += [check_certainty(clip.words), check_agreement(clip.text, clip.words)]
    return found + [finding for engine in engines for finding in check_engine(clip, engine)]


def judge(findings: Iterable[Finding]) -> Verdict:
    """Sort a clip by what was found: the gravest finding is the reason, the others follow."""
    grave = sorted((each for each in findings if each.weight), key=lambda each: -each.weight)
    # A tenth of a weight off for the sums of floats.
    total = sum(each.weight for each in grave) + 1e-9
    mark: Mark = "leave out" if total >= LEAVE_OUT else "look" if total >= LOOK else "good"
    return Verdict(mark, " ".join(each.sentence for each in grave))


# ---- The text against its length ----


def check_speed(clip: Facts, speaker: Usual) -> Finding:
    """Compare the characters a second with the speaker's own: far off, words lack or are extra."""
    dense = is_dense(clip.text)
    typical = speaker.dense_per_second if dense else speaker.per_second
    rate = spoken_characters(clip.text) / max(clip.seconds, 0.01)
    said = f"{rate:.1f} characters a second"
    if typical is None:
        return Finding("speed", rate, f"{said}; too few clips to say what is usual.")
    sentence = f"{said}, where this voice usually says {typical:.1f}"
    # One long word, or a breath, counts for more in a short clip.
    room = 1.0 + 0.5 / max(clip.seconds, 0.5)
    slow, fast = typical / rate / room, rate / typical / room
    if fast > 1.35:
        weight = LEAVE_OUT if fast > 2.0 else LOOK
        return Finding("speed", rate, f"{sentence}: the text may hold words not spoken.", weight)
    if slow > 1.5:
        weight = LEAVE_OUT if slow > 3.0 else LOOK
        return Finding("speed", rate, f"{sentence}: words may be missing in the text.", weight)
    return Finding("speed", rate, f"{sentence}.")


def check_repeats(text: str) -> Finding:
    """Look for words said over and over, which Whisper writes when it hears nothing it knows."""
    signs = [sign for sign in text if says(sign)] if is_dense(text) else text.lower().split()
    times, size, first = max(_loops(signs), default=(1, 0, 0))
    if times < 3 or (size == 1 and times == 3):
        # "No, no, no!" is how people speak.
        return Finding("repeats", times, "Nothing is said over and over.")
    phrase = ("" if is_dense(text) else " ").join(signs[first : first + size])
    share = times * size / len(signs)
    weight = LEAVE_OUT if share > 0.5 and times > 3 else LOOK
    return Finding("repeats", times, f"It says “{phrase}” {times} times in a row.", weight)


def _loops(signs: Sequence[str], longest: int = 12) -> Iterator[tuple[int, int, int]]:
    """Give (times, size, place) for each group of up to `longest` words that follows itself."""
    for size in range(1, min(longest, len(signs) // 2) + 1):
        same = 0
        for place in range(len(signs) - size):
            same = same + 1 if signs[place] == signs[place + size] else 0
            if same >= size:
                times = same // size + 1
                yield times, size, place + 1 - same


def check_script(clip: Facts) -> Finding:
    """Look for letters that the language is not written with."""
    strange, share = foreign_letters(clip.text, clip.language)
    if not strange:
        return Finding("script", 0, "Written in the letters of its language.")
    weight = LEAVE_OUT if share > 0.5 else LOOK if share > 0.1 else MENTION
    sentence = f"{share:.0%} of its letters are not of the language “{clip.language}”: {strange}."
    return Finding("script", share, sentence, weight)


# ---- The sound ----


def check_clipping(share: float) -> Finding:
    """Look for sound that was too loud for its recording."""
    weight = LEAVE_OUT if share > 0.01 else LOOK if share > 0.0005 else GOOD
    if not weight:
        return Finding("clipping", share, "Not clipped.")
    return Finding("clipping", share, f"{share:.2%} of it is clipped: recorded too loud.", weight)


def check_level(heard: Levels) -> Finding:
    """Measure how loud the speech is. Loudness is set later; very quiet speech brings its hiss."""
    level = float(np.percentile(heard, 90))
    weight = LEAVE_OUT if level < -65 else LOOK if level < -48 else GOOD
    what = "almost silent" if weight == LEAVE_OUT else "very quiet" if weight else "loud enough"
    return Finding("level", level, f"Speech at {level:.0f} dB: {what}.", weight)


def check_noise(heard: Levels) -> Finding:
    """Measure how far speech stands above what is heard in its gaps."""
    # Clips are cut close: a twentieth is often all the silence there is.
    speech, noise = np.percentile(heard, (85, 5))
    ratio = float(speech - noise)
    weight = LEAVE_OUT if ratio < 6 else LOOK if ratio < 16 else GOOD
    what = "noise or music throughout" if weight == LEAVE_OUT else "noisy" if weight else "clean"
    return Finding(
        "noise", ratio, f"Speech is {ratio:.0f} dB above the background: {what}.", weight
    )


def check_certainty(words: Sequence[Word]) -> Finding:
    """Ask how sure Whisper was of the words: low where text and sound disagree."""
    sure = sum(word.probability for word in words) / len(words)
    least = min(words, key=lambda word: word.probability)
    weight = LEAVE_OUT if sure < 0.3 else LOOK if sure < 0.6 else GOOD
    if not weight and least.probability < 0.15:
        weight = MENTION
    doubt = f", least of “{least.text.strip()}” ({least.probability:.0%})"
    sentence = f"Whisper is {sure:.0%} sure of the words{doubt if weight else ''}."
    return Finding("certainty", sure, sentence, weight)


def check_agreement(text: str, words: Sequence[Word]) -> Finding:
    """Compare the text with what Whisper heard, by their letters: a person may have mistyped."""
    heard = join_words([word.text for word in words])
    ours, theirs = ("".join(units_of(each)) for each in (text, heard))
    same = SequenceMatcher(None, ours, theirs, autojunk=False).ratio() if ours != theirs else 1.0
    # Numbers are written one way and heard another: "3.5", "three point five".
    weight = LEAVE_OUT if same < 0.4 else LOOK if same < 0.75 else GOOD
    if weight and any(map(str.isdigit, ours + theirs)):
        weight = MENTION
    if not weight:
        return Finding("agreement", same, f"{same:.0%} of the letters are as Whisper heard them.")
    return Finding("agreement", same, f"Whisper heard something else: {excerpt(heard)}.", weight)


# ---- The engine ----


def check_engine(clip: Facts, engine: Fits) -> Iterator[Finding]:
    """Ask whether an engine can learn from the clip, or would leave it out without a word."""
    yield _length(clip.seconds, engine)
    if engine.characters is not None:
        yield _unknown(clip.text, engine.title, engine.characters)
    if engine.max_characters is not None:
        yield _at_most("characters", len(clip.text), engine.max_characters, engine.title)
    if engine.max_tokens is not None and engine.count_tokens is not None:
        yield _at_most("tokens", engine.count_tokens(clip.text), engine.max_tokens, engine.title)


def _length(seconds: float, engine: Fits) -> Finding:
    if seconds > engine.max_seconds:
        why = f"longer than {engine.title} takes ({engine.max_seconds:g} s)"
    elif seconds < engine.min_seconds:
        why = f"shorter than {engine.title} takes ({engine.min_seconds:g} s)"
    else:
        return Finding("length", seconds, f"{seconds:.1f} s long.")
    return Finding("length", seconds, f"{seconds:.1f} s, {why}.", LEAVE_OUT)


def _unknown(text: str, title: str, known: frozenset[str]) -> Finding:
    strange = Counter(sign for sign in text if sign not in known and not sign.isspace())
    share = strange.total() / max(1, len(text))
    if not strange:
        return Finding("unknown", 0, f"{title} knows all its characters.")
    shown = " ".join(sign for sign, _ in strange.most_common(8))
    weight = LEAVE_OUT if share > 0.2 else LOOK
    return Finding("unknown", share, f"{title} does not know these characters: {shown}.", weight)


def _at_most(what: str, count: int, most: int, title: str) -> Finding:
    if count <= most:
        return Finding(what, count, f"It has {count} of the {most} {what} that {title} takes.")
    return Finding(what, count, f"It has {count} {what}; {title} takes {most}.", LEAVE_OUT)
