"""How a change is run and judged. Behind it is `nightshift/verdict/runner.py`."""

from nightshift.verdict.runner import SuiteRunner

__all__ = ["SuiteRunner"]
