"""Finds small functions from examples: what tests expect is recorded, then bodies are enumerated."""
