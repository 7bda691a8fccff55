"""A program that does not end: `python -m tests.sleeps`, with another like it."""

from __future__ import annotations

import subprocess
import sys
import time

if __name__ == "__main__":
    if "alone" not in sys.argv:
        subprocess.Popen([sys.executable, "-m", "tests.sleeps", "alone"])
    time.sleep(600)
