"""Long-term memory: failures, their fixes, and how a similar case finds them again."""
