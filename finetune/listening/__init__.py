"""What is heard in a clip besides its words: music, and another voice."""
