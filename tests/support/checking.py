"""Adapts the command hooks to the interface that the static checker expects of its scanners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.hooks.commands import Command
from nightshift.verdict.checks.hooks.hooks import CommandHooks


def hooks(commands: Sequence[Command]) -> Iterable[Finding]:
    refused = CommandHooks().blocked(commands, in_code=True)
    return [Finding(blocked.rule, 0, "", blocked.why, blocked.argv) for blocked in refused]
