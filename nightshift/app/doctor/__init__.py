"""The checks of `nightshift doctor`: each is a function in the table of `examination`. Nothing writes to a home."""
