"""The history of an attempt in a few words: one line per try, the last failure, and the summary for a fresh start.

A run's output is shown once, by the phase that follows the run. Of earlier runs, only the failures and the diagnoses
remain. Leaving out the outputs of earlier runs loses nothing compared with summaries written by a model (Lindenbauer
and others, “The Complexity Trap”, 2025). If even these lines take too much of a prompt, or if the attempt goes in
circles, a fresh context begins. Its prompts show a summary (the hand-over) instead of the history.

Circles are detected from what the tries did (the digest of each change, and the tests that failed), and not from their
wording. A model that says the same in other words is as stuck as one that repeats itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nightshift.agent.prompt.text import quote
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.attempt_state import AttemptState, HandOver, Reflection, Try
from nightshift.core.tasks.verdicts import Result
from nightshift.core.text.masking import printable

_THOUGHT_CHARS = 300
_NAME_CHARS = 200
_TRIED = 8
_LISTED = 20
_SHOWN_FAILING = 3


def lines_of(state: AttemptState) -> list[str]:
    """List the tries, oldest first, one line each; tries that the hand-over already summarises are left out."""
    handed_through = state.handed.through if state.handed else 0
    return [line_of(past_try) for past_try in state.tries if past_try.iteration > handed_through]


def line_of(past_try: Try) -> str:
    """Describe a try in one line: what failed, the diagnosis, and the suggested fix."""
    failing = [name[:_NAME_CHARS] for name in past_try.failing[:_SHOWN_FAILING]]
    more = f" and {len(past_try.failing) - len(failing)} more" if len(past_try.failing) > len(failing) else ""
    thought = past_try.reflection.root_cause or past_try.reflection.pattern
    diagnosis = f" The diagnosis was: {_cut(thought)}" if thought else ""
    did = f" What was suggested: {_cut(past_try.reflection.suggested_fix)}" if past_try.reflection.suggested_fix else ""
    return f"Try {past_try.iteration} failed: {', '.join(failing)}{more}.{diagnosis}{did}"


def _cut(text: str) -> str:
    """Shorten a diagnosis to `_THOUGHT_CHARS` characters, and end it with a full stop."""
    return (text if len(text) <= _THOUGHT_CHARS else text[: _THOUGHT_CHARS - 1] + "…").rstrip(".") + "."


def history_tokens(state: AttemptState, gauge: Gauge) -> int:
    """Estimate the tokens of the history in the next prompt: hand-over, earlier tries and the last failure."""
    handed = hand_over(state.handed) if state.handed else ""
    return sum(map(gauge.tokens, (handed, "\n".join(lines_of(state)[:-1]), state.feedback)))


def summarise(state: AttemptState) -> HandOver:
    """Summarise the attempt so far for a fresh context; an earlier hand-over becomes part of the summary."""
    before = state.handed.tried if state.handed else ()
    tried = (*before, *lines_of(state))
    verdict = state.verdict
    passing = [result.id for result in verdict.results if result.result is Result.PASSED] if verdict else []
    return HandOver(
        through=state.iteration,
        goal=" ".join(printable(state.brief.goal if state.brief else "").split()),
        passing=tuple(name[:_NAME_CHARS] for name in passing[:_LISTED]),
        passing_count=len(passing),
        failing=tuple(name[:_NAME_CHARS] for name in sorted(verdict.failing)[:_LISTED]) if verdict else (),
        files=tuple(sorted(state.change))[:_LISTED],
        tried=tried[-_TRIED:],
        forgotten=(state.handed.forgotten if state.handed else 0) + max(0, len(tried) - _TRIED),
    )


def afresh(state: AttemptState) -> AttemptState:
    """Return the state with a fresh context: prompts show a hand-over in place of the tries so far."""
    return replace(state, handed=summarise(state))


def hand_over(summary: HandOver) -> str:
    """Format the hand-over for a prompt."""
    oldest = [f"(the {summary.forgotten} oldest tries are left out)"] if summary.forgotten else []
    parts = (
        ("Goal", [summary.goal or "As the task says, above."]),
        ("Done", _names(summary.passing, summary.passing_count, "tests pass", "Nothing passes yet.")),
        ("Pending", _names(summary.failing, len(summary.failing), "tests fail", "The last run named no failing test.")),
        ("Files changed so far", [", ".join(summary.files) or "None."]),
        ("What was tried, and why it failed", [*oldest, *summary.tried]),
    )
    text = "\n".join(f"{title}:\n" + "\n".join(f"- {text}" for text in texts) for title, texts in parts)
    return quote("hand-over", text)


def fit(state: AttemptState, space: int, gauge: Gauge) -> tuple[str, bool]:
    """Return the hand-over, without its oldest tries if it is too long, and True if any were left out."""
    summary = state.handed
    if summary is None:
        return "", False
    for gone in range(len(summary.tried) + 1):
        text = hand_over(replace(summary, tried=summary.tried[gone:], forgotten=summary.forgotten + gone))
        if gauge.tokens(text) <= space:
            break
    return text, gone > 0


def _names(names: tuple[str, ...], count: int, what: str, none: str) -> list[str]:
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return [f"{count} {what}: {', '.join(names)}{more}"] if names else [none]


def last_failure(state: AttemptState, result: str) -> str:
    """Format the last failure for a prompt: the given part of the run's output, and the diagnosis if there is one."""
    if not state.feedback:
        return ""
    text = quote("result", result)
    reflection = state.tries[-1].reflection if state.tries else None
    if reflection and (reflection.root_cause or reflection.suggested_fix) and not _is_said(reflection, result):
        parts = (
            ("Cause", reflection.root_cause),
            ("Expected", reflection.hypothesis),
            ("Fix", reflection.suggested_fix),
        )
        thought = "\n".join(f"{name}: {value}" for name, value in parts if value)
        text += f"\n\nA diagnosis of it, which may be wrong:\n\n{quote('diagnosis', thought)}"
    return text


def _is_said(reflection: Reflection, result: str) -> bool:
    """Check whether a diagnosis only repeats the failure's text.

    The diagnosis of a reviewer's findings, for example, does so.
    """
    result_text, cause = " ".join(result.split()), reflection.root_cause
    reason = cause.partition(": ")[2] or cause
    return reason in result_text and reflection.suggested_fix in result_text


# Detecting attempts that go in circles.


SAME_FAILURES = 3
NO_PROGRESS = 5


def why_stuck(tries: Sequence[Try], seen: Sequence[str]) -> str | None:
    """Return why the attempt is stuck, as a clause without a full stop, or None if it is not.

    Args:
        tries: the recent tries, oldest first; the last one is the try that just failed.
        seen: digests of all changes of the attempt before the last one, including changes that `tries` no longer
            contains.
    """
    if not tries:
        return None
    if tries[-1].digest in seen:
        return "the files are as they were after an earlier try"
    failing = [frozenset(past_try.failing) for past_try in tries]
    if len(failing) >= SAME_FAILURES and len(set(failing[-SAME_FAILURES:])) == 1:
        return f"the same tests failed {SAME_FAILURES} times in a row"
    if len(failing) >= 4 and failing[-4] == failing[-2] != failing[-3] == failing[-1]:
        return "two sets of failing tests take turns"
    window = failing[-NO_PROGRESS:]
    if len(window) == NO_PROGRESS and all(window[0] <= later for later in window[1:]):
        return f"no test that failed has passed since, for {NO_PROGRESS} tries"
    return None
