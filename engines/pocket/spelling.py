"""Says a word that no dictionary knows, from its letters: a small net that runs in numpy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

Phones = tuple[str, ...]
"""How one word sounds, in the notation of CMUdict: ("HH", "AH0", "L", "OW1")."""

_NAMES = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW|B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH"
VOWELS, CONSONANTS = (tuple(names.split()) for names in _NAMES.split("|"))

WEIGHTS_FILE = Path(__file__).with_name("spelling.safetensors")
DILATIONS = (1, 2, 2)
"""How far apart the five letters are that each layer looks at: ten to each side in all."""
BEAM = 4
_MOST_LETTERS = 200

_Array = NDArray[np.float32]


@lru_cache(maxsize=4096)
def spell(word: str) -> Phones:
    """Say a word as its letters suggest, with one main stress; signs are passed over."""
    letters = [ord(letter) - 96 for letter in word.lower() if "a" <= letter <= "z"]
    if not letters:
        return ("AH1",)
    # A longer "word" is somebody leaning on the keyboard: no reason to let him wait.
    ways = _ways(_net(), letters[:_MOST_LETTERS])
    return next((way for way in ways if _main_stresses(way) == 1), stressed_once(ways[0]))


def _main_stresses(phones: Phones) -> int:
    return sum(phone.endswith("1") for phone in phones)


def stressed_once(phones: Phones) -> Phones:
    """Give phones a vowel if they have none, and one main stress."""
    vowels = [at for at, phone in enumerate(phones) if phone[-1].isdigit()]
    if not vowels:
        return (*phones[:1], "AH1", *phones[1:])
    main = max(vowels, key=lambda at: ("0", "2", "1").index(phones[at][-1]))
    return tuple(
        phone[:-1] + ("1" if at == main else phone[-1].replace("1", "2")) if at in vowels else phone
        for at, phone in enumerate(phones)
    )


# ---- The net: layers over the letters, then a GRU that says a chunk of phones for each ----


@dataclass(frozen=True, slots=True)
class _Net:
    chunks: tuple[Phones, ...]
    """What a letter can say: nothing, one phone or two."""
    weights: dict[str, _Array]


@lru_cache(maxsize=1)
def _net() -> _Net:
    with safe_open(WEIGHTS_FILE, framework="np") as file:
        chunks = json.loads(file.metadata()["chunks"])
        tensors: dict[str, Any] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    return _Net(tuple(tuple(chunk.split()) for chunk in chunks), unpacked(tensors))


def unpacked(tensors: dict[str, Any]) -> dict[str, _Array]:
    """Turn eight-bit rows and their scales back into weights."""
    return {
        name: tensor.astype(np.float32)
        * tensors.get(f"{name}.scale", np.ones(1)).astype(np.float32)
        for name, tensor in tensors.items()
        if not name.endswith(".scale")
    }


def _ways(net: _Net, letters: Sequence[int]) -> list[Phones]:
    """Find the likeliest ways to say a word, the best first."""
    of, inputs = net.weights, encoded(net.weights, letters)
    said = np.zeros((1, 0), dtype=np.int64)
    scores, last = np.zeros(1, np.float32), np.full(1, len(net.chunks))
    state = np.zeros((1, of["gru.weight_hh_l0"].shape[1]), np.float32)
    for letter in inputs:
        seen = np.concatenate([np.tile(letter, (len(last), 1)), of["previous.weight"][last]], 1)
        state = next_state(of, seen, state)
        logits = state @ of["out.weight"].T + of["out.bias"]
        total = scores[:, None] + logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        best = np.argsort(-total, axis=None, kind="stable")[:BEAM]
        beam, last = np.unravel_index(best, total.shape)
        scores, state = total[beam, last], state[beam]
        said = np.concatenate([said[beam], last[:, None]], axis=1)
    return [tuple(phone for chunk in way for phone in net.chunks[chunk]) for way in said]


def encoded(of: dict[str, _Array], letters: Sequence[int]) -> _Array:
    """Look at every letter among its neighbours."""
    seen = of["letters.weight"][np.asarray(letters)]
    for layer, dilation in enumerate(DILATIONS):
        name, length = f"layers.{layer}", len(seen)
        normal = _silu(_normalised(seen) * of[f"{name}.gain"] + of[f"{name}.shift"])
        padded = np.pad(normal, ((2 * dilation, 2 * dilation), (0, 0)))
        around = [padded[at * dilation : at * dilation + length] for at in range(5)]
        seen = seen + np.concatenate(around, 1) @ of[f"{name}.mix.weight"].T
        seen = seen + of[f"{name}.mix.bias"]
    return np.asarray(seen, np.float32)


def next_state(of: dict[str, _Array], seen: _Array, state: _Array) -> _Array:
    """Take one step of the GRU."""
    new = np.split(seen @ of["gru.weight_ih_l0"].T + of["gru.bias_ih_l0"], 3, axis=1)
    old = np.split(state @ of["gru.weight_hh_l0"].T + of["gru.bias_hh_l0"], 3, axis=1)
    reset, update = _sigmoid(new[0] + old[0]), _sigmoid(new[1] + old[1])
    proposed = np.tanh(new[2] + reset * old[2])
    return np.asarray((1 - update) * proposed + update * state, np.float32)


def _normalised(rows: _Array) -> _Array:
    centred = rows - rows.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5))


def _sigmoid(values: _Array) -> _Array:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)), np.float32)


def _silu(values: _Array) -> _Array:
    return values * _sigmoid(values)
