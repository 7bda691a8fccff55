"""
What the GPUs and the computer are doing.

    cards.py     GPUs as they are told; what nobody tells is None
    nvml.py      one NVIDIA card, asked question by question
    driver.py    their driver: kept open, opened anew after an error, left behind when it hangs
    machine.py   the computer around them, and GPUs of Apple and AMD
    sampler.py   a reading each second, kept for an hour
    whose.py     whose the memory is; spill.py whether it spills over into the computer's
    kept.py      what a run keeps of it on the disk
"""
