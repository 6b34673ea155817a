"""Finds the commands that a command line really runs, and refuses those that match a table of forbidden patterns.

The sandbox is the security boundary; this check is an early warning. It refuses a command before anything starts, with
a reason that helps the model to correct the command and the owner to understand the refusal later. The same patterns
are applied to code that may one day run outside of the sandbox: scripts, build recipes, and commands in code.
"""
