"""Texts of any length spoken: read, said sentence by sentence, judged, joined and written."""
