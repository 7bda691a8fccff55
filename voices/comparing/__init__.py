"""Finished voices beside each other: heard blindly, measured in small figures, drawn."""
