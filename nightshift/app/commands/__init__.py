"""The command-line commands that this package implements, and the API of a home whose daemon is not running."""
