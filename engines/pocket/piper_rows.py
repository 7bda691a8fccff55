"""From what Piper sends to the rows that pocket reads, in operations that a graph can hold."""

from __future__ import annotations

import torch
from torch import nn

from engines.pocket.facts import MARKS, STRESSES
from engines.pocket.phones import FIRST, LAST, PAUSE_NUMBER, number_of
from engines.pocket.piper_symbols import (
    LAST_OF_FRAME,
    NUMBER,
    Pairs,
    meanings,
    pairs_changed,
    pairs_joined,
)

_NONE, _SECONDARY, _PRIMARY = (STRESSES.index(each) for each in ("none", "secondary", "primary"))
_AH, _AX = number_of("ah"), number_of("ax")
_OUTSIDE = -1
"""The word of what is in none."""


class RowsOfSigns(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """Numbers of espeak-ng's signs, framed and filled as Piper does, to rows as sounds_of lays them."""

    meanings: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.join, self.change = _Change(pairs_joined()), _Change(pairs_changed())
        self.register_buffer("meanings", torch.from_numpy(meanings()))

    def forward(self, signs: torch.Tensor) -> torch.Tensor:
        """(signs) -> (1, rows, 4)."""
        # Speech ends with a mark, written or not; a second one in a row is no other pause.
        symbols = torch.cat([signs[signs > LAST_OF_FRAME], signs.new_full((1,), NUMBER["."])])
        symbols = self.change(self.join(symbols))
        phone, vowel, full, told, mark, space = self.meanings[symbols].unbind(1)
        word = (space + (mark > 0).long()).cumsum(0)
        stress = _promoted(_stress(vowel, told), vowel, full, word)
        # CMU's dictionary, which taught pocket, has no weak ʌ.
        phone = torch.where((phone == _AH) & (stress == _NONE), _AX, phone)
        return _laid_out(phone, stress, mark, word)[None]


class _Change(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """Replace pairs of symbols; pairs must not overlap but where both leave the middle alone."""

    first: torch.Tensor
    second: torch.Tensor

    def __init__(self, pairs: Pairs) -> None:
        super().__init__()
        self.symbols = len(pairs.first)
        self.register_buffer("first", torch.from_numpy(pairs.first.flatten()))
        self.register_buffer("second", torch.from_numpy(pairs.second.flatten()))

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        none = symbols.new_zeros(1)
        before, after = torch.cat([none, symbols[:-1]]), torch.cat([symbols[1:], none])
        first = self.first[symbols * self.symbols + after]
        second = self.second[before * self.symbols + symbols]
        symbols = torch.where(second < 0, first, second)
        return symbols[symbols > 0]


def _stress(vowel: torch.Tensor, told: torch.Tensor) -> torch.Tensor:
    """Give each vowel the stress that is written somewhere before it, behind the last vowel."""
    number = vowel.cumsum(0) - vowel
    of_vowel = _totals(number, told)
    return vowel * of_vowel[number].clamp(_NONE, _PRIMARY)


def _promoted(
    stress: torch.Tensor, vowel: torch.Tensor, full: torch.Tensor, word: torch.Tensor
) -> torch.Tensor:
    """
    Stress each word somewhere: its first vowel of the strongest kind that it has, but no weak one.

    espeak-ng leaves the stress of short words away; CMU's dictionary, which taught pocket, does not.
    """
    strength = torch.where(stress > _NONE, stress, full)
    has_primary = _totals(word, (strength == _PRIMARY).long())[word] > 0
    has_secondary = _totals(word, (strength == _SECONDARY).long())[word] > 0
    strongest = torch.where(has_primary, _PRIMARY, torch.where(has_secondary, _SECONDARY, 1))
    candidate = (strength == strongest).long()
    of_word = _totals(word, candidate)
    earlier = (of_word.cumsum(0) - of_word)[word]
    is_first = (candidate > 0) & (candidate.cumsum(0) == earlier + 1)
    return torch.where(is_first, _PRIMARY, stress)


def _totals(places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Sum the values that have the same place."""
    # There are no more vowels or words than symbols, but for the last word that never begins.
    empty = torch.cat([torch.zeros_like(values), values.new_zeros(1)])
    return empty.scatter_add(0, places, values)


def _laid_out(
    phone: torch.Tensor, stress: torch.Tensor, mark: torch.Tensor, word: torch.Tensor
) -> torch.Tensor:
    """Lay out rows: a pause, the sounds, and a pause for each mark that ends some sounds."""
    word = torch.where(phone > 0, word, _OUTSIDE)
    rows = torch.stack([phone, stress, mark, word], 1)
    rows = rows[(phone > 0) | (mark > 0)]
    is_sound = rows[:, 0] > 0
    follows = torch.cat([is_sound.new_zeros(1), is_sound[:-1]])
    phone, stress, mark, word = rows[is_sound | follows].unbind(1)
    ends = (mark > 0).long()
    marks = torch.cat([mark[mark > 0], mark.new_full((1,), MARKS.index("."))])
    of_phrase = marks[ends.cumsum(0) - ends]
    number = torch.where(ends > 0, PAUSE_NUMBER, phone)
    sounds = torch.stack([number, stress, _edges(word), of_phrase], 1)
    zero = torch.zeros_like(marks[:1])
    begin = torch.stack([zero + PAUSE_NUMBER, zero, zero, marks[:1]], 1)
    return torch.cat([begin, sounds])


def _edges(word: torch.Tensor) -> torch.Tensor:
    outside = word.new_full((1,), _OUTSIDE)
    begins = word != torch.cat([outside, word[:-1]])
    ends = word != torch.cat([word[1:], outside])
    return (word != _OUTSIDE) * (FIRST * begins + LAST * ends)
