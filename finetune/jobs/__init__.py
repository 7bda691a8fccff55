"""
Long work, each in a detached process with a folder of its own, found again by that folder.

    queue.py     submit, list, stop, cancel, move: what the studio and the commands call
    folder.py    what a job's folder holds, and how it is read
    keeper.py    the small process that stays beside a job: starts it, stops it, says how it ended
    worker.py    the job's own side: report, notice a wish to stop, leave its last word
    events.py    what a job says, one JSON object a line
    outcome.py   how an exit is classified
    process.py   which process is meant, whatever pids the system has handed out since
"""
