from __future__ import annotations

import pytest

from nightshift.core.errors import ConfigError
from nightshift.server.serving.listen import Listen, is_loopback, is_wildcard


@pytest.mark.parametrize("address", ["127.5.5.5", "::1", "localhost"])
def test_the_loopback_needs_no_token(address: str) -> None:
    Listen(address=address).check()


@pytest.mark.parametrize("address", ["::", "192.168.1.5", "127.0.0.1.evil.example"])
def test_any_other_address_is_refused_without_a_token(address: str) -> None:
    assert not is_loopback(address)
    with pytest.raises(ConfigError, match=r"FLASK_HOST.*API_TOKEN"):
        Listen(address=address).check()
    Listen(address=address, token="t").check()


def test_the_weakest_sandbox_needs_a_token_on_the_loopback_too() -> None:
    with pytest.raises(ConfigError, match="API_TOKEN"):
        Listen(exposed=True).check()


def test_names_count_without_their_ports_and_origins_with_them() -> None:
    policy = Listen(address="192.168.1.5", token="t", names=("Night.lan:5000",), page="https://day.example/x/").policy()
    assert policy.names == {"night.lan", "day.example"}
    assert {"http://night.lan:5000", "https://day.example"} <= policy.origins
    assert policy.below == "/x"
    assert is_wildcard("0.0.0.0")
    assert not is_wildcard("127.0.0.1")
