"""The command hooks as the scanners of the static checker take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from checks.catalogue import Finding
from checks.hooks.commands import Command
from checks.hooks.hooks import CommandHooks


def hooks(commands: Sequence[Command]) -> Iterable[Finding]:
    found = CommandHooks().blocked(commands, in_code=True)
    return [Finding(blocked.rule, 0, "", blocked.why, blocked.argv) for blocked in found]
