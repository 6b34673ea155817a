"""The pages: their table, their frame, and what they come with."""
