"""The database, long-term memory, and files that are written whole or not at all."""
