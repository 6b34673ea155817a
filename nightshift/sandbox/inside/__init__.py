"""Code that runs inside the sandbox, under a package name of its own; it imports nothing else of ours."""

VARIABLE = "NIGHTSHIFT_RECORDER"
"""Variable with the recorder's settings for the process that runs tests; removed before code of the tree runs."""
