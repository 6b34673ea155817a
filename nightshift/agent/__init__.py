"""The loop in which a model plans, codes, tests and reflects. It depends only on `core` and on the tools passed in."""
