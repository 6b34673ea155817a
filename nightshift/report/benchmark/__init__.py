"""A benchmark of models, protocols and settings on tasks from a repository's own history."""
