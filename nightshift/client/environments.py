"""The environments of repositories, as they are kept."""

from __future__ import annotations

from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Table, Tone, cell, stamp
from nightshift.client.session import Session


def environments(session: Session) -> int:
    """List them, with what was left out of each."""
    found = session.client.environments()
    head = ("environment", "for", "packages", "MB", "used", "declared by")
    rows = [
        [
            cell(one.name),
            cell(": ".join((one.interpreter or one.kind, *([", ".join(one.services)] if one.services else [])))),
            cell(len(one.packages)),
            cell(round(one.size_bytes / 2**20)),
            stamp(one.used_at, short=session.views.short),
            cell(", ".join(one.sources)),
        ]
        for one in found.environments
    ]
    left_out = [Cell(f"{one.name}: {remark}", Tone.DIM) for one in found.environments for remark in one.remarks]
    blocks: list[Block] = [Table(head=head, rows=rows, spare=("used", "packages", "MB"))] if rows else []
    lines = left_out if rows else [Cell("no environment was made yet")]
    session.print(found, [*blocks, *([Lines(lines=lines)] if lines else [])])
    return Exit.OK
