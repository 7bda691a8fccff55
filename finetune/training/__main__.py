"""The process of a training: `python -m finetune.training RUN_FOLDER`, in a job's folder."""

from __future__ import annotations

import sys
from pathlib import Path

from finetune.jobs.folder import JobFolder
from finetune.jobs.worker import run
from finetune.runs import RunFolder
from finetune.training.work import train

if __name__ == "__main__":
    raise SystemExit(
        run(JobFolder(Path.cwd()), lambda job: train(job, RunFolder(Path(sys.argv[1]))))
    )
