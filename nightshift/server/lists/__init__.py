"""Lists tasks, and acts on many tasks at once."""
