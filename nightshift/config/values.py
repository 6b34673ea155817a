"""The kinds of values that settings have."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

# The unit goes into the JSON schema, from which the settings page takes it.
Positive = Annotated[int, Field(gt=0)]
Tokens = Annotated[int, Field(json_schema_extra={"unit": "tokens"})]
PositiveTokens = Annotated[Tokens, Field(gt=0)]
Megabytes = Annotated[int, Field(json_schema_extra={"unit": "MB"})]
Seconds = Annotated[float, Field(gt=0, json_schema_extra={"unit": "s"})]
Days = Annotated[float, Field(gt=0, json_schema_extra={"unit": "days"})]
Cost = Annotated[float, Field(ge=0, json_schema_extra={"unit": "USD"})]
# A package of the Python package index, with a version or without.
Distribution = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,80}[A-Za-z0-9])?(==[A-Za-z0-9.!+_-]{1,40})?$")
]

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

# A host that is reached by TLS, with a port or without.
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?$")]
# A name in the address of the dashboard, with a port or without.
DashboardName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?$")]
# Several of them; in a variable as JSON, or with commas or blanks in between.
DashboardNames = Annotated[
    list[DashboardName],
    NoDecode,
    BeforeValidator(lambda value: re.findall(r"""[^\s,;\[\]"']+""", value) if isinstance(value, str) else value),
]
# The name of an environment variable.
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


def off(value: object) -> object:
    """`off` as it was typed: YAML takes the bare word for a truth value."""
    return "off" if value is False else value


def web_address(value: SecretStr) -> SecretStr:
    """An address of the web, with a host.

    Raises:
        ValueError: it is none.
    """
    page_address(value.get_secret_value())
    return value


def page_address(value: str) -> str:
    """As `web_address`, of an address that anybody may see; an empty one is none.

    Raises:
        ValueError: it is no address.
    """
    try:
        parts = urlsplit(value)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise ValueError("is no web address; give it as https://host/path")
    return value


PageAddress = Annotated[str, AfterValidator(lambda value: value and page_address(value))]

# An address may hold the right to use it, as those of chat services do, and is shown as little as a password.
WebAddress = Annotated[SecretStr, AfterValidator(web_address)]


class PriceIn(BaseModel, extra="forbid", frozen=True):
    """The price of a model, in USD for a million tokens."""

    input_per_million_usd: Cost
    output_per_million_usd: Cost
