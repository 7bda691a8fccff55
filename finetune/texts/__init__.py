"""Texts from outside and back: read, matched to recordings, aligned to speech, written, prompted."""
