"""Lets several nodes share one queue through a Temporal server, and common data through a PostgreSQL database."""
