"""What is good or bad about a recording, in sentences. Decisions only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from finetune.media.decoded import Decoded

Verdict = Literal["good", "look", "bad"]
_ORDER: tuple[Verdict, ...] = ("good", "look", "bad")

# look from, bad from. Levels in dB as in Levels, shares from 0 to 1.
SHORT_SECONDS = (1.5, 0.5)
QUIET_LUFS = (-35.0, -50.0)
CLIPPED_SHARE = (0.0001, 0.005)
SPEECH_TO_NOISE_DB = (22.0, 12.0)
SILENCE_SHARE = 0.9
BANDWIDTH_HZ = (7000.0, 4200.0)
LOST_SHARE = 0.05
DC_OFFSET = 0.02
# Lossy codecs overshoot by a little and nobody hears it.
OVERSHOOT_DB = 1.0
SILENT_PEAK_DB = -60.0


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing about a recording."""

    verdict: Verdict
    sentence: str


def remarks(decoded: Decoded) -> list[Remark]:
    """Everything there is to say, the worst first; never nothing."""
    if is_silent(decoded):
        found = [Remark("bad", "There is nothing but silence in it.")]
    else:
        found = [remark for look_at in _CHECKS for remark in look_at(decoded)]
    found += _reading(decoded)
    found.sort(key=lambda remark: -_ORDER.index(remark.verdict))
    return found or [Remark("good", _praise(decoded))]


def worst(said: list[Remark]) -> Verdict:
    """The verdict over all remarks."""
    return max((remark.verdict for remark in said), key=_ORDER.index, default="good")


def is_silent(decoded: Decoded) -> bool:
    return decoded.levels.peak_db < SILENT_PEAK_DB


def _length(decoded: Decoded) -> Iterator[Remark]:
    verdict = _when_below(decoded.seconds, SHORT_SECONDS)
    if verdict != "good":
        yield Remark(verdict, f"It is very short ({decoded.seconds:.1f} s).")


def _loudness(decoded: Decoded) -> Iterator[Remark]:
    lufs = decoded.levels.loudness_lufs
    verdict = _when_below(lufs, QUIET_LUFS)
    if verdict != "good":
        yield Remark(
            verdict,
            f"It is too quiet ({lufs:.0f} LUFS; speech is mostly between -26 and -14)."
            " Go nearer to the microphone or turn it up.",
        )


def _clipping(decoded: Decoded) -> Iterator[Remark]:
    levels = decoded.levels
    verdict = _when_above(levels.clipped_share, CLIPPED_SHARE)
    if verdict != "good":
        yield Remark(
            verdict,
            f"It is clipped: {levels.clipped_share:.2%} of it stands at full scale, which crackles."
            " Turn the microphone down.",
        )
    elif levels.peak_db > OVERSHOOT_DB:
        yield Remark(
            "look",
            f"Its peaks go {levels.peak_db:.1f} dB beyond full scale and were cut."
            " Export it more quietly.",
        )


def _noise(decoded: Decoded) -> Iterator[Remark]:
    ratio = decoded.levels.speech_to_noise_db
    verdict = _when_below(ratio, SPEECH_TO_NOISE_DB)
    if verdict != "good":
        yield Remark(
            verdict,
            f"It is noisy: the pauses are only {ratio:.0f} dB quieter than the voice."
            " Look for hum, a fan or music, or leave it out.",
        )


def _silence(decoded: Decoded) -> Iterator[Remark]:
    share = decoded.levels.silence_share
    if share > SILENCE_SHARE:
        heard = decoded.seconds * (1 - share)
        yield Remark("look", f"It is mostly silence: there is sound in {heard:.0f} s of it.")


def _bandwidth(decoded: Decoded) -> Iterator[Remark]:
    highest = decoded.levels.bandwidth_hz
    verdict = _when_below(highest, BANDWIDTH_HZ)
    if verdict != "good":
        like = "like a telephone" if verdict == "bad" else "muffled"
        yield Remark(
            verdict,
            f"It sounds {like}: there is nothing above {highest / 1000:.1f} kHz, and a voice"
            " trained on it will sound the same.",
        )


def _offset(decoded: Decoded) -> Iterator[Remark]:
    if abs(decoded.levels.dc_offset) > DC_OFFSET:
        yield Remark("look", "Its wave does not stand around zero: the sound card is at fault.")


_CHECKS: tuple[Callable[[Decoded], Iterator[Remark]], ...] = (
    *(_length, _loudness, _clipping, _noise, _silence, _bandwidth, _offset),
)


def _reading(decoded: Decoded) -> list[Remark]:
    """What was noticed while it was read."""
    much = decoded.lost_seconds > LOST_SHARE * decoded.seconds
    verdict: Verdict = "bad" if much else "look"
    return [Remark(verdict, note) for note in decoded.notes]


def _praise(decoded: Decoded) -> str:
    levels = decoded.levels
    return (
        f"Clear: {decoded.source_rate / 1000:g} kHz, {levels.loudness_lufs:.0f} LUFS,"
        f" pauses {levels.speech_to_noise_db:.0f} dB below the voice."
    )


def _when_below(value: float, limits: tuple[float, float]) -> Verdict:
    look, bad = limits
    return "bad" if value < bad else "look" if value < look else "good"


def _when_above(value: float, limits: tuple[float, float]) -> Verdict:
    look, bad = limits
    return "bad" if value > bad else "look" if value > look else "good"
