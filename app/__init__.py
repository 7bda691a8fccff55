"""The studio's screen and its commands. Decisions live in `finetune`; here they become words."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The folder that Timbre is in, with launch.py."""
