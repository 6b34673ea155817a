"""The checks of `nightshift doctor`: functions in the table of `examination`. No check writes to a home."""
