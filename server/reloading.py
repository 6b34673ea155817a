"""Reading the settings again, as the API says it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from core.errors import ConfigError
from server.context import AppContext, Busy
from server.schemas import Answer
from server.settings_answers import Waits

RELOAD_WALL_S = 30.0
FILES = frozenset({"config.yaml", "settings.overrides.yaml"})


class Renewed(Answer):
    """Names of the settings that were changed and hold now (`changed`), and of those that wait for a restart.

    `overruled` are those of which `config.yaml` says something else than the settings page, which is what holds.
    """

    changed: list[str]
    later: list[Waits]
    overruled: list[str] = Field(default_factory=list)


def renewed(context: AppContext) -> Renewed:
    """Have the daemon read its settings again.

    Raises:
        ConfigError: they have faults, and the old ones still hold.
        Busy: it takes too long, and may still be done.
    """
    try:
        return Renewed.model_validate(context.reload().result(RELOAD_WALL_S))
    except TimeoutError:
        raise Busy("the settings are still being read: the log tells when it is done") from None


def by_name(error: ConfigError) -> Mapping[str, str]:
    """The faults by the names of their settings, as the fields of an error; what lies deeper is in the text alone."""
    fields: dict[str, str] = {}
    for fault in error.faults:
        where, found, why = fault.partition(": ")
        path = where.partition(" (")[0] if found else "settings"
        name, _, below = (path, "", "") if path in FILES else path.partition(".")
        text = f"{below}: {why}" if below else why or fault
        fields[name] = f"{fields[name]}; {text}" if name in fields else text
    return fields
