"""The faults that are seeded, one at a time: what a careless change could do to a promise."""

from __future__ import annotations

from dataclasses import dataclass

FILES = "tests/voices/test_files.py"
FILES_FAULTS = "tests/voices/test_files_faults.py"
DATABASE = "tests/voices/test_database.py"
DATABASE_FAULTS = "tests/voices/test_database_faults.py"
NAMES = "tests/voices/test_names.py"
PROJECTS_FAULTS = "tests/finetune/test_projects_faults.py"
TRANSCRIPT = "tests/finetune/test_transcript.py"
CLIPS = "tests/finetune/test_clips.py"
HEARINGS = "tests/finetune/test_hearings.py"
VERSIONS = "tests/finetune/test_versions.py"
IMPORTING = "tests/finetune/test_importing.py"
BUILDING = "tests/finetune/test_building.py"
CUTTING = "tests/finetune/test_cutting.py"
DOWNLOADS = "tests/finetune/test_downloads.py"
SPEECH = "tests/finetune/hearing/test_speech.py"
EXPORTING = "tests/finetune/test_exporting.py"
TRAINING = "tests/finetune/training"
LOOP = f"{TRAINING}/test_loop.py"
STEP = f"{TRAINING}/test_step.py"
TURNS = f"{TRAINING}/test_turns.py"
CHECKPOINTS = f"{TRAINING}/test_checkpoints.py"
RANDOMNESS = f"{TRAINING}/test_randomness.py"
RECOMPUTE = f"{TRAINING}/test_recompute.py"
RANKS = f"{TRAINING}/test_ranks.py"
TOLD = f"{TRAINING}/test_told.py"
WORK = f"{TRAINING}/test_work.py"
JOBS = "tests/finetune/jobs/test_jobs.py"
OUTCOME = "tests/finetune/jobs/test_outcome.py"
PROCESS = "tests/finetune/jobs/test_process.py"
FRONT = "tests/app/test_front.py"
STUDIO = "tests/app/test_studio.py"
LAYERS = "tests/test_layers.py"


@dataclass(frozen=True, slots=True)
class Seed:
    """One fault: a piece of a file as it is, as it would be, and the tests that must turn red."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


SEEDS = (
    # ---- Safe files ----
    Seed(
        "a file is not synced before its rename",
        "voices/files.py",
        "                yield file\n                _sync(file)\n",
        "                yield file\n",
        (FILES_FAULTS,),
    ),
    Seed(
        "the folder is not synced after a rename",
        "voices/files.py",
        "            sync_folder(path.parent)\n    except BaseException:\n        temporary.unlink",
        "    except BaseException:\n        temporary.unlink",
        (FILES_FAULTS,),
    ),
    Seed(
        "a file is written in place",
        "voices/files.py",
        '            with temporary.open("xb") as file:\n'
        "                yield file\n"
        "                _sync(file)\n"
        "            _rename(temporary, path)\n",
        '            with path.open("wb") as file:\n'
        "                yield file\n"
        "                _sync(file)\n",
        (FILES_FAULTS,),
    ),
    Seed(
        "a write that failed leaves its temporary file",
        "voices/files.py",
        "        temporary.unlink(missing_ok=True)\n",
        "",
        (FILES,),
    ),
    Seed(
        "the files of a folder are not synced before it is sealed",
        "voices/files.py",
        '            with path.open("r+b") as file:\n                _sync(file)\n',
        "",
        (FILES_FAULTS,),
    ),
    Seed(
        "the folders inside a folder are not synced",
        "voices/files.py",
        "            sync_folder(path)\n    write_json",
        "            pass\n    write_json",
        (FILES_FAULTS,),
    ),
    Seed(
        "a sealed folder is not synced into its place",
        "voices/files.py",
        "            sync_folder(path.parent)\n    except BaseException:\n        shutil.rmtree",
        "    except BaseException:\n        shutil.rmtree",
        (FILES_FAULTS,),
    ),
    Seed(
        "a folder appears before it has its manifest",
        "voices/files.py",
        "            _seal(temporary)\n"
        "            _set_aside_if_broken(path)\n"
        "            _rename(temporary, path)\n",
        "            _set_aside_if_broken(path)\n"
        "            _rename(temporary, path)\n"
        "            _seal(path)\n",
        (FILES_FAULTS,),
    ),
    Seed(
        "the manifest's SHA-256 is not compared",
        "voices/files.py",
        " or (contents and _sha256(file) != sealed.sha256)",
        "",
        (FILES,),
    ),
    Seed(
        "the manifest's sizes are not compared",
        "voices/files.py",
        "if size != sealed.size or (contents",
        "if size is None or (contents",
        (FILES,),
    ),
    Seed(
        "a finished folder is replaced",
        "voices/files.py",
        "    if exists(path):\n        raise FileExistsError",
        "    if False:\n        raise FileExistsError",
        (FILES,),
    ),
    Seed(
        "a broken folder that is in the way is deleted",
        "voices/files.py",
        '    _rename(path, path.with_name(f"{path.name}.broken-{secrets.token_hex(4)}"))\n',
        "    shutil.rmtree(path)\n",
        (FILES,),
    ),
    Seed(
        "the sweep takes what a living process writes",
        "voices/files.py",
        "    return not pid.isdigit() or psutil.pid_exists(int(pid))\n",
        "    return not pid.isdigit()\n",
        (FILES,),
    ),
    Seed(
        "a full disk is not named",
        "voices/files.py",
        "        raise disk_full(path) from error\n",
        "        raise\n",
        (FILES,),
    ),
    # ---- The store ----
    Seed(
        "a commit does not wait for the disk",
        "voices/database.py",
        '"synchronous=FULL"',
        '"synchronous=NORMAL"',
        (DATABASE_FAULTS,),
    ),
    Seed(
        "a change is acknowledged without its commit",
        "voices/database.py",
        '                self._connection.execute("COMMIT")\n',
        "                pass\n",
        (DATABASE,),
    ),
    Seed(
        "a change that failed is not rolled back",
        "voices/database.py",
        "                if self._connection.in_transaction:\n",
        "                if False:\n",
        (DATABASE,),
    ),
    Seed(
        "a change does not take the store before it reads",
        "voices/database.py",
        '            self._connection.execute("BEGIN IMMEDIATE")\n            try:\n',
        '            self._connection.execute("BEGIN DEFERRED")\n            try:\n',
        (DATABASE,),
    ),
    Seed(
        "a store is migrated without a backup",
        "voices/database.py",
        "            self._back_up()\n",
        "            pass\n",
        (DATABASE,),
    ),
    Seed(
        "a backup is written in place",
        "voices/database.py",
        "        with self._lock, _in_words(self.path), files.new_file(path) as file:\n",
        '        with self._lock, _in_words(self.path), path.open("wb") as file:\n',
        (DATABASE_FAULTS,),
    ),
    Seed(
        "a migration commits half-way",
        "voices/database.py",
        "                    connection.execute(statement)\n",
        '                    connection.execute(statement); connection.execute("COMMIT")\n'
        '                    connection.execute("BEGIN IMMEDIATE")\n',
        (DATABASE_FAULTS,),
    ),
    Seed(
        "a store of a newer Timbre is opened anyway",
        "voices/database.py",
        "        if version > newest:\n",
        "        if False:\n",
        (DATABASE,),
    ),
    Seed(
        "a damaged store is opened anyway",
        "voices/database.py",
        '        if found != "ok":\n',
        "        if False:\n",
        (DATABASE,),
    ),
    # ---- The transcript ----
    Seed(
        "an edit that saw an older revision wins",
        "finetune/transcript.py",
        "    if found.revision != edit.saw:\n",
        "    if False:\n",
        (TRANSCRIPT,),
    ),
    Seed(
        "undoing loses a field",
        "finetune/transcript.py",
        " included = :included, reason = :reason, gone = :gone,",
        " included = :included, gone = :gone,",
        (TRANSCRIPT,),
    ),
    Seed(
        "undoing leaves the revision as it was",
        "finetune/transcript.py",
        "            revision = _next_revision(store)\n",
        "            revision = _next_revision(store) - 1\n",
        (TRANSCRIPT,),
    ),
    Seed(
        "what was undone can be redone over newer edits",
        "finetune/transcript.py",
        "    store.execute(\"UPDATE actions SET state = 'passed' WHERE state = 'undone'\")\n",
        "",
        (TRANSCRIPT,),
    ),
    Seed(
        "redoing begins at the wrong end",
        "finetune/transcript.py",
        '"undone": "ASC"',
        '"undone": "DESC"',
        (TRANSCRIPT,),
    ),
    # ---- From recordings to a dataset ----
    Seed(
        "cutting again takes the clips a person touched",
        "finetune/clips.py",
        "    kept = [clip for clip in clips if clip.id in touched]\n",
        "    kept, touched = [], {}\n",
        (CLIPS,),
    ),
    Seed(
        "a new clip takes a part of one that stays",
        "finetune/clips.py",
        "        start, end = max(piece.start, room.start), min(piece.end, room.end)\n",
        "        start, end = piece.start, piece.end\n",
        (CLIPS,),
    ),
    Seed(
        "what was undone still counts as a person's",
        "finetune/transcript.py",
        " AND actions.state = 'done'\"\n            \" AND (actions.by = ? OR actions.by LIKE ?) GROUP",
        '"\n            " AND (actions.by = ? OR actions.by LIKE ?) GROUP',
        (CLIPS,),
    ),
    Seed(
        "a hearing goes on from the beginning",
        "finetune/hearings.py",
        'coalesce(max(stretches."end"), 0) AS reached',
        "0.0 AS reached",
        (HEARINGS,),
    ),
    Seed(
        "hearing again takes the old one for the new",
        "finetune/hearings.py",
        "        if same and (not same[-1].finished or len(same) >= times):\n",
        "        if same:\n",
        (HEARINGS,),
    ),
    Seed(
        "cutting the same words again makes new clips of them",
        "finetune/clips.py",
        "    same = {clip.values for clip in clips} & {*new}\n",
        "    same = set()\n",
        (CLIPS,),
    ),
    Seed(
        "the same content comes in twice",
        "finetune/importing.py",
        "            if same := project.recordings.with_content(kept.sha256):\n",
        "            if same := None:\n",
        (IMPORTING,),
    ),
    Seed(
        "the checks overrule a person",
        "finetune/checking.py",
        "            if clip.id not in decided\n",
        "            if True\n",
        (BUILDING,),
    ),
    Seed(
        "freezing the same again makes a version",
        "finetune/versions.py",
        "        if newest and newest.dataset == dataset:\n",
        "        if False:\n",
        (VERSIONS,),
    ),
    Seed(
        "a clip may end inside a word",
        "finetune/cutting.py",
        "    return max(anchor, min(kept, place))\n",
        "    return word.end - 0.1\n",
        (CUTTING,),
    ),
    Seed(
        "what was downloaded is taken as it came",
        "finetune/downloads.py",
        "        return _digest(part, hashlib.sha256(), stop) == each.sha256.lower()\n",
        "        return True\n",
        (DOWNLOADS,),
    ),
    Seed(
        "a stretch divides what somebody says",
        "finetune/hearing/speech.py",
        "    end = _pause(spans, begin, stop)\n",
        "    end = stop\n",
        (SPEECH,),
    ),
    Seed(
        "a clip of an export begins late",
        "finetune/exporting.py",
        "reading.read(recording.path, example.start, example.end, recording.rate)",
        "reading.read(recording.path, example.start + 0.01, example.end, recording.rate)",
        (EXPORTING,),
    ),
    # ---- Names ----
    Seed(
        "a name may hold control signs",
        "voices/names.py",
        'in ("Cc", "Cs", "Zl", "Zp")',
        'in ("Cs",)',
        (NAMES,),
    ),
    Seed(
        "a name may turn the reading order",
        "voices/names.py",
        "    if _TURNS_TEXT & set(name):\n",
        "    if False:\n",
        (NAMES,),
    ),
    Seed(
        "a folder is called as the person called it",
        "finetune/projects.py",
        "cleaned, project_id = names.clean(name), names.new_id()",
        "cleaned, project_id = names.clean(name), name",
        (NAMES,),
    ),
    Seed(
        "a project is listed before it is made",
        "finetune/projects.py",
        '        open_store(folder / "project.db").close()\n'
        "        files.sync_folder(folder)\n"
        "        return shelf(workspace).add(cleaned, project_id)\n",
        "        listed = shelf(workspace).add(cleaned, project_id)\n"
        '        open_store(folder / "project.db").close()\n'
        "        files.sync_folder(folder)\n"
        "        return listed\n",
        (PROJECTS_FAULTS,),
    ),
    # ---- Jobs ----
    Seed(
        "a job writes to a pipe instead of a file",
        "finetune/jobs/process.py",
        "        stdout=output,\n",
        "        stdout=subprocess.PIPE,\n",
        (JOBS, PROCESS),
    ),
    Seed(
        "a process is known by its pid alone",
        "finetune/jobs/process.py",
        "identity(known.pid) != known",
        "identity(known.pid) is None",
        (PROCESS,),
    ),
    Seed(
        "a process's creation moves with the clock",
        "finetune/jobs/process.py",
        '    if sys.platform != "linux":\n        return process.create_time()\n',
        "    if process:\n        return process.create_time()\n",
        (PROCESS,),
    ),
    Seed(
        "a zombie counts as alive",
        "finetune/jobs/process.py",
        "        return not _is_zombie(psutil.Process(known.pid))\n",
        "        return True\n",
        (PROCESS,),
    ),
    Seed(
        "a job stays in the session that started it",
        "finetune/jobs/process.py",
        "        start_new_session=True,",
        "        start_new_session=False,",
        (PROCESS,),
    ),
    Seed(
        "a job inherits the mark of another",
        "finetune/jobs/process.py",
        "own = {MARK, *CHOSEN}",
        "own = {*CHOSEN}",
        (PROCESS,),
    ),
    Seed(
        "a double click is not looked for",
        "finetune/jobs/queue.py",
        "        same = _same(store, request)\n",
        "        same = None\n",
        (JOBS,),
    ),
    Seed(
        "two jobs have one GPU",
        "finetune/jobs/queue.py",
        'free = not row["needs"] or row["needs"] not in taken',
        "free = True",
        (JOBS,),
    ),
    Seed(
        "the queue does not keep the order a person chose",
        "finetune/jobs/queue.py",
        'WHERE state = ? ORDER BY place"',
        'WHERE state = ? ORDER BY rowid"',
        (JOBS,),
    ),
    Seed(
        "a job without a keeper is left alone",
        "finetune/jobs/queue.py",
        'elif row["state"] == "started" or free:',
        'elif row["state"] == "waiting" and free:',
        (JOBS,),
    ),
    Seed(
        "two keepers keep one job",
        "finetune/jobs/keeper.py",
        '        with FileLock(path / "keeper.lock", timeout=1):\n',
        "        if path:\n",
        (JOBS,),
    ),
    Seed(
        "a second keeper starts the work again",
        "finetune/jobs/keeper.py",
        "self._adopt() if self._folder.was_begun() else self._start()",
        "self._start()",
        (JOBS,),
    ),
    Seed(
        "a worker that was not noted is not looked for",
        "finetune/jobs/keeper.py",
        "found = sorted(process.family(self._folder.id), key=psutil.Process.create_time)",
        "found: list[psutil.Process] = []",
        (JOBS,),
    ),
    Seed(
        "a job that does not listen is never killed",
        "finetune/jobs/keeper.py",
        "        if over > self._request.end_seconds:\n",
        "        if over > 1e9:\n",
        (JOBS,),
    ),
    Seed(
        "what a job left running is not cleared up",
        "finetune/jobs/keeper.py",
        "        self._clear_up()\n",
        "",
        (JOBS,),
    ),
    Seed(
        "the queue does not go on by itself",
        "finetune/jobs/keeper.py",
        "        queue.advance(workspace)\n",
        "        pass\n",
        (JOBS,),
    ),
    Seed(
        "nobody notices that a job is silent",
        "finetune/jobs/keeper.py",
        "        elif beat and time.monotonic() - self._since > SILENT_SECONDS:\n",
        "        elif False:\n",
        (JOBS,),
    ),
    Seed(
        "the last word comes after things are taken down",
        "finetune/jobs/worker.py",
        "        job.say_last(Finished(work(job)))\n",
        "        import atexit\n\n"
        "        text = work(job)\n"
        "        atexit._run_exitfuncs()\n"
        "        job.say_last(Finished(text))\n",
        (JOBS,),
    ),
    Seed(
        "the last word is not synced",
        "finetune/jobs/worker.py",
        "        os.fsync(self._events)\n",
        "",
        ("tests/finetune/jobs",),
    ),
    Seed(
        "exit code 137 is a bug",
        "finetune/jobs/outcome.py",
        "_KILLED = (-9, 137)",
        "_KILLED = (-9,)",
        (OUTCOME,),
    ),
    Seed(
        "the exit code counts more than the last word",
        "finetune/jobs/outcome.py",
        "    match last:\n",
        "    match last if end.code == 0 else None:\n",
        (OUTCOME,),
    ),
    Seed(
        "the last error of a log is shown, not the first",
        "finetune/jobs/outcome.py",
        "    return found[::-1]\n",
        "    return found\n",
        (OUTCOME,),
    ),
    # ---- The training ----
    Seed(
        "a run that goes on draws other numbers",
        "finetune/training/loop.py",
        '        randomness.restore(randomness.from_plain(snapshot.state["random"][rank], mine))\n',
        "        assert mine\n",
        (STEP,),
    ),
    Seed(
        "NumPy's generator is not put back",
        "finetune/training/randomness.py",
        "    np.random.set_state(chance.numpy)\n",
        "",
        (RANDOMNESS,),
    ),
    Seed(
        "a run goes on at the beginning of its epoch",
        "finetune/training/loop.py",
        'snapshot.step, state["epoch"], state["at"]\n',
        'snapshot.step, state["epoch"], 0\n',
        (STEP,),
    ),
    Seed(
        "the average of the weights begins anew",
        "finetune/training/loop.py",
        "        self._average.load(snapshot.average)\n",
        "",
        (STEP,),
    ),
    Seed(
        "an optimizer begins anew",
        "finetune/training/loop.py",
        '        weights.join_optimizer(self._optimizers, state["optimizer"], snapshot.optimizer)\n',
        "",
        (STEP,),
    ),
    Seed(
        "a micro-batch that was too large is tried again by the next job",
        "finetune/training/loop.py",
        '        self._stepper.micro_batch = min(self._stepper.micro_batch, state["micro_batch"])\n',
        "",
        (LOOP,),
    ),
    Seed(
        "the rate falls by the clock",
        "finetune/training/loop.py",
        "rate_at(self.done, self.total,",
        "rate_at(int(time.monotonic() * 1000) % self.total, self.total,",
        (STEP,),
    ),
    Seed(
        "a best that a kill came before is lost",
        "finetune/training/loop.py",
        "        elif self.done:\n            self._catch_up()\n",
        "",
        (WORK,),
    ),
    Seed(
        "what a forward pass counted is not rewound",
        "finetune/training/step.py",
        "            buffer.copy_(was)\n",
        "            pass\n",
        (STEP,),
    ),
    Seed(
        "half a step of two turns can be stopped",
        "finetune/training/step.py",
        "            heed = stop if not found else _never\n",
        "            heed = stop\n",
        (STEP,),
    ),
    Seed(
        "one turn gives gradients to what the other trains",
        "finetune/training/turns.py",
        "        each.requires_grad_(False)\n",
        "        pass\n",
        (TURNS,),
    ),
    Seed(
        "two devices learn half as much as one",
        "finetune/training/step.py",
        "            torch.distributed.all_reduce(flat)\n",
        "            torch.distributed.all_reduce(flat)\n            flat /= 2\n",
        (RANKS,),
    ),
    Seed(
        "a checkpoint is taken without a look at its content",
        "finetune/training/checkpoints.py",
        "            files.check_folder(folder)\n            return load(folder)\n",
        "            return load(folder)\n",
        (CHECKPOINTS,),
    ),
    Seed(
        "the oldest checkpoint goes before the new one stands",
        "finetune/training/checkpoints.py",
        '    folder = run.checkpoints / f"step-{snapshot.step:06}"\n',
        '    folder = run.checkpoints / f"step-{snapshot.step:06}"\n'
        '    for old in _finished(run.checkpoints, "step-")[KEPT - 1 :]:\n'
        "        files.remove_folder(old)\n",
        (CHECKPOINTS,),
    ),
    Seed(
        "a damaged checkpoint stays and pushes out a whole one",
        "finetune/training/loop.py",
        "            checkpoints.let_go_of_newer(self._run, snapshot.step if snapshot else -1)\n",
        "            pass\n",
        (CHECKPOINTS,),
    ),
    Seed(
        "a full disk ends a run",
        "finetune/training/checkpoints.py",
        "                problem = error\n",
        "                raise\n",
        (CHECKPOINTS,),
    ),
    Seed(
        "activations that are computed again are drawn anew",
        "finetune/training/recompute.py",
        "use_reentrant=False,",
        "use_reentrant=False, preserve_rng_state=False,",
        (RECOMPUTE,),
    ),
    Seed(
        "a line of which a part fitted counts as told",
        "finetune/training/told.py",
        "            if os.write(self._history, line) < len(line):",
        "            if os.write(self._history, line) < 0:",
        (TOLD,),
    ),
    # ---- The door ----
    Seed(
        "any name is answered to",
        "app/door.py",
        "    if not host_is_ours(rules, asked.hosts[0]):\n",
        "    if False:\n",
        (FRONT,),
    ),
    Seed(
        "a page of another origin is let in",
        "app/door.py",
        "(_origin_is_ours(asked) and _site_is_ours(asked))",
        "_site_is_ours(asked)",
        (FRONT,),
    ),
    Seed(
        "what the browser says of the sender is not heard",
        "app/door.py",
        "(_origin_is_ours(asked) and _site_is_ours(asked))",
        "_origin_is_ours(asked)",
        (FRONT,),
    ),
    Seed(
        "any token is right",
        "app/door.py",
        'return "in" if _same(shown.bearer, rules.token) else "wrong"',
        'return "in"',
        (FRONT,),
    ),
    Seed(
        "a cookie is the token",
        "app/door.py",
        "_same(shown.cookie, cookie_value(rules.token))",
        "_same(shown.cookie, rules.token)",
        (FRONT,),
    ),
    Seed(
        "a network is listened to without a token",
        "app/door.py",
        "    if not _is_loopback(address) and token is None:\n",
        "    if False:\n",
        (FRONT,),
    ),
    Seed(
        "two studios work in one workspace",
        "app/studio.py",
        "        lock.acquire(timeout=0)\n",
        "",
        (STUDIO,),
    ),
    # ---- Layers ----
    Seed(
        "the page's server is imported outside the screen",
        "finetune/projects.py",
        "from pathlib import Path\n",
        "from pathlib import Path\n\nimport uvicorn\n",
        (LAYERS,),
    ),
    Seed(
        "torch is imported in the studio's process",
        "voices/files.py",
        "import psutil\n",
        "import psutil\nimport torch\n",
        (LAYERS,),
    ),
    Seed(
        "a lower folder imports a higher one",
        "voices/names.py",
        "from engines.errors import NameProblem\n",
        "from engines.errors import NameProblem\nfrom finetune.jobs import events\n",
        (LAYERS,),
    ),
    Seed(
        "importing makes a folder",
        "finetune/monitor/driver.py",
        "TIMEOUT_SECONDS = 2.0\n",
        'TIMEOUT_SECONDS = 2.0\n__import__("os").makedirs("cache", exist_ok=True)\n',
        (LAYERS,),
    ),
    Seed(
        "a command goes through a shell",
        "app/commands.py",
        "subprocess.call(argv, env=environment)",
        'subprocess.call(" ".join(argv), env=environment, shell=True)',
        (LAYERS,),
    ),
)
