"""What may be handed to others as proof of a commit: one page, and how to check it without Nightshift."""
