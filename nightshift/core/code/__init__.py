"""Source code as values: trees, paths, imports and syntax of the languages of tasks."""
