"""Makes the same calls with each of several variants of a file, every variant in its own forks.

Reports `["answered", variant, first, answers]` for the calls from number `first` on; an answer is `[how, packed
value, names of the exception's classes]`. The value of a generator is the list of what it yields. If a call returns
None but changes its arguments, its value is the pair of None and the changed arguments. A long value is reported as
its digest. If a call has to be killed, the variant continues with the next call in a new fork.
"""
# Importing pathlib would add some milliseconds to every start of the sandbox.
# ruff: noqa: PTH118

import gc
import hashlib
import itertools
import os
import sys
from collections import deque
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import GeneratorType

from nightshift_inside import values

from . import forks, instrument, patching
from .forks import Limited, OutOfTime

PARTS, TEXT, YIELDED = 20_000, 2000, 2000
SPARE_S = 0.5


def run(config, task, events, served):
    """Make all calls of the task."""
    Probing(config, task, events, served).run()
    return 0


class Probing:
    """Makes the calls of one task with all its variants."""

    def __init__(self, config, task, events, served):
        self._paths, self._task, self._events, self._served = config["paths"], task, events, served
        self._jobs = deque((number, 0) for number in range(len(task["variants"])))

    def run(self):
        """Make all calls with each variant."""
        gc.collect()
        gc.freeze()
        pool, whole_s = forks.pool_for(self._task), self._task["budget_s"]
        pool.run(self._jobs, self._perform, self._end, step_s=self._task["wall_s"] + SPARE_S, whole_s=whole_s)

    def _perform(self, job, slot):
        number, first = job
        self._served.root = os.path.join(slot.work, "")
        try:
            patching.install(self._served, slot, *self._task["variants"][number])
        except patching.UNREADABLE:
            for _ in self._task["calls"][first:]:
                slot.report(["invalid", None, []])
            return
        for done, call in enumerate(self._task["calls"][first:]):
            slot.step(done)
            slot.report(self._answer(*call))

    def _answer(self, path, scope, arguments, named):
        instrument.allow(self._task["steps"])
        try:
            with Limited(self._task["wall_s"]):
                function, given = self._function(path, scope), list(values.unpack(arguments))
                value = function(*given, **values.unpack(named))
                if type(value) is GeneratorType:
                    value = list(itertools.islice(value, YIELDED))
                elif value is None and given != list(values.unpack(arguments)):
                    value = (None, given)
                return ["passed", _pack(value), []]
        except instrument.OutOfSteps:
            return ["steps", None, []]
        except OutOfTime:
            return ["timeout", None, []]
        except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
            return ["failed", None, [kind.__name__ for kind in type(error).__mro__ if kind is not object]]

    def _function(self, path, scope):
        target = self._module(path)
        for part in scope.split("."):
            target = getattr(target, part)
        return target

    def _module(self, path):
        """Import the module of a file by a name that the tree can use, or load it under its path; return the module."""
        wanted = self._served.root + path
        for name in self._names(path):
            try:
                module = import_module(name)
            except ModuleNotFoundError as error:
                if error.name == name or name.startswith(f"{error.name}."):
                    continue
                raise
            if getattr(module, "__file__", None) == wanted:
                return module
        if path in sys.modules:
            return sys.modules[path]
        spec = spec_from_file_location(path, wanted)
        sys.modules[path] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[path])
        return sys.modules[path]

    def _names(self, path):
        stem = path.removesuffix(".py").removesuffix("/__init__")
        for root in sorted((os.path.normpath(root) for root in self._paths), key=len, reverse=True):
            below = stem if root == "." else stem.removeprefix(f"{root}/")
            if (root == "." or below != stem) and all(part.isidentifier() for part in below.split("/")):
                yield below.replace("/", ".")

    def _end(self, job, slot, how):
        number, first = job
        answers = slot.findings
        left = len(self._task["calls"]) - first - len(answers)
        if left > 0:
            answers.append(["timeout" if how == "timeout" else "crashed", None, []])
            if left > 1:
                self._jobs.append((number, first + len(answers)))
        forks.emit(self._events, "answered", number, first, answers)


def _pack(value):
    packed = values.pack(value, PARTS)
    text = values.as_json(packed)
    if len(text) <= TEXT:
        return packed
    return ["o", f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"]
