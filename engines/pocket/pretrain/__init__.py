"""Makes the data files and base weights that pocket ships with; nothing here runs in the studio."""
