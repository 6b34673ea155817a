"""Long-term memory: what failed, what mended it, and how a similar case finds it again."""
