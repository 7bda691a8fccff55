"""
A process that clicks twice: `python -m tests.bench.submitter HOME`.

For each word on stdin two threads queue one job with that `once` at the same moment; the ids
they got are a line on stdout.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from finetune.jobs import queue
from tests.bench import work
from voices.workspace import Workspace, open_workspace


def main(home: Path) -> None:
    workspace = open_workspace(home)
    for line in sys.stdin:
        sys.stdout.write(" ".join(click_twice(workspace, line.strip())) + "\n")
        sys.stdout.flush()
    workspace.close()


def click_twice(workspace: Workspace, once: str) -> list[str]:
    together, found = threading.Barrier(2), list[str]()

    def click() -> None:
        together.wait()
        found.append(queue.submit(workspace, work.request("tick", 0.01, once=once)).id)

    clicks = [threading.Thread(target=click) for _ in range(2)]
    for thread in clicks:
        thread.start()
    for thread in clicks:
        thread.join()
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
