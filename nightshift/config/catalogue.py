"""The catalogue of settings.

An entry has text, kind, unit, bounds, choices and default, and how the setting may change. All entries come from the
JSON schema of the settings models, so the settings page always agrees with the validation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from nightshift.config.fields import Heading, Takes, by_hand, headings, list_on_page, takes


class Kind(StrEnum):
    """The kind of a value. CHOICES is a list of values from `choices`; MAPPING maps names to texts, lists or prices."""

    SWITCH = "switch"
    WHOLE = "whole number"
    NUMBER = "number"
    TEXT = "text"
    SECRET = "secret"  # noqa: S105  # a kind of value
    CHOICE = "choice"
    CHOICES = "choices"
    LIST = "list"
    MAPPING = "mapping"
    PRICES = "prices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The description of one setting.

    `above` is an exclusive lower bound of the value. `by_hand` is the reason why the setting may only be changed in its
    file. `on_page` is true if the settings page always shows the setting.
    """

    name: str
    group: Heading
    text: str
    kind: Kind
    unit: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    default: Any = None
    takes: Takes = Takes.LIVE
    by_hand: str = ""
    on_page: bool = False


def describe(model: type[BaseSettings]) -> Mapping[str, Described]:
    """Describe all settings of the model that have a heading, in order."""
    schema, on_page = model.model_json_schema(), list_on_page(model)
    return {
        name: _describe(name, heading, schema["properties"][name], model.model_fields[name], name in on_page)
        for name, heading in headings(model).items()
    }


def to_json_value(value: Any) -> Any:
    """Convert a setting's value to a value for JSON and YAML; a secret becomes None."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, Mapping):
        return {key: to_json_value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [to_json_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity and no NaN, but the settings accept them as words
    return None if isinstance(value, SecretStr) else str(value) if isinstance(value, Path) else value


def _describe(name: str, group: Heading, schema: Mapping[str, Any], field: FieldInfo, on_page: bool) -> Described:
    either = schema.get("anyOf", [schema])
    value = next(each for each in either if each.get("type") != "null")
    below = value.get("items", {})
    return Described(
        name=name,
        group=group,
        text=schema["description"],
        kind=_kind(value),
        unit=value.get("unit", ""),
        least=value.get("minimum"),
        above=value.get("exclusiveMinimum"),
        most=value.get("maximum"),
        choices=tuple(value.get("enum", below.get("enum", ()))),
        optional=len(either) > 1,
        default=to_json_value(field.get_default(call_default_factory=True)),
        takes=takes(field),
        by_hand=by_hand(field),
        on_page=on_page,
    )


def _kind(value: Mapping[str, Any]) -> Kind:
    if value["type"] == "string":
        return Kind.SECRET if value.get("writeOnly") else Kind.CHOICE if "enum" in value else Kind.TEXT
    if value["type"] == "array":
        return Kind.CHOICES if "enum" in value["items"] else Kind.LIST
    if value["type"] == "object":
        return Kind.PRICES if "$ref" in value["additionalProperties"] else Kind.MAPPING
    return {"boolean": Kind.SWITCH, "integer": Kind.WHOLE, "number": Kind.NUMBER}[value["type"]]
