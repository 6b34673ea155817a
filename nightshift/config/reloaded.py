"""The result of reloading the settings while the daemon runs."""

from __future__ import annotations

from dataclasses import dataclass

OVERRULED = "what the settings page has set overrules config.yaml"
HOW_TO_REMOVE = "remove it on that page, or its line from settings.overrides.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A changed setting that needs a restart. `holds` is the value in force until the restart, with secrets masked."""

    name: str
    holds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """The result of reloading the settings: the names that changed, and the settings that need a restart.

    `overruled` names the settings that the settings page sets to another value than `config.yaml` does.
    """

    changed: tuple[str, ...] = ()
    later: tuple[Later, ...] = ()
    overruled: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The result as a sentence for the log and the owner."""
        parts = [f"changed: {', '.join(self.changed)}"] if self.changed else []
        if self.later:
            parts.append("after a restart: " + ", ".join(f"{each.name} (still {each.holds})" for each in self.later))
        if self.overruled:
            parts.append(f"{', '.join(self.overruled)}: {OVERRULED}")
        return "settings read again; " + ("; ".join(parts) or "nothing has changed")
