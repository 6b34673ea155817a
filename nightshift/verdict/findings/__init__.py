"""Findings against a change that passed: each module compares one thing, and judges nothing."""
