"""The engine in the box: is what it says understood, is it the voice, how fast, how small, again?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np

from engines.base import Sound
from engines.pocket import sound
from engines.pocket.facts import CONFIG, RATE
from engines.pocket.pretrain.teachers import Said
from tests.bench import pocket_again, pocket_making, pocket_people, pocket_picture, pocket_speaking
from tests.bench import pocket_scores as scores
from tests.bench.pocket_judges import Judges
from tests.bench.pocket_making import Made
from tests.bench.pocket_people import Prompt
from tests.bench.pocket_scores import Floats, Understood
from tests.bench.pocket_speaking import Spoken
from tests.bench.progress import Progress
from tests.bench.record import Benchmark, Figure, Measured, Settings, together
from voices import shipped

SENTENCES = Path(__file__).with_name("pocket_sentences.txt")
PICTURE = Path(__file__).parents[2] / "docs" / "pocket-spectrogram.png"
SEED = 20261121
HUMAN_S = 195.0
OF_ANOTHER_VOICE = 30
"""Sentences that show where another voice lies."""
BUZZ_SENTENCES = 40
_NEAR_MS = 32.0


def measure(settings: Settings, progress: Progress) -> Measured:
    """Measure each part; `--rounds` is how many of the sentences are spoken."""
    with tempfile.TemporaryDirectory(prefix="timbre-bench-", ignore_cleanup_errors=True) as work:
        bench = _Bench(Path(work), settings, progress)
        parts = {
            "align": bench.align,
            "pretrain": bench.pretrain,
            "held_out": bench.held_out,
            "speed": bench.speed,
            "picture": bench.picture,
            "human": bench.human,
        }
        bench.refuse_what_is_missing()
        wanted = [part for name, part in parts.items() if settings.wants(name)]
        return together([part() for part in progress.through(wanted, "parts")])


class _Bench:
    """What the parts share is made once, when the first of them asks for it."""

    def __init__(self, work: Path, settings: Settings, progress: Progress) -> None:
        self._work, self._settings, self._progress = work, settings, progress
        lines = SENTENCES.read_text(encoding="utf-8").splitlines()
        self._texts = lines[: settings.rounds]

    def refuse_what_is_missing(self) -> None:
        """Say what is not installed before minutes are spent."""
        if self._settings.wants("human"):
            pocket_people.prompts()
        if self._settings.wants("human") or self._settings.wants("held_out"):
            assert self._judges

    @cached_property
    def _judges(self) -> Judges:
        return Judges(self._progress)

    @cached_property
    def _natural(self) -> list[Said]:
        return pocket_people.said_by(pocket_people.JUDGED, self._texts)

    @property
    def _natural_sounds(self) -> list[Sound]:
        return [Sound(each.samples, RATE) for each in self._natural]

    @cached_property
    def _made(self) -> Made:
        """The voice that learns from the demo recording."""
        return pocket_making.make("Demo", pocket_making.of_demo(), self._work / "demo")

    @cached_property
    def _spoken(self) -> Spoken:
        """What that voice says; the first sentence comes twice."""
        folder = self._work / "spoken"
        return pocket_speaking.speak(self._made, self._texts, self._natural_sounds, folder)

    # ---- A synthesiser's voice that nothing learned from ----

    def held_out(self) -> Measured:
        judges, spoken = self._judges, self._spoken
        sounds = spoken.sounds[1:]
        natural = judges.understand(self._texts, self._natural_sounds, "natural")
        said = judges.understand(self._texts, sounds, "spoken")
        copied = judges.understand(self._texts, spoken.copies, "copied")
        learned = judges.understand(self._texts, spoken.learned_copies, "copied by the voice")
        figures = {"taught_s": pocket_making.of_demo().seconds, **_words(natural, said)}
        figures["wer_ratio"] = scores.word_error(said) / scores.word_error(natural)
        figures["copy_ratio"] = scores.word_error(copied) / scores.word_error(natural)
        figures["copy_ratio_learned"] = scores.word_error(learned) / scores.word_error(natural)
        others = {**self._middles, **self._human_middle()}
        alike = _alike(judges.prints(sounds), judges.prints(self._natural_sounds), others)
        return together([Measured(figures), alike])

    @cached_property
    def _middles(self) -> dict[str, Floats]:
        """Where the voices lie that taught the base."""
        found = {}
        for teacher in self._progress.through(pocket_people.OTHERS, "other voices"):
            said = pocket_people.said_by(teacher, self._texts[:OF_ANOTHER_VOICE])
            found[teacher.name] = self._middle(Sound(each.samples, RATE) for each in said)
        return found

    def _human_middle(self) -> dict[str, Floats]:
        if not pocket_people.is_installed():
            return {}
        _, judged = self._prompts
        some = judged[:OF_ANOTHER_VOICE]
        return {"Allison": self._middle(pocket_people.recorded(each) for each in some)}

    def _middle(self, sounds: Iterable[Sound]) -> Floats:
        return scores.centroid(self._judges.prints(list(sounds)))

    # ---- A human voice ----

    @cached_property
    def _prompts(self) -> tuple[list[Prompt], list[Prompt]]:
        taught, judged = pocket_people.divided(pocket_people.prompts(), HUMAN_S, SEED)
        return taught, judged[: self._settings.rounds]

    def human(self) -> Measured:
        taught, judged = self._prompts
        material = pocket_making.of_prompts(taught, self._work / "prompts")
        made = pocket_making.make("Human", material, self._work / "human")
        texts = [f"{each.text}." for each in judged]
        recorded = [pocket_people.recorded(each) for each in judged]
        sounds = pocket_speaking.speak(made, texts, [], self._work / "answers").sounds[1:]
        natural = self._judges.understand(texts, recorded, "recorded")
        said = self._judges.understand(texts, sounds, "spoken")
        figures = {"taught_s": material.seconds, **_words(natural, said)}
        figures["finetune_s"] = made.training_s
        own = self._middle(Sound(each.samples, RATE) for each in self._natural)
        alike = _alike(
            self._judges.prints(sounds), self._judges.prints(recorded),
            {**self._middles, pocket_people.JUDGED.name: own},
        )  # fmt: skip
        buzz = Measured({**_buzz(recorded, "buzz_natural_db"), **_buzz(sounds, "buzz_db")})
        return _second(together([Measured(figures), alike, buzz]))

    # ---- Speed and size ----

    def speed(self) -> Measured:
        made, spoken = self._made, self._spoken
        return Measured(
            {
                "make_s": made.seconds,
                "finetune_s": made.training_s,
                "load_s": spoken.load_s,
                "rtf": spoken.rtf,
                "rtf_first": spoken.rtf_first,
                "weights_mb": made.weights_mb,
            },
            ("load_s: from a warm disk, torch imported before.",),
        )

    # ---- Times of sounds ----

    def align(self) -> Measured:
        from tests.finetune.aligning_truth import phone_errors

        texts = self._progress.through(self._texts, "sentences aligned")
        off = [abs(seconds) * 1000 for seconds in phone_errors(texts, pocket_people.JUDGED.name)]
        figures = {
            "align_sounds": len(off),
            "align_ms_mean": mean(off),
            "align_within_32ms": sum(error <= _NEAR_MS for error in off) / len(off),
        }
        return Measured(figures)

    # ---- The base again ----

    def pretrain(self) -> Measured:
        first = pocket_again.whole(self._work / "first")
        again = pocket_again.whole(self._work / "again")
        continued = pocket_again.killed(self._work / "continued")
        figures = {
            "pretrain_same_hash": int(again == first),
            "pretrain_continued_same_hash": int(continued.sha256 == first),
            "pretrain_kills": continued.kills,
        }
        return together([Measured(figures), _minutes()])

    # ---- How it looks ----

    def picture(self) -> Measured:
        natural, spoken = self._natural_sounds, self._spoken.sounds[1:]
        figures = {**_buzz(natural, "buzz_natural_db"), **_buzz(spoken, "buzz_db")}
        pairs = zip(natural[:BUZZ_SENTENCES], spoken[:BUZZ_SENTENCES], strict=True)
        figures["above_4khz_db"] = mean(_sharpness(said) - _sharpness(own) for own, said in pairs)
        if "picture" not in self._settings.parts:
            return Measured(figures)  # the page keeps the one it has
        titled = [("natural (flite rms)", natural[0]), ("Pocket, 3 minutes learned", spoken[0])]
        pocket_picture.draw(titled, self._texts[0], PICTURE)
        return Measured(figures, (f"{PICTURE.relative_to(PICTURE.parents[1])} was drawn.",))


def _words(natural: Sequence[Understood], spoken: Sequence[Understood]) -> dict[str, float]:
    pairs = list(zip(natural, spoken, strict=True))
    return {
        "words": sum(each.words for each in natural),
        "wer_natural": scores.word_error(natural),
        "wer_spoken": scores.word_error(spoken),
        "wer_se": scores.standard_error(spoken, scores.word_error),
        "wer_gap": scores.word_error_gap(pairs),
        "wer_gap_se": scores.standard_error(pairs, scores.word_error_gap),
    }


def _alike(spoken: Floats, natural: Floats, others: dict[str, Floats]) -> Measured:
    middle = scores.centroid(natural)
    own = scores.likeness(spoken, middle)
    name, other = scores.most_alike(spoken, others)
    figures = {
        "similarity": own,
        "similarity_natural": scores.likeness(natural, middle),
        "similarity_margin": own - other,
    }
    return Measured(
        figures, (f"Of {len(others)} other voices it is most like {name}: {other:.3f}.",)
    )


def _second(measured: Measured) -> Measured:
    """The same figures of the second voice."""
    figures = {f"{name}_2": value for name, value in measured.figures.items()}
    return Measured(figures, tuple(f"The human voice: {note}" for note in measured.notes))


# ---- The base ----


def _minutes() -> Measured:
    """How long the base that ships took, as it was noted then."""
    card = shipped.base("pocket", "english") / CONFIG
    made = json.loads(card.read_bytes()).get("made", {}) if card.exists() else {}
    if "minutes" not in made:
        return Measured({})
    note = "pretrain_minutes: measured when the base that ships was made, on two cores."
    return Measured({"pretrain_minutes": made["minutes"]}, (note,))


# ---- Spectra ----


def _buzz(sounds: Sequence[Sound], name: str) -> dict[str, float]:
    found = []
    for each in sounds[:BUZZ_SENTENCES]:
        samples = sound.whole_frames(sound.levelled(sound.at_rate(each)))
        melody = sound.pitch(samples)
        found.append(scores.lines_db(samples, np.exp(melody.logarithms), melody.voiced))
    return {name: float(np.concatenate(found).mean())}


def _sharpness(each: Sound) -> float:
    return scores.sharpness_db(sound.levelled(sound.at_rate(each)))


def _voice_figures(suffix: str, limits: dict[str, str]) -> Iterable[Figure]:
    abouts = {
        "taught_s": "seconds of sound that the voice is made of",
        "words": "of sentences it never learned from, that a recogniser writes down",
        "wer_natural": "of them wrong where they are natural",
        "wer_spoken": "where the voice speaks them",
        "wer_se": "how far that would be off with other sentences (standard error)",
        "wer_ratio": "spoken to natural",
        "wer_gap": "spoken less natural",
        "wer_gap_se": "how far that would be off with other sentences (standard error)",
        "copy_ratio": "natural speech that went through the base's vocoder, to natural",
        "copy_ratio_learned": "and through that of the voice, which learned from drawn bands",
        "similarity": "mean cosine of its voice prints to the middle of the natural",
        "similarity_natural": "of the natural prints to their own middle",
        "similarity_margin": "that the other voices it is most like are less like it",
    }
    for name, about in abouts.items():
        yield Figure(f"{name}{suffix}", about, limits.get(name, ""))


BENCHMARK = Benchmark(
    name="pocket",
    about="The engine in the box: understood, alike, fast, small, and the same when made again.",
    figures=(
        *_voice_figures(
            "",
            {
                **{"taught_s": "<= 180", "words": ">= 1000", "wer_ratio": "<= 1.25"},
                **{"wer_gap": "<= 0.05", "copy_ratio": "<= 1.10", "similarity": ">= 0.92"},
                "similarity_margin": ">= 0.12",
            },
        ),
        *_voice_figures("_2", {"wer_gap": "<= 0.12", "similarity_margin": ">= 0.10"}),
        Figure("make_s", "seconds from the demo recording to a voice, all of it", "<= 420"),
        Figure("finetune_s", "of them, the training", "<= 180"),
        Figure("finetune_s_2", "the training of the human voice"),
        Figure("load_s", "seconds until a voice is ready to speak", "<= 1"),
        Figure("rtf", "seconds for each second of speech, one thread", "<= 0.03"),
        Figure("rtf_first", "the same of the first sentence a process says"),
        Figure("weights_mb", "size of the voice's weights", "<= 16"),
        Figure("align_sounds", "sounds of a script that the synthesiser says too"),
        Figure("align_ms_mean", "how far off the beginning of a sound is found", "<= 20"),
        Figure("align_within_32ms", "share of sounds that are found that near", ">= 0.93"),
        Figure("pretrain_same_hash", "1 when a base made twice is the same", "== 1"),
        Figure("pretrain_continued_same_hash", "and killed and continued too", "== 1"),
        Figure("pretrain_kills", "kill -9 where it was meant: in a stage, between two", "== 2"),
        Figure("pretrain_minutes", "that the base which ships took", "<= 60"),
        Figure("above_4khz_db", "its energy above 4 kHz beside natural"),
        Figure("buzz_natural_db", "how far harmonics stand out from 4 to 7.5 kHz, natural"),
        Figure("buzz_db", "where the voice speaks; noise alone comes to 2"),
        Figure("buzz_natural_db_2", "the human voice, recorded"),
        Figure("buzz_db_2", "and where it is spoken"),
    ),
    measure=measure,
    parts=("held_out", "human", "speed", "align", "pretrain", "picture"),
)
