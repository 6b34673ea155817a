"""The sources of a setting's value. Each source overrides the ones listed before it."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """A source of settings."""

    DEFAULT = "default"
    FILE = "config.yaml"
    PAGE = "page"
    DOTENV = ".env"
    ENVIRONMENT = "environment"
