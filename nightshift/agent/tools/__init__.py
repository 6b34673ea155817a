"""The tools of a model that works in steps: their names, arguments and effects."""
