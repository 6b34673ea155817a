"""The name of the built-in engine, as backend and as model: it answers like a model, and its replies are no calls.

A module of its own, which takes no time to import: the command line asks for the name before anything else.
"""

BUILT_IN = "repair"
