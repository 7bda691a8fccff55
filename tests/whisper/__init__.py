"""A tiny real Whisper for the tests, and everything it is made from."""
