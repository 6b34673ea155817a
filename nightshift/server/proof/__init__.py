"""Builds the proof of a commit for other people: one page that explains how to check it without Nightshift."""
