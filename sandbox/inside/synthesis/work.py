"""The child that searches: puts the examples together, searches with one or two processes, and tells what was found.

Events are lines of JSON: `["examples", count]`, `["found", statements, size, tried]`, and at the end of each process
`["tried", count, cost reached, why it ended]`.
"""

import ast
import gc
import json
import os
import resource
import signal

from .example import read
from .kinds import freeze
from .search import Search

DEFAULTS = (
    ("0", 1), ("1", 1), ("2", 1), ("-1", 2), ("10", 2), ("-2", 2), ("3", 3), ("100", 3), ("''", 1), ("' '", 2),
    ("None", 1), ("True", 1), ("False", 1), ("[]", 1), ("{}", 2),
)  # fmt: skip
SHARES = (0.85, 0.2)
"""How much of the time of each process goes to the outermost expressions; the rest goes to the parts of goals."""


def run(task, events):
    """Do the task."""
    gc.disable()  # what is made is kept, or is freed by counting
    examples = gathered(task)
    tell(events, "examples", len(examples))
    if not examples:
        return 0
    ready = {**task, "examples": examples, "constants": constants(task, examples)}
    ready["known"] = [text for text, _ in task["constants"]]
    shares = SHARES if task["processes"] > 1 else (0.5,)
    children = [_forked(ready, share, events, len(shares)) for share in shares[1:]]
    _search(ready, shares[0], events, len(shares))
    for child in children:
        os.kill(child, signal.SIGTERM) if os.waitpid(child, os.WNOHANG)[0] == 0 else None
    return 0


def _forked(task, share, events, count):
    child = os.fork()
    if child == 0:
        try:
            _search(task, share, events, count)
        finally:
            os._exit(0)
    return child


def _search(task, share, events, count):
    most = int(task["memory_mb"] * 0.75 / count) << 10  # kilobytes

    def roomy():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < most

    search = Search(task, share, lambda text, size, tried: tell(events, "found", text, size, tried), roomy)
    why = search.run(task["budget_s"])
    tell(events, "tried", search.meter.tried, search.root.reached, why)


def tell(events, *words):
    """Write one line."""
    text = json.dumps(words).encode() + b"\n"
    while text:
        text = text[os.write(events, text) :]


def gathered(task):
    """The examples: those that the tests showed, then the given ones; none that disagree."""
    found = {}
    for line in [*task["seen"].splitlines(), *task["examples"]]:
        example = read(line, len(task["parameters"]))
        if example is not None:
            found.setdefault(repr(freeze(example.arguments)), []).append(example)
    agreed = [_agreed(same) for same in found.values()]
    valued = [one for one in agreed if one and one.how == "gives"]
    if all(type(one.wanted) is bool for one in valued):  # all that is known is truth
        return [one for one in agreed if one]
    return valued


def _agreed(same):
    """The one example that several with the same arguments are; None where they disagree."""
    valued = [one for one in same if one.how == "gives"] or same
    return valued[0] if len({repr(freeze(one.wanted)) for one in valued}) == 1 else None


def constants(task, examples):
    """The constants as text, value and cost: usual ones, those that are told, and what results have in common."""
    found = dict(DEFAULTS)
    for text, cost in task["constants"]:
        found[text] = min(cost, found.get(text, cost))
        if text.isdecimal():
            found.setdefault(f"-{text}", cost + 1)
    wanted = [one.wanted for one in examples]
    results = [repr(value) for value in wanted if type(value) in (int, str, float)]
    for text in sorted(set(results), key=results.index):
        if results.count(text) > 1:
            found.setdefault(text, 2)
    if all(type(value) is str for value in wanted):
        marks = set.intersection(*map(set, wanted))
        for char in sorted(char for char in marks if not char.isalnum()):
            found.setdefault(repr(char), 2)
    return [(text, ast.literal_eval(text), cost) for text, cost in found.items()]
