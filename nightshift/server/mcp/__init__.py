"""Serves the Model Context Protocol: the API as tools for assistants and editors, over HTTP or a pipe."""
