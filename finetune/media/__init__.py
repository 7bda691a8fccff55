"""
From files people have to sound we can work with, without trusting the files.

    decode.py     a file of any kind to a working copy: what the rest of the studio calls
    original.py   keep what was received, as it was received, with its SHA-256
    reading.py    a span of a working copy, and its outline for drawing
    verdict.py    what is good or bad about a recording, in sentences
    levels.py     what is measured: loudness, noise, clipping
    meter.py      how it is measured, while the sound streams by once
    decoded.py    what the decoder says: how far, the result, or why there is none
    decoder.py    the process that opens the file: `python -m finetune.media.decoder`
    sound.py      the sound of a file, block by block, whatever is broken in it
    formats.py    which formats may be opened, and what a file is that may not

Only decoder.py and sound.py load PyAV, and only in that process.
"""
