"""The help of all commands, on one screen of 80 columns and 40 lines."""

from __future__ import annotations

from collections.abc import Iterable

import click

from nightshift.client.commands import Command, Group, Section
from nightshift.core.program import typed

COLUMN = 22
"""Characters of the column of names."""


def write_screen(commands: Iterable[click.Command], formatter: click.HelpFormatter) -> None:
    """Write the headings with their commands, in the order of declaration."""
    listed = [command for command in commands if isinstance(command, Command | Group) and command.listed]
    formatter.write(f'Usage: {typed("COMMAND")} …   or a task: {typed("")}"what is to be done"\n')
    for section in Section:
        formatter.write(f"{section}\n")
        for command in listed:
            if command.section is section:
                text = (command.short_help or command.help or "").rstrip(".")
                formatter.write(f"  {command.listed:<{COLUMN}}{text}\n")
    formatter.write(
        f"Each takes --json, --no-color, --home FOLDER; {typed('help add')} tells more.\n"
        "Typed alone it opens a prompt. While no daemon runs, tasks wait in the queue.\n"
    )
