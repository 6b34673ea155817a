"""Finds small functions from examples: the tests' expectations are recorded, then bodies are enumerated."""
