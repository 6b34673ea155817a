"""A context: a bank over some variables with its loops and goals. The outermost one has the function's arguments.

Contexts grow in small steps, so that a scheduler can share the time between them. A loop's context has goals where the
value that is wanted of the loop tells what each turn must give; growing it then is much cheaper than finding the whole.
"""

from .bank import Bank
from .entry import Entry
from .kinds import ERR, kind_of_vector
from .loops import Loop
from .rule import PLAIN

LIFTED_TO = 6
"""Inner expressions up to this cost are made into outer ones."""
LOOPS = (12, 3, 0)
"""How many loops a context has, by its depth; those of goals come besides."""
SOURCE_COST = (4, 2, 0)
LIFTED, LIFTED_COST = 8, 3


class Context:
    """A bank, its loops and its goals.

    Args:
        variables: pairs of name and vector.
        constants: triples of text, value and cost.
        search: shares the time, and counts what is tried.
        depth: how many loops it lies in.
        names: taken by variables around it.
        outer: entries of the context around it, with their values lifted to its examples.
        weight: how much of the time it should have, compared with others.
        around: the loop whose context it is.
    """

    def __init__(self, variables, constants, search, *, depth=0, names=frozenset(), outer=(), weight=1.0, around=None):
        self.variables, self.constants, self.depth = variables, constants, depth
        self.search, self.meter = search, search.meter
        self.names = names | {name for name, _ in variables}
        self.size = len(variables[0][1])
        self.loops, self.goals, self._by_source = [], [], {}
        self.spent_s, self.due, self.weight = 0.0, 0.0, weight
        self.around = around
        leaves = [_variable(name, values, depth) for name, values in variables]
        leaves += [*outer, *(_constant(text, value, cost, self.size) for text, value, cost in constants)]
        self.bank = Bank(self.size, leaves, self.meter)
        self.bank.watchers.append(self._see)
        self._growing = None

    @property
    def reached(self):
        """The cost up to which all entries are there."""
        return self.bank.reached

    def step(self):
        """Grow a little; tells whether a level was completed."""
        if self._growing is None:
            self._growing = self._level()
        try:
            next(self._growing)
        except StopIteration:
            self._growing = None
            return True
        return False

    def _level(self):
        yield from self.bank.grow()
        if self.around is not None and self.reached <= LIFTED_TO:
            yield from self.around.lift(self.reached)

    def _see(self, entry):
        most = LOOPS[self.depth]
        if entry.cost > SOURCE_COST[self.depth] or len(self.loops) >= most or (self.depth and not entry.depends):
            return
        if Loop.sensible(entry) and not _is_reordered(entry):
            self.loops.append(self.loop(entry))

    def loop(self, entry):
        """The loop over an entry; the same one each time."""
        if entry not in self._by_source:
            self._by_source[entry] = made = Loop(entry, self, self._inside)
            self.search.open(made.inner)
        return self._by_source[entry]

    def _inside(self, variables, loop):
        """The context of a loop."""
        owner = loop.owner
        seen = [(name, values) for name, values in self.variables if ERR not in values]
        outer = [_lifted(Entry(name, 9, 1, values), owner) for name, values in seen]
        cheap = [e for e in self.bank.all(LIFTED_COST) if e.cost > 1 and e.kind in PLAIN - {"bool"} and not e.partial]
        outer += [_lifted(entry, owner) for entry in cheap[:LIFTED]]
        return Context(
            variables, self.constants, self.search, depth=self.depth + 1, names=self.names, outer=outer,
            weight=self.weight / (1 + loop.source.cost) ** (3 if _is_reordered(loop.source) else 2), around=loop,
        )  # fmt: skip


def _is_reordered(entry):
    """Tell whether an entry has the items of another in other places or in other letters: few results depend on it."""
    text = entry.text
    if entry.kind == "str":
        return entry.cost > 1 and not text.endswith((".lower()", ".strip()"))
    dull = text.startswith(("sorted(", "tuple(", "list(dict", "[")) or text.endswith(":]") or ":-1]" in text
    return dull or (text.startswith("list(") and text.count("(") == 1)


def _variable(name, values, depth):
    made = Entry(name, 9, 1, values, kind_of_vector(values), depends=depth > 0)
    made.partial = ERR in values
    return made


def _constant(text, value, cost, size):
    made = Entry(text, 7 if text.startswith("-") else 9, cost, [value] * size, kind_of_vector([value]))
    made.constant = True
    return made


def _lifted(entry, owner):
    return Entry(entry.text, entry.rank, entry.cost, [entry.vals[number] for number in owner])
