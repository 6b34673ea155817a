"""Proof of a commit for others: one page, and how to check it without Nightshift."""
