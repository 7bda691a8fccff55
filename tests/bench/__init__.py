"""
The benchmarks: every measured promise, measured again by one command.

    __main__.py   `python launch.py bench NAME`: measures, prints, and keeps with --record
    record.py     a benchmark, its figures and their limits, and what came out; decisions only
    timing.py     two ways side by side, in alternation, and how far the rounds lie apart
    progress.py   how far a measurement is, on stderr
    machine.py    what a figure was measured on

    kills.py      kill -9 of a process that writes edits and files
      killing.py    the rounds; writer.py is what is killed, model.py what must be there after it
    jobs.py       kill -9 around jobs, in four parts
      jobs_found.py, jobs_slowdown.py, jobs_doubles.py, jobs_orders.py
      studios.py    a real studio and a workspace; work.py the jobs in it, submitter.py who clicks
    pocket.py     the engine in the box: understood, alike, fast, small, the same when made again
      pocket_people.py, pocket_making.py, pocket_speaking.py   who speaks: natural, and the voice
      pocket_judges.py, pocket_scores.py, pocket_picture.py    who listens, scores, spectrograms
      pocket_again.py   the base made twice, and killed on its way
    planner.py    what fits: told and measured, and beside the rules of other programs
      planner_engines.py, planner_cases.py   trainings that are measured, and made up
      planner_rules.py, planner_ours.py, planner_table.py   who chooses, and what it comes to
      planner_gpu.py   the same on a GPU
    screen.py     how soon the page is there, what it costs, half an hour of it
      screen_project.py, screen_editor.py, screen_tabs.py   2,000 clips, edited, in two tabs
      screen_survives.py   a training watched: reloaded, left alone, the studio killed
      screen_rival.py   the same texts in a gr.Dataframe
    speaking.py   voices that say the same elsewhere, long texts, bad sentences found
      speaking_travel.py, speaking_text.py, speaking_stops.py, speaking_failures.py   its parts
      speaking_scores.py   clicks and memory, counted
    monitor.py    what watches the GPUs, over a driver that misbehaves
    mutants.py    faults seeded into the code (seeds.py lists them): each must turn a test red

A new benchmark is a module with a `BENCHMARK` and a line in `record.KNOWN`.
"""
