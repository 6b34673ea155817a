"""The search: shares the time between contexts, collects the bodies that fit every example, and ends in time.

A solution is written as the statements of a body, which are run on every example.
"""

import ast
import copy
import re
import textwrap
import time

from .bank import Counters
from .context import Context
from .folds import Folds
from .goals import Goal
from .grammar import rules
from .kinds import freeze, kind_of

EXAMPLES = 14
"""Number of examples in a vector. A solution for these examples is then checked on all others."""
GOALS = 400
SLICE_S = 0.005
FOLDING = 0.6
"""Share of the time for the outermost expressions. A process searches for folds only if its share is smaller."""
LOOP_GOAL_WEIGHT = 8
"""Factor for the time of a loop's context once it has a goal."""
MOST_WAITING = 40
"""Maximum number of bodies that wait for the conditions of exceptions."""
LEAST_SHARE = 0.3
"""Share of the time after which a solution ends the search, even if smaller expressions are untried."""
GRACE, GRACE_S = 0.3, 0.7
"""Extra time for a smaller solution after the first solution: a share of the time until the first one, plus seconds."""
HIGHEST = 30


class Search:
    """One search.

    Args:
        task: names of the parameters, examples (arguments and result), constants (text, value, cost), texts of known
            constants, and whether an int and a float may count as equal.
        share: share of the time for the outermost context, from 0 to 1.
        report: called with the statements of each solution, their size and the number of expressions tried.
        stopped: returns the reason why the search must end, or an empty text.
        clock: returns the current time in seconds, for the time slices and the end of the search.
    """

    def __init__(self, task, share, report, stopped, clock=time.monotonic):
        self.parameters, self.examples, self.constant_texts = task["parameters"], task["examples"], task["known"]
        self.heads = set(_heads([[example.arguments, example.wanted] for example in self.examples]))
        self.share, self.report, self.stopped, self.clock = share, report, stopped, clock
        self.counters = Counters(rules(task["words"], self.heads))
        self.contexts, self._goals, self.solutions = [], set(), {}
        self.since, self.cheapest, self.now, self.until = None, 99, 0.0, 0.0
        self.waiting, self.raising, self.guards = {}, task["raising"], None
        self.used = choose(self.examples)
        variables = [
            (name, [example.arguments[index] for example in self.used]) for index, name in enumerate(self.parameters)
        ]
        self.constants = task["constants"]
        self.root = Context(variables, self.constants, self)
        self.loose = task["numbers"] or any(type(example.wanted) is float for example in self.examples)
        near = any(example.near for example in self.used)
        Goal(
            self.root, [example.wanted for example in self.used], self.take, self, 0, loose=self.loose,
            same=(lambda number, value: self.used[number].fits(value, loose=self.loose)) if near else None,
            evidence=2 * len(self.examples),
        )  # fmt: skip
        if share < FOLDING:
            self.open(Folds(self))
        self.guards = Guards(self, self.raising, self._guard) if self.raising else None

    def admits(self, context, frozen):
        """Check that a goal is new and the number of goals is not exhausted; register it."""
        key = (id(context), tuple(frozen))
        if key in self._goals or len(self._goals) >= GOALS:
            return False
        self._goals.add(key)
        return True

    def add_loop_goal(self, context, values, deliver, depth):
        """Make a goal for the items of a loop, and give the loop's context more of the time."""
        if not context.goals:
            context.weight *= LOOP_GOAL_WEIGHT
            context.due = min(context.due, self.now + SLICE_S / context.weight)
        Goal(context, values, deliver, self, depth, evidence=min(2 * len(values), 3 * len(self.examples)))

    def open(self, context):
        """Add a context to the contexts that share the time."""
        if context not in self.contexts:
            context.due = self.now + SLICE_S / context.weight
            self.contexts.append(context)

    def take(self, entry):
        """Keep an entry that solves the examples in the vectors, if it is right for all other examples too.

        If it is not, the entry may wait until the conditions for exceptions are known (see `take_text`).
        """
        self.take_text(body(entry), entry.cost)

    def take_text(self, text, cost):
        """Keep the statements of a solution if they fit all examples.

        Otherwise let the statements wait until the conditions for exceptions are known.
        """
        if not self._keep(text, cost) and self.guards is not None and len(self.waiting) < MOST_WAITING:
            self.waiting[text] = cost
            if self.guards.complete:
                self._guard()

    def _guard(self):
        """Put the conditions for exceptions before the waiting solutions."""
        for text, cost in self.waiting.items():
            self._keep(self.guards.text + text, cost)
        self.waiting.clear()

    def _keep(self, text, cost):
        """Keep a body if it fits all examples; return whether it does."""
        text, examples = tidy(text), [*self.examples, *self.raising]
        right = text in self.solutions or fits(text, self.parameters, examples, self.loose)
        if right and text not in self.solutions:
            self.solutions[text] = size(text)
            self.report(text, self.solutions[text], self.counters.tried)
            self.since = self.since or self.clock()
            self.cheapest = min(self.cheapest, cost)
        return right

    def run(self, budget_s):
        """Search until a solution was found and no smaller one is likely; return, as one word, why the search ended."""
        begun = self.clock()
        self.until = begun + budget_s
        while context := self._next():
            now = self.clock()
            if self._is_settled(now, begun, budget_s):
                return "found"
            if why := "time" if now - begun > budget_s else self.stopped():
                return why
            while self.clock() - now < SLICE_S:
                if context.step():
                    for goal in list(context.goals):
                        goal.compose()
                    break
            spent = self.clock() - now
            context.spent_s += spent
            context.due += spent / context.weight
        return "all"

    @property
    def left_s(self):
        """Seconds that are left."""
        return self.until - self.clock()

    def _is_settled(self, now, begun, budget_s):
        """Check whether a solution was found and a smaller one is unlikely to be found soon."""
        if self.since is None or now - self.since < GRACE * (self.since - begun) + GRACE_S:
            return False
        return self.root.reached >= self.cheapest - 1 or now - begun > LEAST_SHARE * budget_s

    def _next(self):
        """Return the context that gets the next slice of time: the one that is furthest below its share."""
        inner = [context for context in self.contexts if context.reached < HIGHEST and context is not self.root]
        spent = sum(context.spent_s for context in inner)
        if self.root.reached < HIGHEST and self.root.spent_s * (1 - self.share) <= spent * self.share + 0.05:
            return self.root
        chosen = min(inner, key=lambda context: context.due, default=self.root)
        self.now = max(self.now, chosen.due)
        return chosen


def _heads(values):
    """Yield the kinds of values and of the values nested in them; the part of a kind in brackets is left out."""
    for value in values:
        yield kind_of(value).partition("[")[0]
        if isinstance(value, dict):
            yield from _heads([*value, *value.values()])
        elif isinstance(value, list | tuple | set | frozenset):
            yield from _heads(value)


def choose(examples):
    """Choose the examples for the vectors: small ones, with as many different results as possible."""
    if len(examples) <= EXAMPLES:
        return examples
    ordered = sorted(examples, key=lambda example: len(repr((example.arguments, example.wanted))))
    picked, results = [], set()
    for example in ordered:
        if freeze(example.wanted) not in results and len(picked) < EXAMPLES - 4:
            results.add(freeze(example.wanted))
            picked.append(example)
    rest = [example for example in ordered if example not in picked]
    step = max(1, len(rest) // (EXAMPLES - len(picked)))
    return (picked + rest[::step])[:EXAMPLES]


class Guards:
    """The conditions under which the function raises, one for each exception.

    Args:
        search: the search for the function's result; the conditions are sought within its time limit.
        raising: the examples whose calls raise; their `wanted` is the exception's name and message.
        ready: called when the last condition was found.
    """

    def __init__(self, search, raising, ready):
        self.search, self._ready = search, ready
        self.kinds = list(dict.fromkeys(tuple(example.wanted) for example in raising))
        self.conditions = {}
        everything = [*search.used, *raising]
        variables = [
            (name, [example.arguments[index] for example in everything]) for index, name in enumerate(search.parameters)
        ]
        for kind in self.kinds:
            context = Context(variables, search.constants, search, depth=2, weight=2.0)
            wanted = [example.how == "raises" and tuple(example.wanted) == kind for example in everything]
            Goal(context, wanted, lambda entry, kind=kind: self._take(kind, entry), search, 0, evidence=len(wanted))

    @property
    def complete(self):
        """True if all conditions are known."""
        return len(self.conditions) == len(self.kinds)

    @property
    def text(self):
        """The statements that raise."""
        lines = []
        for (name, message), test in self.conditions.items():
            lines += [f"if {test}:", f"    raise {name}({message!r})" if message else f"    raise {name}"]
        return "".join(f"{line}\n" for line in lines)

    def _take(self, kind, entry):
        if kind not in self.conditions:
            self.conditions[kind] = entry.text
            if self.complete:
                self._ready()


MODULES = ("collections", "itertools", "math", "statistics", "string")
_BARE = re.compile(r"(?m)^( *\w+, \w+) = \((.+)\)$")  # matches `a, b = (0, 1)`
_FLIPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}
_OPPOSITE = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def body(entry):
    """Return the statements of a function that returns the value of an entry, without indentation."""
    if entry.tree and not _values(entry.tree) <= {"True", "False"}:
        return "\n".join(_lines(entry.tree))
    return f"return {entry.text}"


def _lines(tree):
    if isinstance(tree, str):
        return [f"return {tree}"]
    test, branch, other = tree
    return [f"if {test}:", *(f"    {line}" for line in _lines(branch)), *_lines(other)]


def _values(tree):
    return {tree} if isinstance(tree, str) else _values(tree[1]) | _values(tree[2])


def tidy(text):
    """Return the statements with constants on the right of comparisons, after the imports that they need.

    `not a == b` becomes `a != b`.
    """
    tree = _Tidier().visit(ast.parse(text))
    used = {
        node.value.id for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    imports = [f"import {name}" for name in MODULES if name in used]
    written = _BARE.sub(r"\1 = \2", ast.unparse(ast.fix_missing_locations(tree)))
    return "\n".join([*imports, *([""] if imports else []), written])


def _is_wanted(error, name, message):
    return name in {kind.__name__ for kind in type(error).__mro__} and message in str(error)


class _Tidier(ast.NodeTransformer):
    """Moves constants to the right of comparisons, and turns `not a == b` into `a != b`."""

    def visit_Compare(self, node):
        self.generic_visit(node)
        kind = type(node.ops[0])
        left, right = node.left, node.comparators[0]
        if kind in _FLIPPED and _is_constant(left) and not _is_constant(right):
            return ast.Compare(left=right, ops=[_FLIPPED[kind]()], comparators=[left])
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and type(inner.ops[0]) in _OPPOSITE:
            return ast.Compare(left=inner.left, ops=[_OPPOSITE[type(inner.ops[0])]()], comparators=inner.comparators)
        return node


def _is_constant(node):
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def size(text):
    """Return the size of statements: the number of their nodes; constants count twice."""
    nodes = [node for node in ast.walk(ast.parse(text)) if not isinstance(node, ast.expr_context | ast.operator)]
    return len(nodes) + sum(isinstance(node, ast.Constant) for node in nodes)


def fits(text, parameters, examples, loose):
    """Check that a function with this body gives the result of every example and does not change its arguments.

    Args:
        text: the statements.
        parameters: the names of the parameters.
        examples: the examples.
        loose: True if an int and a float count as equal.
    """
    space = {}
    source = f"def found({', '.join(parameters)}):\n{textwrap.indent(text, '    ')}\n"
    exec(compile(source, "<found>", "exec"), space)  # noqa: S102 (in the sandbox; made of our own grammar)
    for example in examples:
        given = copy.deepcopy(example.arguments)
        try:
            value = space["found"](*given)
        except Exception as error:  # noqa: BLE001 (an expression may raise anything)
            if example.how == "raises" and _is_wanted(error, *example.wanted):
                continue
            return False
        if (
            example.how == "raises"
            or not example.fits(value, loose=loose)
            or freeze(given) != freeze(example.arguments)
        ):
            return False
    return True
