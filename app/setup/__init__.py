"""Makes the environment Timbre runs in, with nothing but the standard library."""
