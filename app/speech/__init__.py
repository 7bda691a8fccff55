"""The speech server: finished voices for programs that know how to ask OpenAI for speech."""
