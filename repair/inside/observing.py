"""Looks closely at a suite: each test in forks of its own, once as it is and once watched.

Reports `["broken", id, details]` for what could not be collected; `["test", number, id, how, seconds, steps, details]`;
`["watched", number, lines, kinds, calls]`, lines as a hexadecimal number with a bit for each, calls only if new.
"""

import gc
import json
import time
from collections import deque

from nightshift_inside import session

from . import collection, forks, instrument
from .limited import Limited, OutOfTime
from .watching import Watcher

STEPS = 2_000_000  # a test may take so many
ENDLESS_STEPS, ENDLESS_S = 100_000, 2.0  # and so many when it is known not to end, and watched
SPARE_STEPS = 10_000
COLLECTING_STEPS = 3_000_000
TEST_S, SPARE_S = 10.0, 2.0
NEW_CALLS = 300  # of failing tests, and as many of others


def run(config, task, events, served):
    """Look at all tests, or at as many as there is time for."""
    return 0 if forks.in_process(lambda: Observing(config, task, events, served).run()) else 70


class Observing:
    """One look."""

    def __init__(self, config, task, events, served):
        self._config, self._task, self._events, self._served = config, task, events, served
        self._until = time.monotonic() + task["budget_s"]
        self._crew = forks.crew(task)
        self._tests, self._items, self._hows = None, [], {}
        self._pieces = deque()
        self._calls = {True: set(), False: set()}

    def run(self):
        """Collect the tests and look at each."""
        with instrument.Entered(COLLECTING_STEPS):
            session.pytest_main(session.words(self._config), collection.Tests(self._look))

    def _look(self, tests):
        for name, found in tests.broken.items():
            forks.emit(self._events, "broken", name, found)
        self._tests, self._items = tests, list(tests.items.values())
        self._seconds = min(TEST_S, max(1.0, self._task["budget_s"] / 3))
        self._pieces.extend((number, 0, self._seconds) for number in range(len(self._items)))
        gc.collect()
        gc.freeze()
        limit = self._seconds + SPARE_S
        self._crew.run(self._pieces, self._perform, self._ended, step_s=limit, whole_s=limit, until=self._until)

    def _perform(self, piece, slot):
        """In a fork: run one test; it is watched where a number of steps says how many that will take."""
        number, steps, seconds = piece
        item = self._items[number]
        left = instrument.allow(steps or STEPS)
        if not steps:
            begun = time.perf_counter()
            how = self._run(item, seconds)
            slot.say([how, time.perf_counter() - begun, instrument.used(left), self._tests.details()])
            return
        with Watcher(self._served) as watcher:
            self._run(item, seconds)
        lines = {path: hex(sum(1 << line for line in found)) for path, found in watcher.lines.items()}
        slot.say([lines, watcher.kinds(), list(watcher.calls)])

    def _run(self, item, seconds):
        try:
            with Limited(seconds):
                how = self._tests.run(item, None)
        except OutOfTime:
            return "timeout"
        return "timeout" if isinstance(self._tests.raised, OutOfTime) else how

    def _ended(self, piece, slot, how):
        number, steps, _ = piece
        found = next(iter(slot.findings), None)
        if steps:
            if found:
                self._watched(number, *found)
            return
        how, seconds, taken, details = found or ["timeout" if how == "timeout" else "crashed", 0.0, 0, None]
        self._hows[number] = how
        forks.emit(self._events, "test", number, self._items[number].nodeid, how, seconds, taken, details)
        endless = how in {"steps", "timeout"}
        again = (ENDLESS_STEPS, min(ENDLESS_S, self._seconds)) if endless else (taken + SPARE_STEPS, self._seconds)
        (self._pieces.append if how == "passed" else self._pieces.appendleft)((number, *again))

    def _watched(self, number, lines, kinds, calls):
        known = self._calls[self._hows[number] == "passed"]
        new = [text for text in calls if text not in self._calls[True] and text not in self._calls[False]]
        new = new[: NEW_CALLS - len(known)]
        known.update(new)
        forks.emit(self._events, "watched", number, lines, kinds, [json.loads(text) for text in new])
