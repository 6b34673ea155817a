"""`--reload` and `--notify-test`: new settings for a daemon that runs, and a try of how it would tell its owner."""

from __future__ import annotations

import asyncio

from client.asked import Asked
from client.blocks import Cell
from client.exits import Exit
from client.session import Session
from core.clock import utc_now
from core.errors import ConfigError


def reload(session: Session, _: Asked) -> int:
    """Have the daemon read its settings and tasks.yaml again."""
    done = session.door.reload()
    if session.out.as_json:
        session.out.document(done.model_dump_json())
        return Exit.OK
    session.out.line(Cell(f"changed: {', '.join(done.changed)}" if done.changed else "nothing has changed"))
    for each in done.later:
        session.out.note(f"{each.name} needs a restart; until then it is {each.holds}")
    return Exit.OK


def notify_test(session: Session, _: Asked) -> int:
    """Send one notice in each way that is set.

    Raises:
        ConfigError: none is set.
    """
    from bootstrap.notices import channels, send_test  # noqa: PLC0415  # the queue and the database come with it

    ways = channels(session.settings)
    if not ways.names:
        raise ConfigError(["notify_command, notify_desktop, notify_url: none is set, so nobody would be told"])
    faults = asyncio.run(send_test(ways, "with cli.py --notify-test", utc_now))
    if session.out.as_json:
        session.out.mapping({"told": [name for name, fault in faults.items() if not fault], "faults": dict(faults)})
    else:
        for name, fault in faults.items():
            session.out.line(Cell(f"{name}: {fault or 'told'}"))
    return Exit.FAILED if any(faults.values()) else Exit.OK
