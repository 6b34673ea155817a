"""Why a task ended, in words: how an attempt came to its end, and the failure that was left then.

The reason is stored with how it ended first, so that like endings can be counted; a list shows the failure first.
"""

from __future__ import annotations

_FAILURE = ". Last failure: "


def with_failure(ending: str, failure: str) -> str:
    """The reason of an attempt that ended with a failure left, such as “Gave up after 4 tries, the limit”."""
    return f"{ending}{_FAILURE}{failure}"


def cause_first(reason: str) -> str:
    """The same in a line with the failure first and how it ended in brackets; another reason as it is."""
    ending, separator, failure = reason.partition(_FAILURE)
    if not separator or not failure.strip():
        return reason
    brief = ending.partition(":")[0].partition(",")[0].strip()
    return f"{' '.join(failure.split())} ({brief[:1].lower()}{brief[1:]})"
