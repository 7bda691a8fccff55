"""From recordings to a finished voice. Knows engines and voices; knows nothing of the screen."""
