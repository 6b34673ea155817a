"""The sources of a setting's value; each overrides the ones before it."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """A source of settings."""

    DEFAULT = "default"
    FILE = "config.yaml"
    PAGE = "page"
    DOTENV = ".env"
    ENVIRONMENT = "environment"
