"""Observes a suite: runs each test in its own forks, once as it is and once traced.

There are three kinds of reports. `["broken", id, details]` is a file that could not be collected. `["test", number, id,
how, seconds, steps, details]` is the untraced run of a test. `["watched", number, lines, kinds, calls]` is the traced
run, with the lines as a hexadecimal bit set, and with only those calls that no earlier test made.

Only the tree's own code is traced: executed lines, types of variables, and calls with plain data. The work per scope is
bounded, except for the lines, which cost one insertion into a set.
"""

import gc
import json
import sys
import threading
import time
from collections import deque

from nightshift_inside import session, values

from . import collection, forks, instrument
from .forks import Limited, OutOfTime
from .patching import first_line, functions

STEPS = 2_000_000  # maximum number of steps of a test
ENDLESS_STEPS, ENDLESS_S = 100_000, 2.0  # limits of the traced run of a test that ran too long
SPARE_STEPS = 10_000
COLLECTING_STEPS = 3_000_000
TEST_S, SPARE_S = 10.0, 2.0
NEW_CALLS = 300  # maximum number of reported calls of passing tests, and also of calls of other tests


def run(config, task, events, served):
    """Observe all tests, or as many as the time allows."""
    return 0 if forks.in_process(lambda: Observing(config, task, events, served).run()) else 70


class Observing:
    """One observation of a suite."""

    def __init__(self, config, task, events, served):
        self._config, self._task, self._events, self._served = config, task, events, served
        self._until = time.monotonic() + task["budget_s"]
        self._pool = forks.pool_for(task)
        self._tests, self._items, self._hows = None, [], {}
        self._jobs = deque()
        self._calls = {True: set(), False: set()}

    def run(self):
        """Collect the tests and observe each."""
        with instrument.Entered(COLLECTING_STEPS):
            session.pytest_main(session.words(self._config), collection.Tests(self._look))

    def _look(self, tests):
        for name, details in tests.broken.items():
            forks.emit(self._events, "broken", name, details)
        self._tests, self._items = tests, list(tests.items.values())
        self._seconds = min(TEST_S, max(1.0, self._task["budget_s"] / 3))
        self._jobs.extend((number, 0, self._seconds) for number in range(len(self._items)))
        gc.collect()
        gc.freeze()
        limit = self._seconds + SPARE_S
        self._pool.run(self._jobs, self._perform, self._end, step_s=limit, whole_s=limit, until=self._until)

    def _perform(self, job, slot):
        """In a fork: run one test; it is traced if the job's number of steps is not 0."""
        number, steps, seconds = job
        item = self._items[number]
        left = instrument.allow(steps or STEPS)
        if not steps:
            begun = time.perf_counter()
            how = self._run(item, seconds)
            slot.report([how, time.perf_counter() - begun, instrument.count_used(left), self._tests.details()])
            return
        with Watcher(self._served) as watcher:
            self._run(item, seconds)
        lines = {path: hex(sum(1 << line for line in numbers)) for path, numbers in watcher.lines.items()}
        slot.report([lines, watcher.kinds(), list(watcher.calls)])

    def _run(self, item, seconds):
        try:
            with Limited(seconds):
                how = self._tests.run(item, None)
        except OutOfTime:
            return "timeout"
        return "timeout" if isinstance(self._tests.raised, OutOfTime) else how

    def _end(self, job, slot, how):
        number, steps, _ = job
        finding = next(iter(slot.findings), None)
        if steps:
            if finding:
                self._watch(number, *finding)
            return
        how, seconds, taken, details = finding or ["timeout" if how == "timeout" else "crashed", 0.0, 0, None]
        self._hows[number] = how
        forks.emit(self._events, "test", number, self._items[number].nodeid, how, seconds, taken, details)
        endless = how in {"steps", "timeout"}
        again = (ENDLESS_STEPS, min(ENDLESS_S, self._seconds)) if endless else (taken + SPARE_STEPS, self._seconds)
        (self._jobs.append if how == "passed" else self._jobs.appendleft)((number, *again))

    def _watch(self, number, lines, kinds, calls):
        seen_calls = self._calls[self._hows[number] == "passed"]
        new = [text for text in calls if text not in self._calls[True] and text not in self._calls[False]]
        new = new[: NEW_CALLS - len(seen_calls)]
        seen_calls.update(new)
        forks.emit(self._events, "watched", number, lines, kinds, [json.loads(text) for text in new])


SAMPLES = 300  # maximum number of lines, and also of function ends, at which a scope's variables are sampled
CALLS, PARTS, TEXT = 60, 300, 2000  # limits of a scope's packed calls: number, parts, characters
GENERATOR = 0x20 | 0x80 | 0x200  # flags of generators and coroutines, which are entered again after each value


class Scope:
    """The observations of one outermost function, or of the rest of a file."""

    def __init__(self, path, name, lines):
        self.path, self.name, self.lines = path, name, lines
        self.kinds = {}
        self.samples = self.ends = 0
        self.packed = 0

    def look(self, frame):
        """Record the types of the variables."""
        for name, value in frame.f_locals.items():
            self.kinds.setdefault(name, set()).add(type(value).__name__)


class Watcher:
    """A trace function and its observations.

    Args:
        served: determines which files are the tree's own.

    Attributes:
        lines: maps paths to the lines that were executed.
        calls: packed calls, as text: [path, scope, arguments, named arguments].
    """

    def __init__(self, served):
        self._served = served
        self.lines, self.calls = {}, {}
        self._scopes, self._tracers = {}, {}

    def __enter__(self):
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_):
        sys.settrace(None)
        threading.settrace(None)

    def kinds(self):
        """Map `path:scope` to a map from variable name to the names of its types."""
        seen = (scope for scopes in self._scopes.values() for _, _, _, scope in scopes)
        local_kinds = {
            f"{s.path}:{s.name}": {name: sorted(kinds) for name, kinds in s.kinds.items()} for s in seen if s.kinds
        }
        return local_kinds | {f"{path}:": self._globals(path) for path in self.lines if path in self._scopes}

    def _globals(self, path):
        """Return the types of a module's variables."""
        module = next(
            (m for m in list(sys.modules.values()) if getattr(m, "__file__", "") == self._served.root + path), None
        )
        items = list(vars(module).items()) if module else []
        return {name: [type(value).__name__] for name, value in items if not name.startswith("__")}

    def _enter(self, frame, _event, _arg):
        code = frame.f_code
        if code not in self._tracers:
            self._tracers[code] = self._tracer(code)
        trace, scope = self._tracers[code]
        if scope is not None and scope.packed < CALLS and _is_entry(frame, code):
            self._call(frame, code, scope)
        return trace

    def _tracer(self, code):
        """Return the tracer and the scope of a code object.

        The tracer is None for files outside the tree. The scope is None unless the code is an outermost function.
        """
        path = self._served.path_of(code.co_filename) if not code.co_filename.startswith("<") else None
        if path is None:
            return None, None
        lines = self.lines.setdefault(path, set())
        scope, is_outermost = self._scope(path, code, lines)

        def trace(frame, event, _arg):
            if event == "line":
                lines.add(frame.f_lineno)
                if scope.samples < SAMPLES:
                    scope.samples += 1
                    scope.look(frame)
            elif event == "return" and scope.ends < SAMPLES:
                scope.ends += 1
                scope.look(frame)
            return trace

        return trace, scope if is_outermost else None

    def _scope(self, path, code, lines):
        if path not in self._scopes:
            self._scopes[path] = [
                (first_line(node), node.end_lineno, node.name, Scope(path, name, lines))
                for name, node, _, _ in functions(self._served.tree(path))
            ]
        for first, last, name, scope in self._scopes[path]:
            if first <= code.co_firstlineno <= last:
                return scope, (code.co_firstlineno, code.co_name) == (first, name)
        return Scope(path, "", lines), False

    def _call(self, frame, code, scope):
        scope.packed += 1
        positional, named = _arguments(frame, code)
        packed = [values.pack(positional, PARTS), values.pack(named, PARTS)]
        if all(map(is_plain, packed)):
            text = values.as_json([scope.path, scope.name, *packed])
            if len(text) <= TEXT:
                self.calls[text] = None


def is_plain(packed):
    """Check whether a packed value can be unpacked to an equal value."""
    if type(packed) is not list:
        return True
    return packed[0] not in ("o", "u") and all(map(is_plain, packed[1:]))


def _is_entry(frame, code):
    return not code.co_flags & GENERATOR or frame.f_lineno == code.co_firstlineno


def _arguments(frame, code):
    """Return the positional and named arguments of a call from its frame."""
    names, values = code.co_varnames, frame.f_locals
    count, total = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    positional = [values[name] for name in names[:count]]
    named = {name: values[name] for name in names[count:total]}
    if code.co_flags & 0x04:
        positional += values[names[total]]
        total += 1
    if code.co_flags & 0x08:
        named |= values[names[total]]
    return positional, named
