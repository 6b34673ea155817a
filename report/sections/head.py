"""The head: the week in three sentences, and figures for a glance."""

from __future__ import annotations

from core.queueing import PauseSource
from core.shares import Share
from core.states import Status
from report.document import Fact, Line, line, strong
from report.figures import Summary
from report.risk import Level
from report.wording import duration, join, least, many, number, percent, tokens, usd


def lead(summary: Summary) -> list[Line]:
    """What was done, what it cost, what needs you."""
    return [_done(summary), _spent(summary), _needs(summary)]


def facts(summary: Summary) -> list[Fact]:
    """Figures for a glance."""
    tasks, commits, spent = summary.tasks, summary.commits, summary.usage.cost
    done = tasks.count(Status.DONE)
    first_try = Share(tasks.first_try, done)
    cost = least(spent).removesuffix(" USD")
    return [
        Fact(name="tasks done", shown=number(done), value=float(done), wanted=1),
        Fact(name="succeeded", shown=percent(tasks.success), value=tasks.success.value, wanted=1),
        Fact(name="at the first try", shown=percent(first_try), value=first_try.value, wanted=1),
        Fact(name="commits", shown=number(commits.total.commits), value=float(commits.total.commits)),
        Fact(name="tokens", shown=tokens(spent.tokens), value=float(spent.tokens)),
        Fact(name="cost in USD", shown=cost, value=spent.usd if spent.known else None, wanted=-1),
        Fact(name="to read", shown=number(commits.unread), value=float(commits.unread), wanted=-1),
    ]


def _done(summary: Summary) -> Line:
    tasks, total = summary.tasks, summary.commits.total
    done = tasks.count(Status.DONE)
    if not tasks.ended:
        return line(f"No task ended; {many(tasks.submitted, 'task')} came in and {number(tasks.open_at_end)} are open.")
    lines = f", {number(total.added)} lines added and {number(total.removed)} removed" if total.commits else ""
    return line(
        strong(f"{number(done)} of {many(tasks.ended, 'task')} that ended were done"),
        f", {number(tasks.first_try)} of them at the first try; {many(total.commits, 'commit')} landed{lines}.",
    )


def _spent(summary: Summary) -> Line:
    found, usage = summary.usage.cost, summary.usage
    if not usage.models:
        return line("No model was called.")
    calls = sum(model.calls for model in usage.models)
    took = f"It took {duration(summary.tasks.work_s)} of work, {many(calls, 'reply', 'replies')} and "
    if not found.known:
        return line(took, strong(f"{tokens(found.tokens)} tokens, whose price is not known"), ".")
    rest = f" and what {tokens(found.unpriced_tokens)} tokens of unknown price cost" if found.unpriced_tokens else ""
    return line(took, f"{tokens(found.tokens)} tokens: ", strong(usd(found.usd)), f"{rest}.")


def _needs(summary: Summary) -> Line:
    needs = list(filter(None, [_to_read(summary), _to_decide(summary), _to_mend(summary), _held(summary)]))
    return line(strong("You are needed for"), f" {join(needs)}.") if needs else line("Nothing waits for you.")


def _to_read(summary: Summary) -> str:
    unread, high = summary.commits.unread, summary.commits.unread_at(Level.HIGH)
    older = summary.commits.unread_before
    if not unread and not older:
        return ""
    if not unread:
        return f"{many(older, 'older commit')} to read"
    more = [f"{number(high)} of high risk"] * bool(high) + [f"{number(older)} older ones besides"] * bool(older)
    return f"{many(unread, 'commit')} to read" + (f" ({', '.join(more)})" if more else "")


def _to_decide(summary: Summary) -> str:
    count = summary.guards.asks.still_open
    return f"{many(count, 'question')} to answer" if count else ""


def _to_mend(summary: Summary) -> str:
    failed = summary.tasks.count(Status.FAILED)
    return many(failed, "failed task") if failed else ""


def _held(summary: Summary) -> str:
    """What holds work back until its owner says so; a checkpoint is held by every report that it writes."""
    standing = summary.daemon.standing
    if PauseSource.OWNER in standing or PauseSource.CHECKPOINT in standing:
        return "work to be resumed"
    return "work that is held back until commits are read" if PauseSource.REVIEW in standing else ""
