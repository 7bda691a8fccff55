"""How what is written is said, and where its sentences end: for every engine."""
