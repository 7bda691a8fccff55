"""What fits into the memory of a card: measured peaks, a fit of them, and the choice that follows."""
