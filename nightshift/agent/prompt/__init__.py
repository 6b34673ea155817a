"""A prompt: its texts, its sections, what of the repository goes into it, and how all that fits its budget."""
