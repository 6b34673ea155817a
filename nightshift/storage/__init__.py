"""The database, the long-term memory, and functions that write a file either completely or not at all."""
