"""Serves the Model Context Protocol: the API as tools for assistants and editors, over HTTP and over a pipe."""
