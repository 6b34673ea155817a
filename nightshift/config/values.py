"""Types of the values of settings."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

# The unit is part of the JSON schema, from which the settings page reads it.
Positive = Annotated[int, Field(gt=0)]
Tokens = Annotated[int, Field(json_schema_extra={"unit": "tokens"})]
PositiveTokens = Annotated[Tokens, Field(gt=0)]
Megabytes = Annotated[int, Field(json_schema_extra={"unit": "MB"})]
Seconds = Annotated[float, Field(gt=0, json_schema_extra={"unit": "s"})]
Days = Annotated[float, Field(gt=0, json_schema_extra={"unit": "days"})]
Cost = Annotated[float, Field(ge=0, json_schema_extra={"unit": "USD"})]
# A package of the Python package index, with or without a version.
Distribution = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,80}[A-Za-z0-9])?(==[A-Za-z0-9.!+_-]{1,40})?$")
]

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

# A host that is reached over TLS, with or without a port.
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?$")]
# A host name in the address of the dashboard, with or without a port.
DashboardName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?$")]
# A list of dashboard names. In an environment variable it is JSON, or names separated by commas or blanks.
DashboardNames = Annotated[
    list[DashboardName],
    NoDecode,
    BeforeValidator(lambda value: re.findall(r"""[^\s,;\[\]"']+""", value) if isinstance(value, str) else value),
]
# The name of an environment variable.
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


def off(value: object) -> object:
    """Turn False back into `off`, because YAML reads the unquoted word `off` as a boolean."""
    return "off" if value is False else value


def web_address(value: SecretStr) -> SecretStr:
    """Check that a value is a web address with a host.

    Raises:
        ValueError: The value is not an address.
    """
    page_address(value.get_secret_value())
    return value


def page_address(value: str) -> str:
    """Check an address like `web_address`, for addresses that are not secret. An empty text is refused.

    Raises:
        ValueError: The value is not an address.
    """
    try:
        parts = urlsplit(value)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise ValueError("is not a web address; write it as https://host/path")
    return value


PageAddress = Annotated[str, AfterValidator(lambda value: value and page_address(value))]

# Anyone who knows such an address may be able to post to it, as with chat services, so it is hidden like a password.
WebAddress = Annotated[SecretStr, AfterValidator(web_address)]


class PriceIn(BaseModel, extra="forbid", frozen=True):
    """The price of a model, in USD per million tokens."""

    input_per_million_usd: Cost
    output_per_million_usd: Cost
