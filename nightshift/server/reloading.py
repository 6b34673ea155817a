"""Reloads the settings on behalf of the API."""

from __future__ import annotations

from collections.abc import Mapping

from nightshift.config.reloaded import Reloaded
from nightshift.core.errors import ConfigError
from nightshift.server.context import AppContext, Busy

RELOAD_WALL_S = 30.0
FILES = frozenset({"config.yaml", "settings.overrides.yaml"})


def reload_settings(context: AppContext) -> Reloaded:
    """Have the daemon read its settings again.

    Raises:
        ConfigError: the new settings have faults; the old settings stay in effect.
        Busy: the reload takes too long, and may still finish.
    """
    try:
        return context.reload().result(RELOAD_WALL_S)
    except TimeoutError:
        raise Busy("the settings are still being read: the log shows when this is done") from None


def by_name(error: ConfigError) -> Mapping[str, str]:
    """Map the name of each faulty setting to its faults.

    If a fault concerns only a part of a setting, the path of that part is put in front of the text.
    """
    fields: dict[str, str] = {}
    for fault in error.faults:
        where, separator, why = fault.partition(": ")
        path = where.partition(" (")[0] if separator else "settings"
        name, _, below = (path, "", "") if path in FILES else path.partition(".")
        text = f"{below}: {why}" if below else why or fault
        fields[name] = f"{fields[name]}; {text}" if name in fields else text
    return fields
