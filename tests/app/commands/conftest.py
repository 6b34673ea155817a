"""A home at the terminal, as the tests of the client have it."""

from tests.client.conftest import context, home

__all__ = ["context", "home"]
