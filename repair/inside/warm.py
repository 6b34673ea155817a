"""Tries candidates in forks of the process that has collected the tests."""

import copy
import sys
import time

from . import placing, surgery, traces

MOST = 32
GO_ON_S = 0.25  # a fork takes no more after that, so that the limit of a whole candidate stays one


class Warm:
    """What was collected, and the functions in it that can be swapped.

    Args:
        attempts: the batch.
        tests: the collected tests.
        entered: (file, first line) of what ran meanwhile.

    Attributes:
        most: how many candidates may follow each other in one fork.
    """

    def __init__(self, attempts, tests, entered):
        self._attempts, self._tests = attempts, tests
        candidates, served = attempts.candidates, attempts.served
        self._living = {
            path: surgery.Living(served, path, entered, {scope for known, scope, _ in candidates if known == path})
            for path in {path for path, _, _ in candidates}
            if path in served.codes
        }
        self._swaps = {}
        self._items = [item for item, _ in tests.in_order(attempts.order)]
        self._given = [item.callspec.params for item in self._items if hasattr(item, "callspec")]
        self._kept = [dict(given) for given in self._given]
        self._traces = self._seen() if attempts.is_closed else None
        self.most = MOST if self._traces else 1

    def _seen(self):
        """What outlives a test; None when that cannot be seen."""
        root = self._attempts.served.root
        own = [module for module in sys.modules.values() if str(getattr(module, "__file__", "")).startswith(root)]
        modules = dict.fromkeys((*own, *(item.module for item in self._items if hasattr(item, "module"))))
        try:
            return traces.Traces(list(modules), [value for kept in self._kept for value in kept.values()])
        except traces.Unseen:
            return None

    def is_ready(self, numbers):
        """Compile candidates, here and not in their forks, which would pay for each page of memory that this touches.

        Those that cannot be tried in a fork of this process are taken out of `numbers`.

        Returns:
            Whether any is left.
        """
        numbers[:] = [number for number in numbers if self._is_ready(number)]
        return bool(numbers)

    def _is_ready(self, number):
        path, scope, text = self._attempts.candidates[number]
        if path not in self._living or number in self._swaps:
            return True
        try:
            self._swaps[number] = self._living[path].swap(scope, text)
        except surgery.Unfit:
            self._attempts.postpone(number)
        except placing.UNREADABLE as error:
            self._attempts.settle(number, *placing.invalid(error))
        return number in self._swaps

    def perform(self, numbers, slot):
        """In a fork: put one candidate after another in and run the tests, while none leaves a trace."""
        until = time.monotonic() + GO_ON_S
        for number in numbers:
            self._attempts.begun(number)
            self._renew_parameters()
            swap = self._swaps.get(number)
            if swap is not None:
                swap.act()
            elif not self._attempts.serve(number, slot):
                return
            slot.say([number, *self._attempts.judge(self._tests, slot)])
            if number == numbers[-1] or not self._is_clean(swap) or time.monotonic() > until:
                return

    def _renew_parameters(self):
        """Give the tests copies of lists and the like that they are called with, which many functions change."""
        for given, kept in zip(self._given, self._kept, strict=True):
            for name, value in kept.items():
                if type(value) in {list, dict, set, bytearray}:
                    given[name] = copy.deepcopy(value)

    def _is_clean(self, swap):
        """Take a candidate out; tells whether nothing of it is left."""
        if swap is None or self._traces is None or not traces.is_harmless(swap.code):
            return False
        swap.undo()
        return self._tests.tear_down() and not self._traces.have_changed()
