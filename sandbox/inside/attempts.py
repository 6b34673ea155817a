"""Tries candidates by the tests, in order, each in a fork, up to the first test that does not pass.

Most are swapped into a process that has collected the tests already. What does not fit in there (a whole file, other
decorators, a function that ran while the tests were collected) is imported afresh, in a fork taken before that. A file
that no test had imported when they were collected is served with the candidate in it as soon as one does.

Reports `["begun", number]` and `["tried", number, how, passed, trouble]`.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH118

import gc
import mmap
import os
import time
from collections import deque

from . import forks, instrument, placing, session, surgery, trial_tests

PENDING, BEGUN, DONE, AFRESH = range(4)
WARM_STARTS = 3
COLLECTING_STEPS = 3_000_000


def run(config, trial, events, served):
    """Try all candidates, or as many as there is time for."""
    served.is_ticking = not trial["plain"]
    Attempts(config, trial, events, served).run()
    return 0


class Attempts:
    """One batch; the states are seen by all processes that are forked here, a byte a candidate."""

    def __init__(self, config, trial, events, served):
        self._config, self._trial, self._events, self.served = config, trial, events, served
        self.candidates, self._order = trial["candidates"], trial["order"]
        self._states = mmap.mmap(-1, len(self.candidates) + 1)
        self._until = time.monotonic() + trial["budget_s"]
        self._crew = forks.crew(trial)

    def run(self):
        """Try them."""
        if not self._trial["plain"] and any(scope for _, scope, _ in self.candidates):
            for _ in range(WARM_STARTS):
                clean = forks.in_process(self._warm)
                self._move(BEGUN, AFRESH)
                if clean or not self._with(PENDING):
                    break
        self._move(PENDING, AFRESH)
        gc.collect()
        gc.freeze()
        self.try_all(AFRESH, self._afresh)

    def _with(self, state):
        return [number for number, found in enumerate(self._states[: len(self.candidates)]) if found == state]

    def _move(self, before, after):
        for number in self._with(before):
            self._states[number] = after

    def try_all(self, state, perform, ready=None):
        """Try all that are in a state, as far as there is time."""
        limits = {"step_s": self._trial["wall_s"], "whole_s": self._trial["whole_s"], "until": self._until}
        self._crew.run(deque(self._with(state)), perform, self._ended, ready=ready, **limits)

    def begun(self, number):
        """In a fork: note that a candidate is begun."""
        self._states[number] = BEGUN
        forks.emit(self._events, "begun", number)

    def _ended(self, number, slot, how):
        found = next(iter(slot.findings), None) if how == "exited" else None
        self.settle(number, *(found or ["timeout" if how == "timeout" else "crashed", slot.done, ""]))

    def postpone(self, number):
        """A candidate has to be imported afresh."""
        self._states[number] = AFRESH

    def settle(self, number, *found):
        """Report how a candidate did."""
        self._states[number] = DONE
        forks.emit(self._events, "tried", number, *found)

    def _warm(self):
        """In a process of its own: collect the tests, then try what can be swapped in."""
        with instrument.Entered(COLLECTING_STEPS) as entered:

            def then(tests):
                instrument.allow(COLLECTING_STEPS)
                if tests.items.keys() >= set(self._order):
                    warm = Warm(self, tests, entered.places)
                    gc.collect()
                    gc.freeze()
                    self.try_all(PENDING, warm.perform, warm.is_ready)

            self._pytest(then)

    def _pytest(self, then):
        """Collect the tests; without plain patience, failing assertions need not be explained."""
        brief = [] if self._trial["plain"] else ["--assert=plain"]
        session.pytest_main([*session.words(self._config), *brief], trial_tests.Tests(then, is_brief=True))

    def judge(self, tests, slot):
        """In a fork: run the tests and say how they ended."""
        for done, (item, after) in enumerate(tests.in_order(self._order)):
            slot.step(done)
            instrument.allow(self._trial["steps"])
            if (how := tests.run(item, after)) != "passed":
                slot.say(["steps" if how == "steps" else "failed", done, tests.trouble() or how])
                return
        slot.say(["passed", len(self._order), ""])

    def _afresh(self, number, slot):
        """In a fork: import everything with the candidate in its place."""
        self.begun(number)
        self.served.root = os.path.join(slot.work, "")
        if self.serve(number, slot):
            instrument.allow(self._trial["steps"])
            self._pytest(lambda tests: self._all(tests, slot))

    def _all(self, tests, slot):
        missing = [name for name in self._order if name not in tests.items]
        if missing:
            why = next(iter(tests.broken.values()), {"kind": "LookupError", "message": f"no test {missing[0]}"})
            how = "steps" if why["kind"] == instrument.OutOfSteps.__name__ else "failed"
            slot.say([how, 0, trial_tests.line(why)])
        else:
            self.judge(tests, slot)

    def serve(self, number, slot):
        """In a fork: put a candidate into the import system, and on the disk for whoever reads it there.

        Returns:
            Whether it can be imported at all; if not, that was said.
        """
        try:
            placing.place(self.served, slot, *self.candidates[number])
        except placing.UNREADABLE as error:
            slot.say(invalid(error))
            return False
        return True


class Warm:
    """Tries candidates in forks of the process that has collected the tests."""

    def __init__(self, attempts, tests, entered):
        self._attempts, self._tests = attempts, tests
        candidates, served = attempts.candidates, attempts.served
        self._living = {
            path: surgery.Living(served, path, entered, {scope for known, scope, _ in candidates if known == path})
            for path in {path for path, _, _ in candidates}
            if path in served.codes
        }

        self._swaps = {}

    def is_ready(self, number):
        """Compile a candidate, once and not in its fork, which would pay for each page of memory that this touches.

        Returns:
            Whether it can be tried in a fork of this process.
        """
        path, scope, text = self._attempts.candidates[number]
        if path not in self._living:
            return True
        try:
            self._swaps[number] = self._living[path].swap(scope, text)
        except surgery.Unfit:
            self._attempts.postpone(number)
        except placing.UNREADABLE as error:
            self._attempts.settle(number, *invalid(error))
        return number in self._swaps

    def perform(self, number, slot):
        """In a fork: put the candidate in and run the tests."""
        self._attempts.begun(number)
        if number in self._swaps:
            self._swaps[number]()
        elif not self._attempts.serve(number, slot):
            return
        self._attempts.judge(self._tests, slot)


def invalid(error):
    """The finding of a text that is no Python."""
    return ["invalid", 0, f"{type(error).__name__}: {error}"[: trial_tests.TROUBLE]]
