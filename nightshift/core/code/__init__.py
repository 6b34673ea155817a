"""Source code as values: trees, paths, imports, and the syntax of the languages that tasks use."""
