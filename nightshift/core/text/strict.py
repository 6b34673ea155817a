"""The base of models for what people write: unknown fields are refused, few by name and many by their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from nightshift.core.text import faults


def without_nul(text: str) -> str:
    """Refuse a text that no file, argument or column of ours can hold."""
    if "\x00" in text:
        raise ValueError("contains a NUL character; remove it")
    return text


class Strict(BaseModel):
    """Takes no field that it does not know."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, data: Any) -> Any:
        """Looked at before the fields are: each unknown one would be a fault of its own."""
        if isinstance(data, Mapping) and len(data) > len(cls.model_fields) + faults.MOST:
            field_names = ", ".join(cls.model_fields)
            unknown = [name for name in data if name not in cls.model_fields]
            raise ValueError(f"unknown fields: {faults.name_first(unknown)}; known are {field_names}")
        return data
