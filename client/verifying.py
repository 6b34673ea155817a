"""`cli.py verify COMMIT`: looks at a commit again and shows what still holds.

It needs neither the daemon nor its database: it reads the repository, and runs in a sandbox of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from client.asked import Asked
from client.blocks import Block, Cell, Fields, Lines, Table, Tone, cell
from client.exits import Exit
from client.session import Session

if TYPE_CHECKING:
    from attempt.verify import Report


def verify(session: Session, asked: Asked) -> int:
    """Look at a commit again; 0 when it holds, 1 when it does not, 5 when nothing could be run.

    Raises:
        UnknownCommit: there is no such commit.
        NoEvidence: it has no note.
        GitError: the repository cannot be used.
    """
    from bootstrap.verify import verify_commit  # noqa: PLC0415  # the other actions need none of it

    repo = Path(asked.repo) if asked.repo else None
    report = asyncio.run(verify_commit(asked.name, repo, session.settings))
    if session.out.as_json:
        session.out.mapping(_plain(report))
    else:
        session.out.blocks(_blocks(report))
    return _CODES[str(report.judgement)]


_CODES: Mapping[str, Exit] = {"holds": Exit.OK, "does not hold": Exit.FAILED, "not verified": Exit.REFUSED}
_TONES: Mapping[str, Tone] = {
    "ok": Tone.GOOD,
    "CHANGED": Tone.WARN,
    "FAILED": Tone.BAD,
    "not checked": Tone.DIM,
    "holds": Tone.GOOD,
    "does not hold": Tone.BAD,
    "not verified": Tone.WARN,
}


def _blocks(report: Report) -> list[Block]:
    rows = [
        [cell(check.standing, _TONES[check.standing]), cell(check.what), Cell(check.detail)] for check in report.checks
    ]
    return [
        Fields(pairs=[("commit", cell(report.commit)), ("subject", cell(report.subject)), ("task", cell(report.task))]),
        Table(head=("result", "what", "found"), rows=rows),
        Lines(lines=[Cell(report.sentence, _TONES[report.judgement])]),
    ]


def _plain(report: Report) -> Mapping[str, object]:
    checks = [{"what": c.what, "result": str(c.standing), "detail": c.detail} for c in report.checks]
    return {
        "commit": report.commit,
        "subject": report.subject,
        "task_id": report.task,
        "label": report.label and str(report.label),
        "holds": report.judgement == "holds",
        "judgement": report.sentence,
        "duration_s": round(report.duration_s, 3),
        "checks": checks,
    }
