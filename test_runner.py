"""Runs and judges a change. The implementation is `nightshift/verdict/runner.py` and `nightshift/app/coder.py`."""

from nightshift.app.coder import CodeExecutor, TestResult
from nightshift.verdict.runner import SuiteRunner

__all__ = ["CodeExecutor", "SuiteRunner", "TestResult"]
