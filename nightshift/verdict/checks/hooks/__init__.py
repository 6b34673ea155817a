"""Commands that never run: what a command line really runs, and the table of patterns that it is held against.

The sandbox is the boundary; this is a warning. It says no before anything starts, with a reason that a model
can act on and an owner can read in the morning, and it looks at what will leave the sandbox one day: scripts, recipes
and commands in code that the owner may run himself.
"""
