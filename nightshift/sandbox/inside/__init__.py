"""Code that runs inside the sandbox, where it has a package name of its own. It imports nothing else of Nightshift."""

VARIABLE = "NIGHTSHIFT_RECORDER"
"""Environment variable with the recorder's settings, for the process that runs tests. It is removed before code of the
tree runs.
"""
