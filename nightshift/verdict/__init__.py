"""Decides whether a change may be committed: plans its tests, runs them, checks the reports and measures the tests."""
