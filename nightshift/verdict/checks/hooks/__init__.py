"""Commands that never run: finds what a command line really runs, and compares it with a table of patterns.

The sandbox is the boundary; this is a warning. It refuses before anything starts, with a reason that a model can act on
and that the owner can read in the morning. It also checks code that will leave the sandbox one day: scripts, recipes
and commands in code that the owner may run.
"""
