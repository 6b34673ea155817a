"""The command hooks as the scanners of the static checker take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from checks.hooks.commands import Command
from checks.hooks.hooks import CommandHooks
from checks.sighting import Sighting


def hooks(commands: Sequence[Command]) -> Iterable[Sighting]:
    found = CommandHooks().blocked(commands, in_code=True)
    return [Sighting(blocked.rule, 0, "", blocked.why, blocked.argv) for blocked in found]
