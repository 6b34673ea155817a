"""Commits in the owner's hands: which wait to be read, which he has read, and what he takes back."""

from __future__ import annotations

import asyncio
import re
import sys
from shlex import quote

import click

from hand.asked import Action, Asked
from hand.blocks import Block, Cell, Lines, Table, Tone, cell, stamp
from hand.door import Marking
from hand.exits import Exit
from hand.hand import Hand
from server.commits import CommitRow, Commits, Taken

LABELS = {"verified": Tone.GOOD, "tests_passed": Tone.PLAIN}
WHAT_TO_DO = (
    "keep it:       cli.py --reviewed TASK   (or a commit, or all)",
    "take it back:  cli.py --revert TASK     (a branch that was left for you: git branch -D)",
)


def unread(hand: Hand, asked: Asked) -> int:
    """List what was not read yet, newest first."""
    found = hand.door.commits(unread=True, limit=asked.count)
    hand.answer(found, _listed(hand, found))
    return Exit.OK


def reviewed(hand: Hand, asked: Asked) -> int:
    """Mark commits as read."""
    done = hand.door.review(marking_of(asked.name))
    count = len(done.commits)
    told = f"{count} commit{'' if count == 1 else 's'} marked as read" if count else "nothing of that was unread"
    hand.answer_line(done, Cell(f"{told}, {done.unread} left"))
    return Exit.OK


def revert(hand: Hand, asked: Asked) -> int:
    """Take back what a task integrated, or bring it back."""
    return _take_back(hand, asked.task_id, force=asked.force, reapply=asked.action is Action.REAPPLY)


def undo(hand: Hand, asked: Asked) -> int:
    """Take back what was integrated last, after saying what that is."""
    newest = next(iter(hand.door.commits(standing=True, limit=1).commits), None)
    if newest is None:
        hand.out.note("nothing that was integrated is left to take back")
        return Exit.NOT_FOUND
    hand.out.note(_told(hand, newest))
    if not (asked.yes or _agreed()):
        hand.out.note("nothing was changed")
        return Exit.OK
    return _take_back(hand, newest.task_id, force=asked.force, reapply=False)


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


def _take_back(hand: Hand, task_id: int, *, force: bool, reapply: bool) -> int:
    if hand.door.live:
        done = hand.door.revert(task_id, force, reapply)
    else:
        from assembly.undoing import revert_alone  # noqa: PLC0415  # the other actions need none of it

        made = asyncio.run(revert_alone(task_id, hand.settings, force=force, reapply=reapply))
        done = Taken.model_validate(made)
    what = "brought back" if done.reapplied else "taken back"
    hand.answer_line(done, Cell(f"task {done.task_id} {what}: {done.by[:10]} on {done.branch} of {done.repo}"))
    if not hand.out.as_json:
        hand.out.note(done.judged)
    return Exit.OK


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError("--undo asks before it acts; say --yes where nobody can answer.")
    return click.confirm("Take it back?", default=False, err=True)


def _told(hand: Hand, row: CommitRow) -> str:
    at = stamp(row.at, local=hand.views.local).text
    return (
        f"the last that was integrated is task {row.task_id}, {row.commit[:10]} on {row.target or 'its branch'} of "
        f"{row.repo}, {at}: {row.subject}"
    )


def _listed(hand: Hand, found: Commits) -> list[Block]:
    if not found.commits:
        return [Lines(lines=[Cell("you have read every commit")])]
    rows = [
        [
            cell(row.task_id),
            cell(row.commit[:10]),
            cell(row.label.replace("_", " "), LABELS.get(row.label, Tone.WARN)),
            stamp(row.at, local=hand.views.local),
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
