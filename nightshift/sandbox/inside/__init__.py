"""Code that runs inside the sandbox; shown there under a name of its own, importing nothing of ours."""

VARIABLE = "NIGHTSHIFT_RECORDER"
"""It tells the process that runs tests what its recorder has to know; code of the tree never finds it."""
