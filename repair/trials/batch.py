"""Sees a batch of candidates to its end, over as many sandboxes as that takes.

A run ends early when its time is over, and goes on where it stopped. It may also die of a candidate: when the memory of
all is used up, the kernel ends the whole sandbox. Then those that were being tried are suspects, or all when nothing
was heard, and are tried in halves, one at a time, until the one that did it stands alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from core.errors import SandboxError
from core.trials import How, Outcome

AT_ONCE = 500
DEATHS = 12
UNTRIED = Outcome(how=How.CRASHED, trouble="the sandbox came to no end before it was tried")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What was heard of a run, by the candidates' numbers. `ended` tells that it came to its end by itself."""

    outcomes: dict[int, Outcome]
    begun: frozenset[int]
    ended: bool


Run = Callable[[Sequence[int], bool], Awaitable[Heard]]
"""Runs the candidates with these numbers, one at a time if so told."""


class Batch:
    """So many candidates, by their numbers.

    Args:
        count: how many there are.
        run: tries some of them in one sandbox.
    """

    def __init__(self, count: int, run: Run) -> None:
        self._count, self._run = count, run
        self._waiting = deque(
            (list(range(first, min(first + AT_ONCE, count))), False) for first in range(0, count, AT_ONCE)
        )
        self._outcomes: dict[int, Outcome] = {}
        self._deaths, self._silent = 0, True

    async def outcomes(self) -> list[Outcome]:
        """How each did.

        Raises:
            SandboxError: nothing could be run.
        """
        while self._waiting and self._deaths <= DEATHS:
            numbers, alone = self._waiting.popleft()
            heard = await self._run(numbers, alone)
            self._outcomes |= heard.outcomes
            self._silent &= not heard.begun
            if left := [number for number in numbers if number not in self._outcomes]:
                self._again(left, heard, alone)
        if self._silent and self._deaths > DEATHS:
            raise SandboxError("no candidate could be tried: each run ended without an answer")
        return [self._outcomes.get(number, UNTRIED) for number in range(self._count)]

    def _again(self, left: list[int], heard: Heard, alone: bool) -> None:
        if heard.ended and heard.outcomes:
            self._waiting.appendleft((left, alone))
            return
        self._deaths += 1
        suspects = [number for number in left if number in heard.begun] or left
        if others := [number for number in left if number not in suspects]:
            self._waiting.appendleft((others, alone))
        if len(suspects) == 1:
            self._outcomes[suspects[0]] = Outcome(how=How.CRASHED, trouble="it ended the sandbox")
            return
        middle = len(suspects) // 2
        self._waiting.extendleft([(suspects[middle:], True), (suspects[:middle], True)])
