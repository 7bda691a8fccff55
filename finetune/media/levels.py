"""What is measured of a recording."""

from __future__ import annotations

from dataclasses import dataclass

SILENT_DB = -120.0
"""Stands for no sound at all, where a logarithm has no number."""


@dataclass(frozen=True, slots=True)
class Levels:
    """What was measured. dB are below full scale; a whole recording of silence is -120 dB."""

    peak_db: float
    """Before it is cut to 16 bits: above 0 when the recording goes beyond full scale."""
    clipped_share: float
    """Samples that stand at full scale beside another one that does."""
    rms_db: float
    loudness_lufs: float
    """Integrated, ITU-R BS.1770-4; -70 when there is nothing louder."""
    noise_db: float
    """What a tenth of all 50 ms frames is below: the room between the words."""
    speech_db: float
    """The mean of the frames within 20 dB of the loud ones."""
    silence_share: float
    dc_offset: float
    bandwidth_hz: float
    """Up to where there is sound: 4,000 for a telephone, whatever the file's rate says."""

    @property
    def speech_to_noise_db(self) -> float:
        return self.speech_db - self.noise_db
