"""Builds the course of a task for the API: attempts, steps and verdicts. Also creates forks."""
