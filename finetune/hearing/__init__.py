"""
What was said in a recording, and when.

    models.py    which Whisper: what there is, what is advised, where it lies, how it comes here
    compute.py   how it is run: on which processor, in which numbers, how much at once, and why
    speech.py    where in a recording somebody speaks
    ear.py       what was said there, word by word
    listening.py all of them together: a Whisper found, loaded and put to work

None of them loads a model when it is imported; they do it in a job.
"""
