"""The reason why a task ended, as text: how the attempt ended, and the failure that remained.

The stored reason begins with the ending, so that equal endings can be counted. Lists of tasks show the failure first.
"""

from __future__ import annotations

_FAILURE = ". Last failure: "


def with_failure(ending: str, failure: str) -> str:
    """Append the failure to the text of an ending, such as “Gave up after 4 tries, the limit”."""
    return f"{ending}{_FAILURE}{failure}"


def cause_first(reason: str) -> str:
    """Return a reason in one line, the failure first and the ending in brackets; unchanged if it has no failure."""
    ending, separator, failure = reason.partition(_FAILURE)
    if not separator or not failure.strip():
        return reason
    brief = ending.partition(":")[0].partition(",")[0].strip()
    return f"{' '.join(failure.split())} ({brief[:1].lower()}{brief[1:]})"
