"""What the page asks the studio: calls that answer with JSON, files, and uploads."""
