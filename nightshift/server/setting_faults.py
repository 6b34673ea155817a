"""Names the faults of settings for the API."""

from __future__ import annotations

from collections.abc import Mapping

from nightshift.core.errors import ConfigError

FILES = frozenset({"config.yaml", "settings.overrides.yaml"})


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
