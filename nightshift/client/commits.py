"""Implements the commands for commits: list, show, mark as read, integrate, discard, revert and reapply."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from nightshift.client.changes import diff_blocks
from nightshift.client.errors import Exit, NotFound
from nightshift.client.output import Block, Cell, Lines, Table, Tone, cell, cells
from nightshift.client.session import Session
from nightshift.core.errors import IllegalMove
from nightshift.core.program import format_command

COMMIT_WALL_S = 960.0
"""Timeout in seconds. It is a little longer than the daemon waits for the tests (`server.context.COMMIT_WALL_S`)."""
LABELS = {"verified": Tone.GOOD, "tests_passed": Tone.PLAIN}


def review(session: Session, what: str | None, *, read: bool, limit: int) -> int:
    """List the unread commits or, given a name, show the change of one commit.

    On a terminal, then ask whether to mark that commit as read.

    Raises:
        NotFound: no commit matches the name.
        click.UsageError: `read` was given without a name.
    """
    if what is None:
        if read:
            raise click.UsageError(
                f"say which commits you have read: {format_command('review 7 --read')}, a commit, or all."
            )
        return unread(session, limit)
    if read or what == "all":
        return mark_reviewed(session, what)
    row = _find_commit(session, what)
    difference = session.get(f"/api/task/{row.task_id}/diff")
    if session.out.as_json:
        session.print(difference, [])
        return Exit.OK
    session.out.blocks([_table(session, [row]), *_list_left_open([row]), *diff_blocks(difference)])
    asks = row.reviewed_at is None and sys.stdin.isatty() and sys.stdout.isatty()
    if asks and click.confirm("Mark it as read?", default=True, err=True):
        return mark_reviewed(session, what)
    return Exit.OK


def _find_commit(session: Session, name: str) -> Any:
    named = session.get("/api/resolve", name=name)
    rows = session.get("/api/commits", task=named.task_id).commits
    row = next((row for row in rows if row.commit == named.commit), None)
    if row is None:
        raise NotFound(f"task {named.task_id} made no commit")
    return row


def unread(session: Session, count: int) -> int:
    """List the commits that the owner has not read, the riskiest first."""
    answer = session.get("/api/commits", unread=1, limit=count, order="risk")
    session.print(answer, _list(session, answer))
    return Exit.OK


def mark_reviewed(session: Session, which: str) -> int:
    """Mark commits as read: the commits of a task, one commit by the beginning of its id, or `all`.

    Raises:
        NotFound: no task or commit matches.
    """
    if which == "all":
        done = session.post("/api/commits/reviewed", {"all": True})
    else:
        named = session.get("/api/resolve", name=which)
        if named.by == "commit" and named.commit:
            done = session.post("/api/commits/reviewed", {"commit": named.commit})
        else:
            done = session.post(f"/api/task/{named.task_id}/reviewed")
    count = len(done.commits)
    marked = f"{count} commit{'' if count == 1 else 's'} marked as read" if count else "none of it was unread"
    session.print(done, Cell(f"{marked}, {done.unread} left"))
    return Exit.OK


def integrate(session: Session, name: str, *, force: bool = False) -> int:
    """Integrate the commit that waits on the branch of a task."""
    done = _act(session, name, "integrate", force=force)
    what = "is integrated already" if done.already else "integrated"
    session.print(done, Cell(f"task {done.task_id} {what}: {done.commit[:10]} on {done.target} of {done.repo}"))
    if not session.out.as_json:
        ended = f"other forks ended: {', '.join(f'task {each}' for each in done.ended)}" if done.ended else ""
        for text in filter(None, (done.judged, ended)):
            session.out.note(text)
    return Exit.OK


def discard(session: Session, name: str) -> int:
    """Remove the branch on which a commit of a task waits."""
    done = _act(session, name, "discard")
    what = "is gone already" if done.already else "removed"
    session.print(done, Cell(f"task {done.task_id} discarded: branch {done.branch} of {done.repo} {what}"))
    if not session.out.as_json:
        session.out.note(f"to make it again: {done.undo}")
        if done.is_at_remote:
            session.out.note("the remote still has the branch")
    return Exit.OK


def revert(session: Session, name: str, *, force: bool = False, reapply: bool = False) -> int:
    """Revert what a task integrated or, with `reapply`, reapply what was reverted."""
    done = _act(session, name, "revert", force=force, reapply=reapply)
    what = "reapplied" if done.reapplied else "reverted"
    session.print(done, Cell(f"task {done.task_id} {what}: {done.by[:10]} on {done.branch} of {done.repo}"))
    if not session.out.as_json:
        session.out.note(done.judged)
    return Exit.OK


def _act(session: Session, name: str, action: str, **body: bool) -> Any:
    return session.post(f"/api/task/{_task_of(session, name)}/{action}", body, wall_s=COMMIT_WALL_S)


def _task_of(session: Session, name: str) -> int:
    """Return the id of the task that a name stands for; the caller then acts on the task's newest commit.

    Raises:
        IllegalMove: the name is an older commit of the task, on which no action is possible.
    """
    named = session.get("/api/resolve", name=name)
    if named.by == "commit" and named.commit != named.newest:
        newest = (named.newest or "")[:10]
        raise IllegalMove(f"{name} is not the newest commit of task {named.task_id}, which is {newest}")
    return int(named.task_id)


def undo(session: Session, *, force: bool, yes: bool) -> int:
    """Revert the commit that was integrated last.

    The commit is shown first and, unless `yes` is set, the user is asked.
    """
    newest = next(iter(session.get("/api/commits", standing=1, limit=1).commits), None)
    if newest is None:
        session.out.note("no integrated commit is left to revert")
        return Exit.NOT_FOUND
    session.out.note(_describe(session, newest))
    if not (yes or _confirm()):
        session.out.note("nothing was changed")
        return Exit.OK
    return revert(session, f"#{newest.task_id}", force=force)


def _confirm() -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError("undo asks before it acts; give --yes if nobody can answer.")
    return click.confirm("Revert it?", default=False, err=True)


def _describe(session: Session, row: Any) -> str:
    at = session.views.at(row.at).text
    return (
        f"the last integrated commit is of task {row.task_id}, {row.commit[:10]} on {row.target or 'its branch'} of "
        f"{row.repo}, {at}: {row.subject}"
    )


def _list(session: Session, answer: Any) -> list[Block]:
    if not answer.commits:
        return [Lines(lines=[Cell("you have read every commit")])]
    left = answer.unread - len(answer.commits)
    more = [Lines(lines=[Cell(f"and {left} more", Tone.DIM)])] if left > 0 else []
    return [
        _table(session, answer.commits),
        *_list_left_open(answer.commits),
        *more,
        Lines(lines=[Cell(line) for line in _what_to_do()]),
    ]


def _what_to_do() -> list[str]:
    return [
        f"look at it:    {format_command('review TASK')}",
        f"keep it:       {format_command('review TASK --read')}   (or a commit, or all)",
        f"revert it:     {format_command('revert TASK')}",
        f"on a branch:   {format_command('integrate TASK')}       (or {format_command('discard TASK')})",
    ]


def _list_left_open(rows: Sequence[Any]) -> list[Block]:
    """List the readers' findings that were still open when each commit was made.

    Readers are models that review or audit a change.
    """
    left = [
        Cell(
            f"{row.task_id}: left open: {remark.severity} ({remark.reader}): {remark.place}: {remark.reason}", Tone.BAD
        )
        for row in rows
        for remark in row.remarks
    ]
    return [Lines(lines=left)] if left else []


def _table(session: Session, commits: Sequence[Any]) -> Table:
    rows = [
        cells(row.task_id, row.commit[:10], _label(row), session.views.at(row.at),
              row.target if row.integrated else cell(row.branch, Tone.WARN), row.subject)
        for row in commits
    ]  # fmt: skip
    return Table(head=("task", "commit", "label", "made", "on", "subject"), rows=rows, spare=("made", "on"))


def _label(row: Any) -> Cell:
    label = row.label.replace("_", " ")
    return cell(f"{label}, findings", Tone.BAD) if row.remarks else cell(label, LABELS.get(row.label, Tone.WARN))
