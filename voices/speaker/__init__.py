"""The resident speaker: a process that keeps a voice open, and says texts with it when asked."""
