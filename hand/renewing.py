"""`--reload` and `--notify-test`: new settings for a daemon that runs, and a try of how it would tell its owner."""

from __future__ import annotations

import asyncio

from core.clock import utc_now
from core.errors import ConfigError
from hand.asked import Asked
from hand.blocks import Cell
from hand.exits import Exit
from hand.hand import Hand


def reload(hand: Hand, _: Asked) -> int:
    """Have the daemon read its settings and tasks.yaml again."""
    done = hand.door.reload()
    if hand.out.as_json:
        hand.out.document(done.model_dump_json())
        return Exit.OK
    hand.out.line(Cell(f"changed: {', '.join(done.changed)}" if done.changed else "nothing has changed"))
    for each in done.later:
        hand.out.note(f"{each.name} needs a restart; until then it is {each.holds}")
    return Exit.OK


def notify_test(hand: Hand, _: Asked) -> int:
    """Send one notice in each way that is set.

    Raises:
        ConfigError: none is set.
    """
    from assembly.notices import channels, tried  # noqa: PLC0415  # the queue and the database come with it

    ways = channels(hand.settings)
    if not ways.names:
        raise ConfigError(["notify_command, notify_desktop, notify_url: none is set, so nobody would be told"])
    faults = asyncio.run(tried(ways, "with cli.py --notify-test", utc_now))
    if hand.out.as_json:
        hand.out.mapping({"told": [name for name, fault in faults.items() if not fault], "faults": dict(faults)})
    else:
        for name, fault in faults.items():
            hand.out.line(Cell(f"{name}: {fault or 'told'}"))
    return Exit.FAILED if any(faults.values()) else Exit.OK
