"""How the daemon is put together: the parts, the life cycle, and what it says at its start."""
