"""The base class of models for input from people.

Unknown fields are rejected; if there are many, only their number is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from nightshift.core.text import faults


def without_nul(text: str) -> str:
    """Reject a text with a NUL character, which no file, argument or database column can contain."""
    if "\x00" in text:
        raise ValueError("contains a NUL character; remove it")
    return text


class Strict(BaseModel):
    """Model that rejects unknown fields."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, data: Any) -> Any:
        """Reject many unknown fields with one error; runs before field validation, which would give one error each."""
        if isinstance(data, Mapping) and len(data) > len(cls.model_fields) + faults.MOST:
            field_names = ", ".join(cls.model_fields)
            unknown = [name for name in data if name not in cls.model_fields]
            raise ValueError(f"unknown fields: {faults.name_first(unknown)}; known are {field_names}")
        return data
