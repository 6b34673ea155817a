"""Each declared command has exactly one implementation, in the client or in the application."""

from __future__ import annotations

from collections.abc import Iterator

import click

from nightshift.app.commands.table import ACTIONS as OF_APPLICATION
from nightshift.client.actions import ACTIONS as OF_CLIENT
from nightshift.client.command import commands

OF_NONE = {"help", "version", "completion"}


def names(group: click.Group, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from names(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def test_every_command_has_an_action_and_every_action_a_command() -> None:
    assert {*OF_CLIENT, *OF_APPLICATION, *OF_NONE} == set(names(commands()))
    assert set(OF_CLIENT) & set(OF_APPLICATION) == {"run"}, "which goes on here while no daemon runs"
