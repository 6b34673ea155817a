"""The name of the built-in engine, as a backend and as a model. The engine answers like a model, but calls no model.

This is a separate module because it is cheap to import, and the command line needs the name early.
"""

BUILT_IN = "repair"
