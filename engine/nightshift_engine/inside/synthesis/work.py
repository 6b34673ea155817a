"""The child process that searches: reads the examples, searches with one or two processes, and reports the solutions.

Events are lines of JSON: `["examples", count]`, `["found", statements, size, tried]`, and at the end of each process
`["tried", count, largest cost reached, reason of the end]`.
"""

import ast
import gc
import json
import math
import os
import resource
import signal

from nightshift_inside import values

from ..forks import emit  # noqa: TID252 (its package has another name in the sandbox)
from .kinds import freeze
from .search import Search


class Example:
    """One example: arguments of the function, and what their call must give.

    `how` is the meaning of `wanted`: `gives` for the value, `holds` for only its truth value, `raises` for the name and
    message of an exception. `near` holds the tolerances, relative and absolute, or None.
    """

    __slots__ = ("arguments", "how", "near", "wanted")

    def __init__(self, arguments, wanted, how="gives", near=None):
        self.arguments, self.wanted, self.how, self.near = arguments, wanted, how, near

    def fits(self, value, *, loose=False):
        """Check whether a value is the wanted one; with `loose` an int and a float may be equal."""
        if self.near is not None and close(value, self.wanted, self.near):
            return True
        if loose and {type(value), type(self.wanted)} <= {int, float}:
            return value == self.wanted
        return freeze(value) == freeze(self.wanted)


def close(value, wanted, near):
    """Check whether a value is within the tolerances of the wanted one, item by item."""
    if type(wanted) in (int, float):
        number = type(value) in (int, float)
        return number and math.isclose(value, wanted, rel_tol=near[0], abs_tol=near[1])
    if type(wanted) is dict:
        alike = type(value) is dict and value.keys() == wanted.keys()
        return alike and all(close(value[name], item, near) for name, item in wanted.items())
    if type(wanted) in (list, tuple):
        alike = type(value) is type(wanted) and len(value) == len(wanted)
        return alike and all(close(*pair, near) for pair in zip(value, wanted, strict=True))
    return value == wanted


def read(line, count):
    """Return the example in a line of the recorder, for a function of `count` parameters; None for any other line."""
    try:
        packed, how, wanted, near = json.loads(line)
        arguments, result = values.unpack(packed), values.unpack(wanted)
        near = None if near is None else (float(near[0]), float(near[1]))
    except (ValueError, TypeError, RecursionError, LookupError, AttributeError, ArithmeticError):
        return None
    if how not in {"gives", "holds", "raises"} or type(arguments) is not list or len(arguments) != count:
        return None
    return Example(arguments, result, how, near)


DEFAULTS = (
    ("0", 1), ("1", 1), ("2", 1), ("-1", 2), ("10", 3), ("-2", 2), ("3", 3), ("100", 3), ("''", 1), ("' '", 2),
    ("None", 1), ("True", 1), ("False", 1), ("[]", 1), ("{}", 2),
)  # fmt: skip
SHARES = (0.85, 0.2)
"""Share of the time for the outermost expressions, for each of two processes; the rest is for the parts of goals."""


def run(task, events):
    """Run the task: gather the examples, and search."""
    gc.disable()  # objects are kept, or freed by reference counting
    examples, raising = gather(task)
    emit(events, "examples", len(examples) + len(raising))
    if not examples:
        return 0
    ready = {**task, "examples": examples, "raising": raising, "constants": constants(task, examples)}
    ready["known"] = [text for text, _ in task["constants"]]
    shares = SHARES if task["processes"] > 1 else (0.5,)
    others = [_Other(ready, share, events, len(shares)) for share in shares[1:]]
    _search(ready, shares[0], events, len(shares), others)
    for other in others:
        other.end()
    return 0


class _Other:
    """A forked process that searches at the same time, with another share of time for the outermost expressions."""

    def __init__(self, task, share, events, count):
        self.pid, self.over, self.is_successful = os.fork(), False, False
        if self.pid == 0:
            status = 1
            try:
                status = 0 if _search(task, share, events, count, ()) == "found" else 1
            finally:
                os._exit(status)

    def has_found(self):
        """Check whether the process ended because it found a solution."""
        if not self.over:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.over, self.is_successful = pid != 0, pid != 0 and status == 0
        return self.is_successful

    def end(self):
        """End the process."""
        if not self.has_found() and not self.over:
            os.kill(self.pid, signal.SIGTERM)


def _search(task, share, events, count, others):
    most = int(task["memory_mb"] * 0.75 / count) << 10  # kilobytes

    def is_stopped():
        if any(other.has_found() for other in others):
            return "found"
        return "memory" if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > most else ""

    search = Search(task, share, lambda text, size, tried: emit(events, "found", text, size, tried), is_stopped)
    why = search.run(task["budget_s"])
    emit(events, "tried", search.counters.tried, search.root.reached, why)
    return why


def gather(task):
    """Return two lists of examples, those with values and those with exceptions; contradictory examples are left out.

    Examples of the tests come before examples of the docstring.
    """
    groups = {}
    for line in [*task["seen"].splitlines(), *task["examples"]]:
        example = read(line, len(task["parameters"]))
        if example is not None:
            groups.setdefault(repr(freeze(example.arguments)), []).append(example)
    agreed = [example for example in map(_agree, groups.values()) if example]
    valued = [example for example in agreed if example.how == "gives"]
    if all(type(example.wanted) is bool for example in valued):  # only truth values are known
        valued = [example for example in agreed if example.how != "raises"]
    return valued, [example for example in agreed if example.how == "raises"]


def _agree(same):
    """Join several examples with the same arguments into one; return None if they contradict each other."""
    valued = [example for example in same if example.how != "holds"] or same
    return valued[0] if len({repr(freeze(example.wanted)) for example in valued}) == 1 else None


def constants(task, examples):
    """Return constants as (text, value, cost): common ones, those of the task, and those that results share."""
    costs = dict(DEFAULTS)
    for text, cost in task["constants"]:
        costs[text] = min(cost, costs.get(text, cost))
        if text.isdecimal():
            costs.setdefault(f"-{text}", cost + 1)
    wanted = [example.wanted for example in examples]
    results = [repr(value) for value in wanted if type(value) in (int, str, float)]
    for text in sorted(set(results), key=results.index):
        if results.count(text) > 1:
            costs.setdefault(text, 2)
    if all(type(value) is str for value in wanted):
        marks = set.intersection(*map(set, wanted))
        for char in sorted(char for char in marks if not char.isalnum()):
            costs.setdefault(repr(char), 2)
    return [(text, ast.literal_eval(text), cost) for text, cost in costs.items()]
