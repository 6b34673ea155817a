"""The name of the built-in engine, as backend and as model. It answers like a model, without a model call.

This is a separate module because it is cheap to import: the command line needs the name before anything else.
"""

BUILT_IN = "repair"
