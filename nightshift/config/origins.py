"""Where the value of a setting comes from; the later one of these overrules the earlier."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """A source of settings."""

    DEFAULT = "default"
    FILE = "config.yaml"
    PAGE = "page"
    DOTENV = ".env"
    ENVIRONMENT = "environment"
