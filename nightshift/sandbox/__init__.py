"""Runs untrusted code: a module for each isolation, and the modules that prepare, run and judge a test suite.

`choose` selects the isolation; `run_python` runs a piece of code in it.
"""

from nightshift.sandbox.choice import Choice, choose, remedy
from nightshift.sandbox.snippet import SNIPPET_LIMITS, Snippet, run_python

__all__ = ["SNIPPET_LIMITS", "Choice", "Snippet", "choose", "remedy", "run_python"]
