"""The tools of a model that works in steps: what they are called, what they take, and what they do."""
