"""The kinds of values that settings have."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Days = Annotated[float, Field(gt=0)]
Cost = Annotated[float, Field(ge=0)]
# A package of the Python package index, with a version or without.
Distribution = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,80}[A-Za-z0-9])?(==[A-Za-z0-9.!+_-]{1,40})?$")
]


def off(value: object) -> object:
    """`off` as it was typed: YAML takes the bare word for a truth value."""
    return "off" if value is False else value


def web_address(value: SecretStr) -> SecretStr:
    """An address of the web, with a host.

    Raises:
        ValueError: it is none.
    """
    try:
        parts = urlsplit(value.get_secret_value())
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise ValueError("is no web address; give it as https://host/path")
    return value


# An address may hold the right to use it, as those of chat services do, and is shown as little as a password.
WebAddress = Annotated[SecretStr, AfterValidator(web_address)]


class PriceIn(BaseModel, extra="forbid", frozen=True):
    """What a model costs, in USD for a million tokens."""

    input_per_million_usd: Cost
    output_per_million_usd: Cost
