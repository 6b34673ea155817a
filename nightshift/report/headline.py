"""The figures for a glance, and what the owner is needed for."""

from __future__ import annotations

from nightshift.core.shares import Share
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Spent
from nightshift.core.text.formats import tokens
from nightshift.report import brief
from nightshift.report.brief import Figures
from nightshift.report.figures import Summary
from nightshift.report.risk import Level
from nightshift.report.stored import Fact
from nightshift.report.wording import cost, many, number, percent


def facts(summary: Summary) -> list[Fact]:
    """Figures for a glance."""
    tasks, commits, spent = summary.tasks, summary.commits, summary.usage.cost
    done = tasks.count(Status.DONE)
    first_try = Share(tasks.first_try, done)
    return [
        Fact(name="tasks done", shown=number(done), value=float(done), wanted=1),
        Fact(name="succeeded", shown=percent(tasks.success), value=tasks.success.value, wanted=1),
        Fact(name="at the first try", shown=percent(first_try), value=first_try.value, wanted=1),
        Fact(name="commits", shown=number(commits.total.commits), value=float(commits.total.commits)),
        Fact(name="tokens", shown=tokens(spent.tokens), value=float(spent.tokens)),
        Fact(name="cost", shown=cost(spent), value=spent.usd if spent.known else None, wanted=-1),
        Fact(name="to read", shown=number(commits.unread), value=float(commits.unread), wanted=-1),
    ]


def in_brief(summary: Summary) -> str:
    """The span in one line, in the words of the morning brief; everything as it stood at the span's end."""
    tasks, commits, spend = summary.tasks, summary.commits, summary.usage.cost
    standing = [one.commit for one in commits.ranked if not (one.commit.reverted or one.commit.discarded)]
    spent = Spent(model_calls=summary.usage.calls, cost_usd=spend.usd, unpriced=int(spend.unpriced_tokens > 0))
    return brief.line(
        Figures(
            landed=sum(commit.integrated for commit in standing),
            on_branch=sum(not commit.integrated for commit in standing),
            drafts=len(summary.drafts),
            failed=tasks.count(Status.FAILED),
            common=max((len(cause.tasks) for cause in tasks.causes), default=0),
            spent=spent,
            needs=summary.guards.asks.still_open,
            unread=commits.unread,
        )
    )


def needs(summary: Summary) -> list[str]:
    """List the matters that wait for the owner."""
    asks, failed = summary.guards.asks.still_open, summary.tasks.count(Status.FAILED)
    found = [
        _to_read(summary),
        many(asks, "decision") if asks else "",
        many(failed, "failed task") if failed else "",
        _held(summary),
    ]
    return list(filter(None, found))


def _to_read(summary: Summary) -> str:
    unread, high = summary.commits.unread, summary.commits.unread_at(Level.HIGH)
    older = summary.commits.unread_before
    if not unread:
        return f"{many(older, 'older commit')} to read" if older else ""
    more = [f"{number(high)} of high risk"] * bool(high) + [f"{number(older)} older ones besides"] * bool(older)
    return f"{many(unread, 'commit')} to read" + (f" ({', '.join(more)})" if more else "")


def _held(summary: Summary) -> str:
    """Name the work that waits for its owner; a checkpoint is held by every report that it writes."""
    standing = summary.daemon.standing
    if PauseSource.OWNER in standing or PauseSource.CHECKPOINT in standing:
        return "work to be resumed"
    return "work that waits until commits are read" if PauseSource.REVIEW in standing else ""
