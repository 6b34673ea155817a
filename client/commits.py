"""Commits in the owner's hands: which wait to be read, which he has read, and what he takes back."""

from __future__ import annotations

import asyncio
import re
import sys
from shlex import quote

import click

from client.asked import Action, Asked
from client.blocks import Block, Cell, Lines, Table, Tone, cell, stamp
from client.door import Marking
from client.exits import Exit
from client.session import Session
from server.commits import CommitRow, Commits, Taken

LABELS = {"verified": Tone.GOOD, "tests_passed": Tone.PLAIN}
WHAT_TO_DO = (
    "keep it:       cli.py --reviewed TASK   (or a commit, or all)",
    "take it back:  cli.py --revert TASK     (a branch that was left for you: git branch -D)",
)


def unread(session: Session, asked: Asked) -> int:
    """List what was not read yet, newest first."""
    found = session.door.commits(unread=True, limit=asked.count)
    session.answer(found, _listed(session, found))
    return Exit.OK


def reviewed(session: Session, asked: Asked) -> int:
    """Mark commits as read."""
    done = session.door.review(marking_of(asked.name))
    count = len(done.commits)
    told = f"{count} commit{'' if count == 1 else 's'} marked as read" if count else "nothing of that was unread"
    session.answer_line(done, Cell(f"{told}, {done.unread} left"))
    return Exit.OK


def revert(session: Session, asked: Asked) -> int:
    """Take back what a task integrated, or bring it back."""
    return _take_back(session, asked.task_id, force=asked.force, reapply=asked.action is Action.REAPPLY)


def undo(session: Session, asked: Asked) -> int:
    """Take back what was integrated last, after saying what that is."""
    newest = next(iter(session.door.commits(standing=True, limit=1).commits), None)
    if newest is None:
        session.out.note("nothing that was integrated is left to take back")
        return Exit.NOT_FOUND
    session.out.note(_told(session, newest))
    if not (asked.yes or _agreed()):
        session.out.note("nothing was changed")
        return Exit.OK
    return _take_back(session, newest.task_id, force=asked.force, reapply=False)


def marking_of(name: str) -> Marking:
    """What `--reviewed` was given: digits alone are a task.

    Raises:
        click.UsageError: it is no task, no commit and not `all`.
    """
    if name == "all":
        return Marking()
    if re.fullmatch(r"[0-9]{1,18}", name, re.ASCII):
        return Marking(task_id=int(name))
    if re.fullmatch(r"[0-9a-fA-F]{4,64}", name):
        return Marking(commit=name.lower())
    raise click.UsageError(f"--reviewed takes a task's number, a commit (4 characters or more) or all, not {name!r}.")


def _take_back(session: Session, task_id: int, *, force: bool, reapply: bool) -> int:
    if session.door.live:
        done = session.door.revert(task_id, force, reapply)
    else:
        from bootstrap.revert import revert_alone  # noqa: PLC0415  # the other actions need none of it

        made = asyncio.run(revert_alone(task_id, session.settings, force=force, reapply=reapply))
        done = Taken.model_validate(made)
    what = "brought back" if done.reapplied else "taken back"
    session.answer_line(done, Cell(f"task {done.task_id} {what}: {done.by[:10]} on {done.branch} of {done.repo}"))
    if not session.out.as_json:
        session.out.note(done.judged)
    return Exit.OK


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError("--undo asks before it acts; say --yes where nobody can answer.")
    return click.confirm("Take it back?", default=False, err=True)


def _told(session: Session, row: CommitRow) -> str:
    at = stamp(row.at, local=session.views.local).text
    return (
        f"the last that was integrated is task {row.task_id}, {row.commit[:10]} on {row.target or 'its branch'} of "
        f"{row.repo}, {at}: {row.subject}"
    )


def _listed(session: Session, found: Commits) -> list[Block]:
    if not found.commits:
        return [Lines(lines=[Cell("you have read every commit")])]
    rows = [
        [
            cell(row.task_id),
            cell(row.commit[:10]),
            cell(row.label.replace("_", " "), LABELS.get(row.label, Tone.WARN)),
            stamp(row.at, local=session.views.local),
            cell(row.target or row.branch, Tone.PLAIN if row.integrated else Tone.WARN),
            cell(row.subject),
        ]
        for row in found.commits
    ]
    looks = [Cell(f"{row.task_id}: git -C {quote(row.repo)} show {row.commit[:10]}", Tone.DIM) for row in found.commits]
    more = [Cell(f"and {found.unread - len(found.commits)} more", Tone.DIM)] if found.next_after else []
    return [
        Table(head=("task", "commit", "label", "made", "on", "subject"), rows=rows),
        Lines(lines=[*looks, *more]),
        Lines(lines=[Cell(line) for line in WHAT_TO_DO]),
    ]
