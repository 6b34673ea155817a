"""Types of settings that are spans of time."""

from __future__ import annotations

import json
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_settings import NoDecode

from nightshift.core.quiet_hours import parse


def several(value: object) -> object:
    """Read a list from an environment variable: JSON, or spans of time separated by semicolons or line breaks."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return [value]
    return [span.strip() for span in re.split(r"[;\n]", value) if span.strip()]


def span(value: str) -> str:
    """Normalise a span of time.

    Raises:
        ValueError: The value is not a span of time; the message shows a correct example.
    """
    return parse(value).text


QuietHours = Annotated[list[Annotated[str, AfterValidator(span)]], NoDecode, BeforeValidator(several)]
