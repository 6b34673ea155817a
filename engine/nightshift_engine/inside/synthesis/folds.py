"""Functions that keep state in a loop: folds over a collection, sequences by the last two terms, and while loops.

The state in the middle of such a loop is unknown, so there can be no goal for it. Instead, expressions for one step of
the loop are enumerated on samples of states that may occur. Each of them is then run through the whole loop, with
limits, for every example.
"""

import collections
import itertools
import math
import re
import statistics

from .context import Context
from .grammar import Refused
from .kinds import small

SPACE = {
    "collections": collections, "itertools": itertools, "math": math, "statistics": statistics,
}  # fmt: skip
DEEPEST = 6
SAMPLES = 14
TURNS = 300
SOURCES = 5
STEPS, TESTS = 150, 80
"""Maximum numbers of steps and of conditions that are combined into while loops."""
UNBOUNDED = ("**", "range(", "factorial", "just(", "center(", "zfill(", "replace(", "prod(", "chr(", "' * ", "] * ")
NUMBERS = (0, 1, 2, 3, 5, 8, 12, 40)
STARTS = {
    "int": ("0", "1"),
    "float": ("0", "1"),
    "str": ("''",),
    "list": ("[]",),
    "dict": ("{}",),
    "bool": ("False", "True"),
}


class Folds:
    """The search for functions that keep state in a loop, as a task that a scheduler can run in small steps."""

    goals, depth, around = (), 1, None

    def __init__(self, search):
        self.search, self.weight = search, 0.8
        self.spent_s = self.due = 0.0
        self.reached = 0
        self._running = self._all()

    def step(self):
        """Continue for a while; always return True, which ends the time slice."""
        try:
            next(self._running)
        except StopIteration:
            self.reached = 99
        return True

    def _all(self):
        root, search = self.search.root, self.search
        while root.reached < 3:
            yield
        names = [name for name, values in root.variables if all(type(value) is int for value in values)]
        parts = [Terms(search, name) for name in names] + [While(search, name) for name in names]
        loops = sorted(root.loops, key=lambda loop: loop.source.cost)
        parts += [Fold(search, loop) for loop in loops[:SOURCES] if not loop.source.partial]
        for cost in range(1, DEEPEST + 1):
            for part in parts:
                yield from part.at(cost)


class _Stateful:
    """Base class of `Fold`, `Terms` and `While`: samples of states, and trials of the expressions over these states."""

    def __init__(self, search, states):
        self.search = search
        taken = {name for name, _ in states}
        examples = [search.used[number % len(search.used)] for number in range(SAMPLES)]
        rest = [
            (name, [example.arguments[index] for example in examples])
            for index, name in enumerate(search.parameters)
            if name not in taken
        ]
        self.names = [name for name, _ in (*states, *rest)]
        self.context = Context([*states, *rest], search.constants, search, depth=2)

    def steps(self, cost, kind, *needed):
        """Yield the expressions of a cost and kind that contain the variables `needed`.

        Yields None while the expressions are being made, so that other work can run.
        """
        while self.context.reached < cost:
            self.context.step()
            yield None
        for entry in list(self.context.bank.levels[cost].get(kind, ())):
            if (
                all(re.search(rf"\b{name}\b", entry.text) for name in needed)
                and not entry.partial
                and _is_bounded(entry)
            ):
                yield entry

    def make(self, text):
        """Compile an expression to a function of all variables."""
        return eval(f"lambda {', '.join(self.names)}: {text}", SPACE)  # noqa: S307 (in the sandbox; our own grammar)

    def try_out(self, run, text, cost):
        """Run a loop on the examples, and accept its text if the loop gives the wanted result for all examples."""
        self.search.counters.tried += 1
        try:
            right = all(
                example.fits(run(example.arguments), loose=self.search.loose) for example in self.search.examples
            )
        except Exception:  # noqa: BLE001 (an expression may raise anything)
            return
        if right:
            self.search.take_text(text, cost)


def _is_bounded(entry):
    """Check whether an expression stays cheap for states that are in no sample."""
    times = entry.kind not in {"int", "float", "bool"} and " * " in entry.text
    return not times and not any(part in entry.text for part in UNBOUNDED)


class Fold(_Stateful):
    """Loops of the form `result = start; for item in items: result = step`."""

    def __init__(self, search, loop):
        self.loop, self.item = loop, loop.target
        wanted = [example.wanted for example in search.used if example.wanted is not None]
        self.kind = search.root.goals[0].kind if search.root.goals else "none"
        self.head = self.kind.partition("[")[0]
        starts = [eval(text) for text in STARTS.get(self.head, ())]  # noqa: S307 (of the table above)
        states = list(itertools.islice(itertools.cycle([*starts, *wanted, *wanted[1:]]), SAMPLES))
        items = list(itertools.islice(itertools.cycle(loop.flat[::2] + loop.flat[1::2]), SAMPLES))
        self.fit = bool(starts) and not loop.pair
        super().__init__(search, [("result", states), (self.item, items)] if self.fit else [("result", states)])
        self.items = None if not self.fit else eval(f"lambda {', '.join(search.parameters)}: {loop.source.text}", SPACE)  # noqa: S307

    def at(self, cost):
        """Try the folds whose step has this cost; yield regularly, so that other work can run in between."""
        if not self.fit or "result" in self.search.parameters:
            return
        for entry in self.steps(cost, self.kind, "result", self.item):
            if entry is not None:
                step = self.make(entry.text)
                for start in STARTS[self.head]:
                    text = f"result = {start}\n{self.loop.head}:\n    result = {entry.text}\nreturn result"
                    self.try_out(self._run(start, step), text, self.loop.source.cost + cost + 3)
            yield

    def _run(self, start, step):
        places = [self.search.parameters.index(name) for name in self.names[2:]]

        def run(arguments):
            state = eval(start)  # noqa: S307 (of the table above)
            rest = [arguments[index] for index in places]
            for item in self.items(*arguments):
                state = step(state, item, *rest)
                if not small(state):
                    raise Refused
            return state

        return run


class Terms(_Stateful):
    """Loops of the form `a, b = first, second; for _ in range(n): a, b = b, step`."""

    def __init__(self, search, name):
        self.name = name
        lefts, rights = itertools.cycle((0, 1, 1, 2, 3, 5, 7)), itertools.cycle((1, 1, 2, 3, 5, 8, 4, 9))
        states = [("last", list(itertools.islice(lefts, SAMPLES))), ("term", list(itertools.islice(rights, SAMPLES)))]
        super().__init__(search, states)

    def at(self, cost):
        """Try the sequences whose step has this cost; yield regularly, so that other work can run in between."""
        if len(self.search.parameters) > 1 or {"last", "term"} & set(self.search.parameters):
            return
        for entry in self.steps(cost, "int", "last", "term"):
            if entry is not None and not re.search(rf"\b{self.name}\b", entry.text):
                step = self.make(entry.text)
                for first, second in itertools.product((0, 1, 2, 3), repeat=2):
                    text = (
                        f"last, term = {first}, {second}\nfor _ in range({self.name}):\n"
                        f"    last, term = term, {entry.text}\nreturn last"
                    )
                    self.try_out(self._run(first, second, step), text, cost + 4)
            yield

    @staticmethod
    def _run(first, second, step):
        def run(arguments):
            last, term = first, second
            if arguments[0] > TURNS:
                raise Refused
            for _ in range(arguments[0]):
                last, term = term, step(last, term, arguments[0])
                if not small(term):
                    raise Refused
            return last

        return run


class While(_Stateful):
    """Loops of the form `while test: n = step; count += 1`, which return the count or the last number."""

    def __init__(self, search, name):
        self.name, self.index = name, search.parameters.index(name)
        own = [example.arguments[self.index] for example in search.used]
        states = list(itertools.islice(itertools.cycle([*own[: SAMPLES // 2], *NUMBERS]), SAMPLES))
        super().__init__(search, [(name, states)])
        self.moves, self.tests = [], []

    def at(self, cost):
        """Try the loops whose step or test has this cost; yield regularly, so that other work can run in between."""
        if "count" in self.search.parameters or cost > DEEPEST - 2:
            return
        moves, tests = [], []
        for entry in self.steps(cost, "int", self.name):
            moves += [] if entry is None else [(entry, self.make(entry.text))]
            yield
        for entry in self.steps(cost, "bool", self.name):
            tests += [] if entry is None else [(entry, self.make(entry.text))]
            yield
        old = self.moves, self.tests
        self.moves, self.tests = (self.moves + moves)[:STEPS], (self.tests + tests)[:TESTS]
        pairs = itertools.chain(itertools.product(self.moves, tests), itertools.product(moves, old[1]))
        for (move, step), (test, holds) in pairs:
            self._try(move, step, test, holds)
            yield

    def _try(self, move, step, test, holds):
        head = f"while {test.text}:\n    {self.name} = {move.text}\n"
        counted = f"count = 0\n{head}    count += 1\nreturn count"
        cost = move.cost + test.cost + 3
        self.try_out(self._run(step, holds, counts=True), counted, cost + 1)
        self.try_out(self._run(step, holds, counts=False), f"{head}return {self.name}", cost)

    def _run(self, step, holds, *, counts):
        order = [self.search.parameters.index(name) for name in self.names]

        def run(arguments):
            state, count = list(arguments), 0
            while holds(*[state[index] for index in order]):
                state[self.index] = step(*[state[index] for index in order])
                count += 1
                if count > TURNS or not small(state[self.index]):
                    raise Refused
            return count if counts else state[self.index]

        return run
