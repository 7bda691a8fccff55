"""Every setting of the way from recordings to a voice."""

from __future__ import annotations

from dataclasses import dataclass

from engines.errors import SettingsError
from engines.settings import Checked, setting


@dataclass(frozen=True)
class CutSettings(Checked):
    """How long recordings become clips that an engine learns from."""

    min_seconds: float = setting(
        1.5, "Shorter sentences are kept together with a neighbour", low=0.3, high=10
    )
    # XTTS leaves out clips over 255,995 samples (11.6 s at 22,050 Hz) without saying so.
    max_seconds: float = setting(11.0, "Longer speech is cut at a pause", low=3, high=30)
    target_seconds: float = setting(
        6.0, "Clips come as close to this as the sentences allow", low=1, high=30
    )
    sentences: int = setting(2, "Sentences in one clip, unless they are very short", low=1, high=10)
    pause_ms: int = setting(250, "Silence that counts as a pause", low=50, high=2000)
    longest_pause_ms: int = setting(
        1200, "A longer silence between two words ends the clip", low=200, high=10000
    )
    pad_ms: int = setting(
        100, "Kept before the first and after the last word where there is room", low=0, high=500
    )
    longest_edge_ms: int = setting(
        300, "Silence at the ends of a clip beyond this is cut off", low=0, high=2000
    )

    def check_together(self) -> None:
        if not self.min_seconds <= self.target_seconds <= self.max_seconds:
            raise SettingsError(
                f"target_seconds is {self.target_seconds:g}, and it must lie between"
                f" min_seconds ({self.min_seconds:g}) and max_seconds ({self.max_seconds:g}).",
                "Change one of the three.",
            )
        if self.pad_ms > self.longest_edge_ms:
            raise SettingsError(
                f"pad_ms is {self.pad_ms}, more than longest_edge_ms ({self.longest_edge_ms}).",
                "Keep less, or cut less off.",
            )


@dataclass(frozen=True)
class HearSettings(Checked):
    """How what is said in recordings becomes words."""

    language: str = setting("", "The language that is spoken, such as en; found out when empty")
    hot_words: str = setting("", "Names and rare words that are said, so that they are spelt right")
    prompt: str = setting("", "A sentence written the way the transcript should be written")
    # Whisper computes 30 s whatever it is given, so that full windows are the fast ones.
    window_seconds: float = setting(
        30.0, "Sentences are heard together up to this length", low=5, high=30
    )
    beam_size: int = setting(
        5,
        "More ways to understand a sentence are weighed: slower, now and then better",
        low=1,
        high=10,
    )


@dataclass(frozen=True)
class TrainSettings(Checked):
    """How a run learns. What is 0 or auto is settled when it starts, and said with its reason."""

    epochs: int = setting(0, "How often each clip is learned from; 0: as the engine advises", low=0)
    minutes: float = setting(
        0.0, "Ends after about so long, whatever the epochs; 0: no limit", low=0
    )
    batch: int = setting(
        0, "Clips behind each change of the weights; 0: as the engine advises", low=0, high=4096
    )
    micro_batch: int = setting(
        0, "Clips computed at once, less memory with fewer; 0: what is fastest", low=0, high=4096
    )
    learning_rate: float = setting(
        0.0, "How far each step changes the weights; 0: as the engine advises", low=0, high=1
    )
    warmup_share: float = setting(
        0.02, "Share of the run over which the rate rises to its full size", low=0, high=0.5
    )
    decay: str = setting(
        "cosine",
        "How the rate falls until the end: cosine, linear or constant",
        choices=("cosine", "linear", "constant"),
    )
    weight_decay: float = setting(0.01, "Pulls weights towards zero", low=0, high=1)
    clip_norm: float = setting(1.0, "Longer gradients are cut to this; 0: never", low=0, high=1e6)
    precision: str = setting(
        "auto",
        "Numbers to compute with: auto, bf16, fp16 or fp32",
        choices=("auto", "bf16", "fp16", "fp32"),
    )
    optimizer: str = setting(
        "adamw",
        "adamw, or adamw_8bit and paged_adamw_8bit, which need bitsandbytes",
        choices=("adamw", "adamw_8bit", "paged_adamw_8bit"),
    )
    recompute: str = setting(
        "auto",
        "Forget activations and compute them again, half the memory, a quarter slower: auto, yes"
        " or no",
        choices=("auto", "yes", "no"),
    )
    ema: float = setting(
        0.0,
        "Keep an average of the weights over about 1/(1-this) steps; 0: as the engine advises",
        low=0,
        high=0.99999,
    )
    compile: bool = setting(False, "Compile the network first: minutes at the start, faster then")
    features_on: str = setting(
        "auto",
        "Where features wait: auto, gpu, memory or disk, each slower and larger",
        choices=("auto", "gpu", "memory", "disk"),
    )
    device: str = setting(
        "auto", "What computes: auto, cuda, mps or cpu", choices=("auto", "cuda", "mps", "cpu")
    )
    threads: int = setting(0, "Processor threads to compute with; 0: as measured fastest", low=0)
    seed: int = setting(0, "The same seed and settings give the same voice", low=0)
    save_every: int = setting(0, "Steps between two checkpoints; 0: about every ten minutes", low=0)
    listen_every: int = setting(
        0, "Steps between two hearings of the voice; 0: a dozen times in a run, 50 at least", low=0
    )
