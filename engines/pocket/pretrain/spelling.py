"""Trains spelling.safetensors from words.xz: python -m engines.pocket.pretrain.spelling."""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import nn

from engines.pocket.pronouncing import dictionary, lookup
from engines.pocket.spelling import DILATIONS, WEIGHTS_FILE, Phones, spell

SEED, HELD_OUT = 1, 0.05
# Ten times through the words: eight minutes on one thread. Of 5,873 words held out, 9.5 % of the
# phones are wrong (7.3 % without stress), and 64 % of the words are right (69 %).
STEPS, BATCH, RATE = 3000, 384, 3e-3
WIDTH, STATE, PREVIOUS = 128, 144, 48
EM_ROUNDS = 8
# A chunk seen less often in 110,000 words is a slip of the alignment, or a foreign name.
LEAST_SEEN = 12

Aligned = tuple[str, tuple[str, ...]]
"""A word and what each of its letters says: "", "K" or "K S"."""


# ---- Words ----


def words_to_learn() -> tuple[list[str], list[str]]:
    """Part all words of plain letters into those to learn from and those never learnt from."""
    words = sorted(word for word in dictionary() if word.isalpha() and len(word) > 1)
    random.Random(SEED).shuffle(words)
    held_out = int(len(words) * HELD_OUT)
    return words[held_out:], words[:held_out]


# ---- Alignment: which letter says which phones ----


class Aligner:
    """Letters to none, one or two phones, by expectation and maximisation over best paths."""

    def __init__(self, pairs: Sequence[tuple[str, Phones]]) -> None:
        self.names = sorted({phone.rstrip("012") for _, phones in pairs for phone in phones})
        number = {name: place for place, name in enumerate(self.names, start=1)}
        self.letters = _padded([[ord(letter) - 96 for letter in word] for word, _ in pairs])
        self.phones = _padded([[number[p.rstrip("012")] for p in phones] for _, phones in pairs])
        self.lengths = np.array([(len(word), len(phones)) for word, phones in pairs])
        self.sounds = len(self.names) + 1
        self.table = self._first_guess()

    def _first_guess(self) -> NDArray[np.float64]:
        """Score each letter with the phones at about its place in the word."""
        counts = np.full((27, self.sounds), 0.1)
        for place in range(self.letters.shape[1]):
            has = self.lengths[:, 0] > place
            near = np.round(place * self.lengths[:, 1] / self.lengths[:, 0]).astype(int)
            for shift in (-1, 0, 1):
                at = np.clip(near + shift, 0, self.lengths[:, 1] - 1)
                phone = self.phones[np.arange(len(at)), at]
                np.add.at(counts, (self.letters[has, place], phone[has]), 1.0)
        one = counts / counts.sum(1, keepdims=True)
        table = one[:, :, None] * one[:, None, :] * 0.1
        table[:, :, 0] = one * 0.8
        table[:, 0, :] = 0
        table[:, 0, 0] = 0.1
        return np.asarray(np.log(np.maximum(table, 1e-9)))

    def run(self) -> NDArray[np.int64]:
        """Improve the table round by round; returns how many phones each letter says."""
        for _ in range(EM_ROUNDS):
            says = self._best_paths()
            self.table = self._counted(says)
        return self._best_paths()

    def _best_paths(self) -> NDArray[np.int64]:
        count, letters = self.letters.shape
        width = self.phones.shape[1] + 1
        score = np.full((count, width), -np.inf)
        score[:, 0] = 0
        choice = np.zeros((letters, count, width), np.int8)
        for place in range(letters):
            ways = self._step(score, self.letters[:, place])
            choice[place] = ways.argmax(0)
            score = ways.max(0)
        return self._walked_back(choice)

    def _step(self, score: NDArray[np.float64], letter: NDArray[np.int64]) -> NDArray[np.float64]:
        ways = np.full((3, *score.shape), -np.inf)
        ways[0] = score + np.where(letter > 0, self.table[letter, 0, 0], 0)[:, None]
        real = np.where(letter > 0, 0, -np.inf)[:, None]
        first, second = self.phones[:, :-1], self.phones[:, 1:]
        ways[1, :, 1:] = score[:, :-1] + self.table[letter[:, None], self.phones, 0] + real
        ways[2, :, 2:] = score[:, :-2] + self.table[letter[:, None], first, second] + real
        return ways

    def _walked_back(self, choice: NDArray[np.int8]) -> NDArray[np.int64]:
        letters, count, _ = choice.shape
        rows, at = np.arange(count), self.lengths[:, 1].copy()
        says = np.zeros((count, letters), np.int64)
        for place in reversed(range(letters)):
            says[:, place] = choice[place, rows, at]
            at = np.maximum(at - says[:, place], 0)
        return says

    def _counted(self, says: NDArray[np.int64]) -> NDArray[np.float64]:
        counts = np.full((27, self.sounds, self.sounds), 1e-3)
        at, rows = np.zeros(len(says), np.int64), np.arange(len(says))
        padded = np.pad(self.phones, ((0, 0), (0, 2)))
        for place in range(says.shape[1]):
            said = says[:, place]
            first = np.where(said > 0, padded[rows, np.minimum(at, padded.shape[1] - 2)], 0)
            second = np.where(said > 1, padded[rows, np.minimum(at + 1, padded.shape[1] - 1)], 0)
            has = self.lengths[:, 0] > place
            np.add.at(counts, (self.letters[has, place], first[has], second[has]), 1.0)
            at = at + said
        return np.asarray(np.log(counts / counts.sum((1, 2), keepdims=True)))


def _padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    padded = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    return padded


def aligned(words: Sequence[str]) -> list[Aligned]:
    """Align the first pronunciation of each word that two phones a letter can say."""
    pairs = [(word, lookup(word)[0]) for word in words]
    pairs = [(word, phones) for word, phones in pairs if len(phones) <= 2 * len(word)]
    result = []
    for (word, phones), says in zip(pairs, Aligner(pairs).run(), strict=True):
        ends = np.cumsum(says[: len(word)])
        cut = [" ".join(phones[end - n : end]) for end, n in zip(ends, says, strict=False)]
        result.append((word, tuple(cut)))
    return result


# ---- The net, as spelling.py computes it ----


class Layer(nn.Module):  # type: ignore[misc]  # torch is not typed here
    """Mixes five letters, some apart, into each."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.gain = nn.Parameter(torch.ones(WIDTH))
        self.shift = nn.Parameter(torch.zeros(WIDTH))
        self.mix = nn.Linear(5 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.05)

    def forward(self, seen: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        normal = nn.functional.layer_norm(seen, (WIDTH,)) * self.gain + self.shift
        normal = nn.functional.silu(normal) * real
        padded = nn.functional.pad(normal, (0, 0, 2 * self.dilation, 2 * self.dilation))
        length = seen.shape[1]
        around = [padded[:, at * self.dilation :][:, :length] for at in range(5)]
        mixed = self.mix(self.dropout(torch.cat(around, -1)))
        return (seen + mixed) * real


class Speller(nn.Module):  # type: ignore[misc]  # torch is not typed here
    """Letters to chunks of phones."""

    def __init__(self, chunks: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(27, WIDTH)
        self.layers = nn.ModuleList(Layer(dilation) for dilation in DILATIONS)
        self.previous = nn.Embedding(chunks + 1, PREVIOUS)
        self.gru = nn.GRU(WIDTH + PREVIOUS, STATE, batch_first=True)
        self.out = nn.Linear(STATE, chunks)
        self.dropout = nn.Dropout(0.05)

    def forward(self, letters: torch.Tensor, previous: torch.Tensor) -> torch.Tensor:
        """Score every chunk for each letter, given the true chunk before it."""
        real = (letters > 0).unsqueeze(-1).float()
        seen = self.letters(letters) * real
        for layer in self.layers:
            seen = layer(seen, real)
        states, _ = self.gru(torch.cat([seen, self.previous(previous)], -1))
        return self.out(self.dropout(states))


# ---- Training ----


def batches(
    words: Sequence[Aligned], number: dict[str, int], steps: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield letters, chunks before and chunks, of words of like length, in a seeded order."""
    order, made = random.Random(SEED), 0
    while made < steps:
        shuffled = sorted(words, key=lambda pair: (len(pair[0]), order.random()))
        starts = list(range(0, len(shuffled), BATCH))
        order.shuffle(starts)
        for start in starts[: steps - made]:
            yield _batch(shuffled[start : start + BATCH], number)
            made += 1


def _batch(
    pairs: Sequence[Aligned], number: dict[str, int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    letters = _padded([[ord(letter) - 96 for letter in word] for word, _ in pairs])
    chunks = _padded([[number[chunk] + 1 for chunk in cut] for _, cut in pairs]) - 1
    before = np.full_like(chunks, len(number))
    before[:, 1:] = np.where(chunks[:, :-1] < 0, 0, chunks[:, :-1])
    return torch.from_numpy(letters), torch.from_numpy(before), torch.from_numpy(chunks)


def train(words: Sequence[Aligned], chunks: Sequence[str]) -> Speller:
    """Train for a fixed number of steps and return the running mean of the weights."""
    net = Speller(len(chunks))
    mean_of = torch.optim.swa_utils.get_ema_multi_avg_fn(0.998)
    mean = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=mean_of)
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    number = {chunk: place for place, chunk in enumerate(chunks)}
    began = time.monotonic()
    for step, (letters, before, target) in enumerate(batches(words, number, STEPS)):
        for group in optimizer.param_groups:
            group["lr"] = RATE * _share_of_rate(step)
        scores = net(letters, before).flatten(0, 1)
        loss = nn.functional.cross_entropy(
            scores, target.flatten(), ignore_index=-1, label_smoothing=0.02
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        mean.update_parameters(net)
        if step % 250 == 249:
            print(f"{step + 1} {loss.item():.3f} {time.monotonic() - began:.0f}s", file=sys.stderr)
    return cast(Speller, mean.module)


def _share_of_rate(step: int) -> float:
    return min((step + 1) / 200, 0.5 + 0.5 * math.cos(math.pi * step / STEPS))


def save(net: Speller, chunks: Sequence[str]) -> None:
    """Write matrices as eight-bit rows with a scale each, and the rest in sixteen bits."""
    tensors: dict[str, NDArray[np.generic]] = {}
    for name, weight in net.state_dict().items():
        values = weight.detach().numpy().astype(np.float32)
        if values.ndim == 1:
            tensors[name] = values.astype(np.float16)
            continue
        scale = np.maximum(np.abs(values).max(1, keepdims=True) / 127, 1e-8).astype(np.float32)
        tensors[name] = np.round(values / scale).astype(np.int8)
        tensors[f"{name}.scale"] = scale
    save_file(tensors, WEIGHTS_FILE, metadata={"chunks": json.dumps(list(chunks))})


# ---- Measuring ----


def measure(words: Sequence[str]) -> dict[str, float]:
    """Compare what spell() says with the nearest pronunciation of the dictionary."""
    totals: Counter[str] = Counter()
    for word in words:
        ways, said = lookup(word), spell(word)
        errors, length = min((_edits(said, way), len(way)) for way in ways)
        plain = [_unstressed(way) for way in ways]
        plain_errors = min(_edits(_unstressed(said), way) for way in plain)
        totals.update(phones=length, errors=errors, plain_errors=plain_errors)
        totals.update(right=said in ways, plain_right=_unstressed(said) in plain)
    return {
        "phone error": totals["errors"] / totals["phones"],
        "phone error without stress": totals["plain_errors"] / totals["phones"],
        "words right": totals["right"] / len(words),
        "words right without stress": totals["plain_right"] / len(words),
    }


def _unstressed(phones: Phones) -> Phones:
    return tuple(phone.rstrip("012") for phone in phones)


def _edits(said: Phones, true: Phones) -> int:
    row = list(range(len(true) + 1))
    for one in said:
        diagonal, row[0] = row[0], row[0] + 1
        for place, other in enumerate(true, start=1):
            best = min(row[place] + 1, row[place - 1] + 1, diagonal + (one != other))
            diagonal, row[place] = row[place], best
    return row[-1]


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    known, held_out = words_to_learn()
    pairs = aligned(known)
    seen = Counter(chain.from_iterable(cut for _, cut in pairs))
    chunks = sorted(chunk for chunk, count in seen.items() if count >= LEAST_SEEN)
    pairs = [(word, cut) for word, cut in pairs if set(cut) <= set(chunks)]
    print(f"{len(pairs)} words of {len(known)}, {len(chunks)} chunks")
    save(train(pairs, chunks), chunks)
    print(f"{WEIGHTS_FILE.stat().st_size} bytes, held out {len(held_out)} words")
    for what, share in measure(held_out).items():
        print(f"{what}: {share:.1%}")


if __name__ == "__main__":
    main()
