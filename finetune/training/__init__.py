"""The one training loop, for every engine, on one device or many (torch lives here)."""
