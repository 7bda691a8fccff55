"""Finished voices, and the ground everything stands on: the workspace, safe files, names."""
