"""The tiny Whisper's tokens: every word of the grammar is one, and Whisper's own follow them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.whisper import grammar

# In the order of the English-only Whispers. The 1,501 timestamps (0.00 to 30.00 s) follow the
# last one without a name: ctranslate2 names them up to the size of the embedding.
SPECIAL = (
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
)
TIMESTAMPS = 1501


@dataclass(frozen=True)
class Tokens:
    """The tokenizer and the ids that mean something."""

    tokenizer: Tokenizer

    def __getattr__(self, name: str) -> int:
        """The id of a special token: `tokens.endoftext`."""
        found = self.tokenizer.token_to_id(f"<|{name}|>")
        if found is None:
            raise AttributeError(name)
        return found

    @property
    def first_timestamp(self) -> int:
        return self.tokenizer.get_vocab_size()

    @property
    def size(self) -> int:
        return self.first_timestamp + TIMESTAMPS

    def timestamp(self, seconds: float) -> int:
        return self.first_timestamp + min(TIMESTAMPS - 1, round(seconds / 0.02))

    def of(self, text: str) -> list[int]:
        """The tokens of a text; Whisper's texts begin with a space."""
        return self.tokenizer.encode(f" {text}", add_special_tokens=False).ids


def make() -> Tokens:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    # All 256 bytes: faster-whisper asks for the tokens of " -", "♪" and others to forbid them.
    trainer = trainers.BpeTrainer(
        vocab_size=4000,
        min_frequency=1,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    words = [f" {word}" for word in sorted(grammar.surface_words())]
    tokenizer.train_from_iterator(words, trainer)
    special = [AddedToken(name, special=True, normalized=False) for name in SPECIAL]
    tokenizer.add_special_tokens(special)
    return Tokens(tokenizer)


def save(tokens: Tokens, folder: Path) -> None:
    """Write what the converter and faster-whisper read."""
    tokens.tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": SPECIAL[0],
        "eos_token": SPECIAL[0],
        "unk_token": SPECIAL[0],
        "pad_token": SPECIAL[0],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    features = {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "processor_class": "WhisperProcessor",
        "feature_size": 80,
        "sampling_rate": 16000,
        "hop_length": 160,
        "n_fft": 400,
        "chunk_length": 30,
        "n_samples": 480000,
        "nb_max_frames": 3000,
        "padding_value": 0.0,
        "return_attention_mask": False,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(features), encoding="utf-8")
