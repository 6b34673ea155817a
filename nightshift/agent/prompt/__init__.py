"""A prompt: its texts, its sections, the parts of the repository in it, and its budget."""
