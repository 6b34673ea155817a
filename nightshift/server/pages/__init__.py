"""Serves the pages: their table, their frame, and the data sent with them."""
