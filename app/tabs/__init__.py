"""One place of the studio a file."""
