"""Tells when an attempt goes in circles. Pure: it looks at the tries alone.

Wording does not count, only work: what the change was (its digest) and which tests failed. A model that says the same
in other words is as stuck as one that repeats itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.work import Try

SAME_FAILURES = 3
NO_PROGRESS = 5


def diagnose(tries: Sequence[Try], seen: Sequence[str]) -> str | None:
    """Why the attempt is stuck, as part of a sentence, or None.

    Args:
        tries: the recent tries, oldest first; the last one is the one that just failed.
        seen: digests of all changes of the attempt before the last one, also those that `tries` no longer holds.
    """
    if not tries:
        return None
    if tries[-1].digest in seen:
        return "the files are as they were after an earlier try"
    failing = [frozenset(one.failing) for one in tries]
    if len(failing) >= SAME_FAILURES and len(set(failing[-SAME_FAILURES:])) == 1:
        return f"the same tests failed {SAME_FAILURES} times in a row"
    if len(failing) >= 4 and failing[-4] == failing[-2] != failing[-3] == failing[-1]:
        return "two sets of failing tests take turns"
    window = failing[-NO_PROGRESS:]
    if len(window) == NO_PROGRESS and all(window[0] <= later for later in window[1:]):
        return f"no test that failed has passed since, for {NO_PROGRESS} tries"
    return None
