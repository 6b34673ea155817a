"""`nightshift verify` and `nightshift proof`: verify a commit again, and write its proof to a file.

Both commands work with and without a daemon.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import click

from nightshift.app.proof import make_proof
from nightshift.app.verify import verify_commit
from nightshift.attempt.verify import Check, Judgement, Report, Standing
from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Fields, Lines, Table, Tone, cell
from nightshift.client.session import Session
from nightshift.config.places import is_held
from nightshift.core.errors import NightshiftError
from nightshift.core.tasks.verdicts import Label
from nightshift.storage.files.whole import write_whole

_POLL_S = 0.2
_VERIFY_CODES: Mapping[str, Exit] = {
    "holds": Exit.OK, "does not hold": Exit.FAILED, "a draft": Exit.FAILED, "not verified": Exit.REFUSED,
}  # fmt: skip
_VERIFY_TONES: Mapping[str, Tone] = {
    "ok": Tone.GOOD,
    "CHANGED": Tone.WARN,
    "FAILED": Tone.BAD,
    "not checked": Tone.DIM,
    "holds": Tone.GOOD,
    "does not hold": Tone.BAD,
    "not verified": Tone.WARN,
    "a draft": Tone.WARN,
}


def verify(session: Session, name: str, repo: str) -> int:
    """Verify a commit again, in a warm sandbox of the daemon if a daemon runs, otherwise in a sandbox of this process.

    Returns 0 if the commit still holds, 1 if it does not hold or is a draft, and 5 if nothing could be run.

    Raises:
        UnknownCommit: there is no such commit.
        AmbiguousName: several commits match the name.
        NoEvidence: the commit has no evidence note.
        GitError: the repository cannot be used.
    """
    report = None if repo else ask_daemon(session, name)
    if report is None:
        report = asyncio.run(verify_commit(name, Path(repo) if repo else None, session.settings))
    session.print(_report_fields(report), _report_blocks(report))
    return _VERIFY_CODES[str(report.judgement)]


def ask_daemon(session: Session, name: str) -> Report | None:
    """Have the daemon verify a commit of its ledger.

    Returns None if no daemon runs. Also returns None if the daemon does not know the commit, is verifying another one,
    or is stopping.
    """
    if not is_held(session.access.places.lock_file):
        return None
    try:
        named = session.get("/api/resolve", name=name)
        if named.commit is None or named.by == "branch":  # the branch may have moved since the daemon stored its commit
            return None
        path = f"/api/commit/{named.commit}"
        state = session.post(f"{path}/verify")
        began = state.run and state.run.since
        try:
            while state.run:
                time.sleep(_POLL_S)
                state = session.get(f"{path}/verification")
        except KeyboardInterrupt:
            with suppress(NightshiftError):  # the verification may have ended just now
                session.post(f"{path}/verify/cancel")
            raise
    except NightshiftError:  # This process will verify the commit instead, and report the error.
        return None
    last = state.last
    if not (began and last) or datetime.fromisoformat(last.at) < datetime.fromisoformat(began):
        return None  # the verification was cancelled
    return Report(
        commit=named.commit,
        subject=named.title,
        task=named.task_id,
        label=Label(named.label) if named.label else None,
        checks=tuple(Check(what=c.what, standing=Standing(c.standing), detail=c.detail) for c in last.checks),
        ran=last.judgement != Judgement.UNKNOWN,
        duration_s=last.took_s,
        is_draft=last.judgement == Judgement.DRAFT,
    )


def proof(session: Session, name: str, repo: str, out: Path | None) -> int:
    """Write the proof of a commit to a file, without the daemon.

    Raises:
        UnknownCommit: there is no such commit.
        AmbiguousName: several commits match the name.
        NoEvidence: the commit has no evidence note.
        GitError: the repository cannot be used.
        click.UsageError: the file cannot be written.
    """
    page = make_proof(name, Path(repo) if repo else None, session.settings)
    file = out or Path(page.name)
    try:
        write_whole(file, page.html)
    except OSError as error:
        raise click.UsageError(f"{file} cannot be written: {error.strerror}; name another with --out.") from None
    session.print({"file": str(file), "bytes": len(page.html.encode())}, Cell(f"written to {file}"))
    return Exit.OK


def _report_blocks(report: Report) -> list[Block]:
    rows = [
        [cell(check.standing, _VERIFY_TONES[check.standing]), cell(check.what), Cell(check.detail)]
        for check in report.checks
    ]
    return [
        Fields(pairs=[("commit", cell(report.commit)), ("subject", cell(report.subject)), ("task", cell(report.task))]),
        Table(head=("result", "what", "found"), rows=rows),
        Lines(lines=[Cell(report.sentence, _VERIFY_TONES[report.judgement])]),
    ]


def _report_fields(report: Report) -> Mapping[str, object]:
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
