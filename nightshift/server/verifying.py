"""A commit that is verified again, as the API shows it: what runs now, and how the last one ended."""

from __future__ import annotations

from collections.abc import Sequence

from nightshift.attempt.verify import Check, Judgement, Standing
from nightshift.attempt.verifying import Verified
from nightshift.core.clock import Moment
from nightshift.server.context import AppContext
from nightshift.server.formatting import Mask, short
from nightshift.server.schemas import Answer
from nightshift.storage.db.state_store import Commit


class CheckLine(Answer):
    """One thing that was looked at: `CHANGED` is other than then and refutes nothing, `FAILED` refutes."""

    what: str
    standing: Standing
    detail: str


class Run(Answer):
    """A verification that runs: since when, what it does now, and the checks that it has come to."""

    since: Moment
    doing: str
    checks: list[CheckLine]


class Outcome(Answer):
    """How one ended. `took_s` is the whole time from the request on; `sentence` is the judgement with its reason."""

    judgement: Judgement
    sentence: str
    at: Moment
    took_s: float
    checks: list[CheckLine]


class Verification(Answer):
    """Verification of a commit: `run` is null while none runs, `last` where none has ended.

    `busy_with` is the task whose commit is verified instead, null where none is: there is one slot.
    """

    commit: str
    run: Run | None
    last: Outcome | None
    busy_with: int | None


def verification(context: AppContext, entry: Commit) -> Verification:
    """Describe the verification of a commit of the ledger."""
    (now, last), mask = context.verifying.standing(entry), context.mask
    mine = now if now and now.commit == entry.commit else None
    return Verification(
        commit=entry.commit,
        run=Run.from_values(mine, checks=_lines(mine.checks, mask)) if mine else None,
        last=_outcome(last, mask) if last else None,
        busy_with=now.task_id if now and not mine else None,
    )


def _outcome(last: Verified, mask: Mask) -> Outcome:
    return Outcome.from_values(last, sentence=short(last.sentence, mask), checks=_lines(last.checks, mask))


def _lines(checks: Sequence[Check], mask: Mask) -> list[CheckLine]:
    return [CheckLine.from_values(check, detail=short(check.detail, mask)) for check in checks]
