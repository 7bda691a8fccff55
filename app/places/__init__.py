"""The places of the screen, one file each: what the page may ask there, and nothing decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.places import frame, home, recordings, system, train, transcript, transcript_edits, voices
from app.screen.calls import Call
from engines.errors import ConflictError
from finetune.transcript import EditConflict

CALLS: Mapping[str, Call] = {
    **frame.CALLS,
    **home.CALLS,
    **recordings.CALLS,
    **transcript.CALLS,
    **train.CALLS,
    **voices.CALLS,
    **system.CALLS,
}
"""What the page may ask for, by name: "home.create". Each takes the desk and JSON arguments."""
FILES: Mapping[str, Call] = {
    **recordings.FILES,
    **transcript.FILES,
    **train.FILES,
    **voices.FILES,
    **system.FILES,
}
"""What it may play, show or download; each gives something Served."""


STREAMS: Mapping[str, Call] = {**voices.STREAMS}
"""What comes piece by piece; each gives something Streamed."""


def conflict(error: ConflictError) -> Any:
    """Both sides of what two editors changed, for the page to show."""
    return transcript_edits.conflict(error) if isinstance(error, EditConflict) else None
