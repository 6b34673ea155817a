"""Builds the proof of a commit for other people: a page that explains how to check the commit without Nightshift."""
