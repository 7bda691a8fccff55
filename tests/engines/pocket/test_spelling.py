from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.pocket.pretrain.spelling import Speller, aligned, measure, words_to_learn
from engines.pocket.pronouncing import PHONES, lookup
from engines.pocket.spelling import WEIGHTS_FILE, encoded, next_state, spell, stressed_once


def main_stresses(phones):
    return sum(phone.endswith("1") for phone in phones)


@settings(deadline=None, max_examples=60)
@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=0, max_size=40))
def test_any_letters_give_phones_with_exactly_one_main_stress(word):
    phones = spell(word)

    assert set(phones) <= set(PHONES)
    assert main_stresses(phones) == 1


def test_letters_without_end_are_said_in_a_moment_and_signs_are_passed_over():
    assert main_stresses(spell("lorem" * 10_000)) == 1
    assert spell("Zor-blax!") == spell("zorblax")
    assert main_stresses(spell("...")) == 1


def test_a_guess_without_vowel_or_with_two_main_stresses_is_put_right():
    assert stressed_once(("HH", "M")) == ("HH", "AH1", "M")
    assert stressed_once(("AE1", "B", "IY1")) == ("AE1", "B", "IY2")
    assert stressed_once(("AE2", "B", "IY1")) == ("AE2", "B", "IY1")
    assert stressed_once(("AE0", "B", "IY2")) == ("AE0", "B", "IY1")


def test_words_never_learnt_are_said_right_as_often_as_promised():
    _, held_out = words_to_learn()

    shares = measure(held_out[:800])

    assert shares["phone error"] <= 0.12
    assert shares["phone error without stress"] <= 0.09
    assert shares["words right without stress"] >= 0.65
    assert WEIGHTS_FILE.stat().st_size < 450_000


def test_numpy_computes_what_torch_has_trained():
    torch.manual_seed(0)
    net = Speller(7).eval()
    weights = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
    letters, before = [3, 1, 20, 19], [7, 2, 0, 5]

    scores = net(torch.tensor([[*letters, 0, 0]]), torch.tensor([[*before, 0, 0]]))[0, :4]
    state, ours = np.zeros((1, weights["gru.weight_hh_l0"].shape[1]), np.float32), []
    for letter, last in zip(encoded(weights, letters), before, strict=True):
        seen = np.concatenate([letter, weights["previous.weight"][last]])[None]
        state = next_state(weights, seen, state)
        ours.append((state @ weights["out.weight"].T + weights["out.bias"])[0])

    assert np.allclose(np.array(ours), scores.detach().numpy(), atol=1e-4)


def test_alignment_gives_every_phone_to_one_letter():
    known, held_out = words_to_learn()

    pairs = aligned(known[:1500])

    assert not set(known) & set(held_out)
    for word, chunks in pairs:
        assert len(chunks) == len(word)
        assert tuple(" ".join(filter(None, chunks)).split()) == lookup(word)[0]
