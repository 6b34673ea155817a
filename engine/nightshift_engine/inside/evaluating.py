"""Tries candidates with the tests, in order, each in a fork, up to the last failure that the task allows.

There are three ways, the fastest first; a candidate that one way cannot handle moves on to the next.

- Warm: the candidate is swapped into a process that has collected the tests. A file that no test had imported by then
  is imported with the candidate in it when a test first imports the file.
- Early: a pytest that is about to collect the tests is forked, and the candidate is served in place of its file. This
  handles whole files, changed decorators, and functions that ran while the tests were collected.
- Afresh: pytest starts from scratch in a fork, in a folder that has the candidate on disk. This is needed if there is a
  conftest, or if the tests read or start the file instead of importing it.

In the warm process, a fork continues with the next candidate as long as the last one left the state unchanged
(`snapshot`). A candidate that passes after others have run in its fork must pass once more in a fork of its own.

Reports `["begun", number]` and `["tried", number, how, passed, error]`.
"""
# Importing pathlib would add some milliseconds to every start of the sandbox.
# ruff: noqa: PTH118

import copy
import gc
import mmap
import os
import sys
import time
from collections import deque

from nightshift_inside import session

from . import collection, forks, instrument, snapshot
from .patching import UNREADABLE, LoadedFunctions, NotSwappable, install, invalid

PENDING, BEGUN, DONE, EARLY, AFRESH = range(5)
RESTARTS = 3
COLLECTING_STEPS = 3_000_000
JOBS_A_WORKER = 4  # minimum number of jobs per worker, so that the workers end at about the same time


def run(config, task, events, served):
    """Try all candidates, or as many as the time allows."""
    served.is_ticking = not task["plain"]
    Batch(config, task, events, served).run()
    return 0


class Batch:
    """One batch of candidates.

    All processes that are forked here share `_states`, which has one byte per candidate.
    """

    def __init__(self, config, task, events, served):
        self._config, self._task, self._events, self.served = config, task, events, served
        self.candidates, self.order = task["candidates"], task["order"]
        self._states = mmap.mmap(-1, len(self.candidates) + 1)
        self._until = time.monotonic() + task["budget_s"]
        self._pool, self._jobs = forks.pool_for(task), deque()

    @property
    def is_closed(self):
        """True if there is no conftest, so that only the tests and the tree's modules can keep state."""
        return not self._config["has_conftest"]

    def run(self):
        """Try all candidates, stage by stage."""
        is_uninstrumented = self._task["plain"]
        self._run_stage(
            PENDING, EARLY, self._warm, fits=not is_uninstrumented and any(scope for _, scope, _ in self.candidates)
        )
        self._run_stage(EARLY, AFRESH, self._early, fits=not is_uninstrumented and self.is_closed)
        gc.collect()
        gc.freeze()
        self.try_all(AFRESH, self._afresh)

    def _run_stage(self, state, after, work, *, fits):
        """Run a stage in a process of its own if `fits` is true; then move the remaining candidates to `after`.

        Args:
            state: the state of the candidates that the stage tries.
            after: the state of the candidates for the next stage.
            work: the stage.
            fits: whether this stage can handle candidates at all.
        """
        for _ in range(RESTARTS):
            if not fits or not self._with(state):
                break
            fits = not forks.in_process(work)
            self._move(BEGUN, after)
        self._move(state, after)

    def _with(self, state):
        return [
            number
            for number, candidate_state in enumerate(self._states[: len(self.candidates)])
            if candidate_state == state
        ]

    def _move(self, before, after):
        for number in self._with(before):
            self._states[number] = after

    def try_all(self, state, perform, ready=None, most=1):
        """Try the candidates that are in a state, as long as there is time, with up to `most` of them in one fork."""
        numbers = self._with(state)
        size = max(1, min(most, len(numbers) // (JOBS_A_WORKER * self._task["count"])))
        self._jobs = deque(numbers[first : first + size] for first in range(0, len(numbers), size))
        limits = {"step_s": self._task["wall_s"], "whole_s": self._task["whole_s"], "until": self._until}
        self._pool.run(self._jobs, perform, self._end, ready=ready, **limits)

    def begin(self, number):
        """In a fork: mark a candidate as begun."""
        self._states[number] = BEGUN
        forks.emit(self._events, "begun", number)

    def _end(self, numbers, slot, how):
        findings = slot.findings
        for number, *outcome in findings:
            if outcome[0] == "unfit":
                self._states[number] = AFRESH
            elif outcome[0] == "passed" and number != numbers[0]:
                self._jobs.append([number])
            else:
                self.settle(number, *outcome)
        left = numbers[len(findings) :]
        if left and (not findings or self._states[left[0]] == BEGUN):
            self.settle(left.pop(0), "timeout" if how == "timeout" else "crashed", slot.done, "")
        if left:
            self._jobs.appendleft(left)

    def postpone(self, number):
        """Move a candidate that cannot be swapped into the warm process to the next stage, `EARLY`."""
        self._states[number] = EARLY

    def settle(self, number, *result):
        """Report the result of a candidate."""
        self._states[number] = DONE
        forks.emit(self._events, "tried", number, *result)

    def _warm(self):
        """In a process of its own: collect the tests, then try the candidates that can be swapped in."""
        with instrument.Entered(COLLECTING_STEPS) as entered:

            def then(tests):
                instrument.allow(COLLECTING_STEPS)
                if self._collection_error(tests) is None:
                    warm = WarmProcess(self, tests, entered.places)
                    gc.collect()
                    gc.freeze()
                    self.try_all(PENDING, warm.perform, warm.is_ready, warm.most)

            self._pytest(then)

    def _early(self):
        """In a process of its own: start pytest, and collect the tests with each candidate in a fork."""

        def before(tests):
            gc.collect()
            gc.freeze()
            self.try_all(EARLY, lambda numbers, slot: self._serve(tests, numbers, slot))

        self._pytest(lambda _tests: None, before)

    def _serve(self, tests, numbers, slot):
        """In a fork: collect the tests with the candidate in place of its file, and run the tests."""
        (number,) = numbers
        self.begin(number)
        if self.serve(number, slot):
            instrument.allow(self._task["steps"])
            tests.collect()
            outcome = self._all(tests, slot)
            slot.report([number, *(outcome if self.candidates[number][0] in self.served.codes else ["unfit"])])

    def _pytest(self, then, before=None):
        """Collect the tests; only an uninstrumented run rewrites assertions to explain their failures."""
        brief = [] if self._task["plain"] else ["--assert=plain"]
        session.pytest_main([*session.words(self._config), *brief], collection.Tests(then, before))

    def judge(self, tests, slot):
        """In a fork: run the tests; return how the first failure ended, how many tests passed, and the error."""
        passed, failures, first = 0, 0, ("passed", "")
        for item, after in tests.in_order(self.order):
            slot.step(passed)
            instrument.allow(self._task["steps"])
            how = tests.run(item, after)
            if how == "passed":
                passed += 1
                continue
            failures += 1
            if failures == 1:
                first = ("steps" if how == "steps" else "failed", tests.error_line() or how)
            if failures >= self._task["max_failures"] or how == "steps":  # a runaway candidate helps no test
                break
        return first[0], passed, first[1]

    def _afresh(self, numbers, slot):
        """In a fork: import everything with the candidate in place of its file."""
        (number,) = numbers
        self.begin(number)
        self.served.root = os.path.join(slot.work, "")
        if self.serve(number, slot):
            instrument.allow(self._task["steps"])
            self._pytest(lambda tests: slot.report([number, *self._all(tests, slot)]))

    def _all(self, tests, slot):
        if (why := self._collection_error(tests)) is None:
            return self.judge(tests, slot)
        how = "steps" if why["kind"] == instrument.OutOfSteps.__name__ else "failed"
        return how, 0, collection.line(why)

    def _collection_error(self, tests):
        """Return the error if tests that must run could not be collected; None if all were."""
        missing = [name for name in self.order if name not in tests.items]
        if tests.items and not missing and (self.order or not tests.broken):
            return None
        which = missing[0] if missing else "at all"
        return next(iter(tests.broken.values()), {"kind": "LookupError", "message": f"no test {which}"})

    def serve(self, number, slot):
        """In a fork: put a candidate into the import system, and on disk for code that reads the file there.

        Returns:
            True if the candidate compiles. If not, the candidate has been reported as invalid.
        """
        try:
            install(self.served, slot, *self.candidates[number])
        except UNREADABLE as error:
            slot.report([number, *invalid(error)])
            return False
        return True


MOST = 32
GO_ON_S = 0.25  # seconds after which a fork begins no further candidate, because its time limit is for one


class WarmProcess:
    """The collected tests, and the functions of the process that can be swapped.

    Args:
        batch: the batch.
        tests: the collected tests.
        entered: (file, first line) of the code that ran during collection.

    Attributes:
        most: how many candidates may run one after the other in one fork.
    """

    def __init__(self, batch, tests, entered):
        self._batch, self._tests = batch, tests
        candidates, served = batch.candidates, batch.served
        self._living = {
            path: LoadedFunctions(
                served, path, entered, {scope for candidate_path, scope, _ in candidates if candidate_path == path}
            )
            for path in {path for path, _, _ in candidates}
            if path in served.codes
        }
        self._swaps = {}
        self._items = [item for item, _ in tests.in_order(batch.order)]
        self._given = [item.callspec.params for item in self._items if hasattr(item, "callspec")]
        self._originals = [dict(given) for given in self._given]
        self._snapshot = self._take_snapshot() if batch.is_closed else None
        self.most = MOST if self._snapshot else 1

    def _take_snapshot(self):
        """Take a snapshot of the state that outlives a test; None if that state cannot be compared."""
        root = self._batch.served.root
        own = [module for module in sys.modules.values() if str(getattr(module, "__file__", "")).startswith(root)]
        modules = dict.fromkeys((*own, *(item.module for item in self._items if hasattr(item, "module"))))
        try:
            return snapshot.Snapshot(
                list(modules), [value for original in self._originals for value in original.values()]
            )
        except snapshot.Opaque:
            return None

    def is_ready(self, numbers):
        """Compile candidates in this process, because each fork would pay for the memory pages that compiling touches.

        Candidates that cannot be tried in a fork of this process are removed from `numbers`.

        Returns:
            True if any candidate is left.
        """
        numbers[:] = [number for number in numbers if self._is_ready(number)]
        return bool(numbers)

    def _is_ready(self, number):
        path, scope, text = self._batch.candidates[number]
        if path not in self._living or number in self._swaps:
            return True
        try:
            self._swaps[number] = self._living[path].swap(scope, text)
        except NotSwappable:
            self._batch.postpone(number)
        except UNREADABLE as error:
            self._batch.settle(number, *invalid(error))
        return number in self._swaps

    def perform(self, numbers, slot):
        """In a fork: swap in one candidate after another and run the tests, as long as none changes the state."""
        until = time.monotonic() + GO_ON_S
        for number in numbers:
            self._batch.begin(number)
            self._renew_parameters()
            swap = self._swaps.get(number)
            if swap is not None:
                swap.act()
            elif not self._batch.serve(number, slot):
                return
            slot.report([number, *self._batch.judge(self._tests, slot)])
            if number == numbers[-1] or not self._is_clean(swap) or time.monotonic() > until:
                return

    def _renew_parameters(self):
        """Replace mutable parameters of tests (lists and so on) by copies, because functions may change them."""
        for given, original in zip(self._given, self._originals, strict=True):
            for name, value in original.items():
                if type(value) in {list, dict, set, bytearray}:
                    given[name] = copy.deepcopy(value)

    def _is_clean(self, swap):
        """Swap a candidate out; return whether it left the state unchanged."""
        if swap is None or self._snapshot is None or not snapshot.is_harmless(swap.code):
            return False
        swap.undo()
        return self._tests.tear_down() and not self._snapshot.have_changed()
