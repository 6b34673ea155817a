"""Makes the fixtures `home` and `context` of the client's tests available to these tests."""

from tests.client.conftest import context, home

__all__ = ["context", "home"]
