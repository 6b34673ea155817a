"""Builds the course of a task for the API: attempts, steps, verdicts, and forks."""
