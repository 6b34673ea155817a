"""The benchmark from a repository's own history: which model, protocol and settings solve its kind of task."""
