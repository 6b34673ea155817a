"""The Model Context Protocol: the API as tools for assistants and editors, over HTTP beside it and over a pipe."""
