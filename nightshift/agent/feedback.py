"""Formats a failing verdict as a short, selective text for a model.

The text has at most five distinct failures and about 1,500 tokens. Errors of collection and import come first, because
no other failure means anything until they are fixed. New failures come before failures that the last try also had. All
further failing tests are only named. One sentence says what changed since the last run, and one says how many tests
failed before the change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nightshift.agent.prompt.context import estimate_tokens
from nightshift.core.tasks.verdicts import Failure, Result, SuiteReport, Verdict
from nightshift.core.text.faults import name_first

MAX_FAILURES = 5
MAX_TOKENS = 1500
MAX_NAMES = 20
_FIRST = ("collect", "import", "modulenotfound", "syntax", "indentation", "timeout")


def shape(verdict: SuiteReport, before: Verdict | None = None) -> str:
    """Describe the failures: which tests failed, why, and where.

    Args:
        verdict: a failing verdict, or a trial.
        before: the previous try's verdict, for the comparison.
    """
    lines = (_counts(verdict), _reason(verdict), _delta(verdict, before), _baseline(verdict), _list_dropped(verdict))
    head = [line for line in lines if line]
    failing_before = before.failing if before else frozenset[str]()
    shown = _distinct(verdict.failures, failing_before)[:MAX_FAILURES]
    left = max(200, MAX_TOKENS - sum(map(estimate_tokens, head)))
    body = [_failure(n, failure, left // max(1, len(shown))) for n, failure in enumerate(shown, 1)]
    hidden = sorted(
        verdict.failing - {failure.id for failure in shown}, key=lambda name: (name in failing_before, name)
    )
    tail = [f"{'Also failing' if shown else 'Failing'}: {name_first(hidden, MAX_NAMES)}"] if hidden else []
    return "\n\n".join([" ".join(head), *body, *tail])


def headline(verdict: Verdict) -> str:
    """Return the first failure in one line, for reasons and notes."""
    failures = _distinct(verdict.failures)
    text = f"{failures[0].id}: {failures[0].kind}: {failures[0].message}" if failures else verdict.reason
    line = " ".join(text.split())
    return line if len(line) <= 240 else line[:239] + "…"


def delta(verdict: SuiteReport, before: Verdict | None) -> tuple[int, int, int] | None:
    """Return how many failures are fixed, new and the same since `before`; None if the runs cannot be compared."""
    if before is None or not before.results or not verdict.results:
        return None
    old, now = before.failing - verdict.not_reached, verdict.failing - before.not_reached
    return len(old - now), len(now - old), len(old & now)


def _delta(verdict: SuiteReport, before: Verdict | None) -> str:
    counts = delta(verdict, before)
    return "Since the last run: fixed {}, new {}, same {}.".format(*counts) if counts else ""


def _counts(verdict: SuiteReport) -> str:
    return f"{len(verdict.failing)} of {len(verdict.results)} tests failed." if verdict.failing else ""


def _reason(verdict: SuiteReport) -> str:
    """Return the verdict's own reason, unless it only repeats the counts."""
    reason = verdict.reason.strip()
    if verdict.failing and (not reason or reason[0].isdigit()):
        return ""
    return reason.rstrip(".") + "." if reason else "The tests did not pass."


def _baseline(verdict: SuiteReport) -> str:
    """Describe how many tests already failed before the change, and how many of these pass now."""
    count, mended = len(verdict.before), len(verdict.mended)
    left = f"{count} more failed before the change already and are not counted." if count else ""
    return " ".join(part for part in (left, f"{mended} that failed before pass now." if mended else "") if part)


def _list_dropped(verdict: SuiteReport) -> str:
    dropped = verdict.evidence.dropped if isinstance(verdict, Verdict) else {}
    return (
        "Not used: " + "; ".join(f"{path} ({why})" for path, why in list(dropped.items())[:5]) + "." if dropped else ""
    )


def _distinct(failures: Sequence[Failure], failing_before: Collection[str] = ()) -> list[Failure]:
    """Return one failure for each kind and location; failures that hide others come first, then new ones.

    A failure without a location is identified by its message.
    """
    seen: dict[tuple[str, str], Failure] = {}
    for failure in failures:
        seen.setdefault((failure.kind, failure.frame or failure.message), failure)
    return sorted(seen.values(), key=lambda f: (not f.kind.lower().startswith(_FIRST), f.id in failing_before))


def _failure(number: int, failure: Failure, tokens: int) -> str:
    where = f"\n   at {failure.frame}" if failure.frame else ""
    text = f"{number}. {failure.id}: {failure.kind}{where}\n{_indent_text(_cut(failure.message, tokens // 2))}"
    for title, part in (("code", failure.excerpt), ("output", failure.output)):
        space = tokens - estimate_tokens(text)
        if part.strip() and space > 30:
            text += f"\n   {title}:\n{_indent_text(_cut(part, space))}"
    return text


def _cut(text: str, tokens: int) -> str:
    """Return as many of the text's first lines as fit; a single long line is cut."""
    space, lines = max(160, int(tokens * 3.6)), list[str]()
    for line in text.strip("\n").split("\n"):
        if space <= 0:
            return "\n".join([*lines, "…"])
        lines.append(line if len(line) <= space else line[:space] + " …")
        space -= len(line) + 6
    return "\n".join(lines)


def _indent_text(text: str) -> str:
    return "\n".join("   | " + line for line in text.split("\n"))


def describe_pass(verdict: SuiteReport) -> str:
    """Describe a passing verdict in one line."""
    count = verdict.count(Result.PASSED)
    return f"{count} test{'s' if count != 1 else ''} passed" if verdict.results else verdict.reason or "passed"
