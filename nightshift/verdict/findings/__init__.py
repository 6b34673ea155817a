"""Findings against a passing change: each module makes one comparison, and none of them judges."""
