"""The database, the long-term memory, and files that are written completely or not at all."""
