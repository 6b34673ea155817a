"""Goals: vectors that are wanted in a context, and how a goal is taken apart into goals for its parts.

A goal of a function or of a loop's items keeps account of what is right for some of the examples, so that conditionals
can be made of it. A *part* of another goal is looked up among the entries and among those to come, which costs nothing.
"""

from . import inverses, leads
from .kinds import ERR, freeze, kind_of_vector
from .unify import Cover

LEAD_COST = 5
"""Entries up to this cost are tried as sources and as operands of what is wanted."""
DEEPEST = 4
MOST_SOLUTIONS = 6


class Part:
    """A vector that is wanted of a context.

    Args:
        context: where.
        values: the vector.
        deliver: called with each entry that has these values.
        search: admits goals and shares the time.
        depth: how many goals stand above it.
    """

    whole = False

    def __init__(self, context, values, deliver, search, depth):
        self.context, self.values, self._deliver, self.depth, self.search = context, values, deliver, depth, search
        self.kind = kind_of_vector(values)
        self.solved, self.ways, self.cheapest = 0, 0, 99
        self.open = search.admits(context, [freeze(value) for value in values])
        if self.open:
            self._begin()

    def _begin(self):
        self.context.bank.want(self.values, self.kind, self.deliver)
        if self.depth < DEEPEST and self.kind not in {"int", "float", "bool", "none"}:
            leads.split(self)
            self._follow()

    def _follow(self):
        """Look at all cheap entries, those to come included, for what leads on."""
        for entry in list(self.context.bank.all(LEAD_COST)):
            self.lead(entry)
        self.context.bank.cheap.append(self.lead)

    def lead(self, entry):
        """Look whether an entry leads to smaller goals."""
        if self.solved == 0:
            leads.follow(self, entry)

    def part(self, values, deliver):
        """Make a goal of a part, in the same context."""
        return Part(self.context, values, deliver, self.search, self.depth + 1)

    def deliver(self, entry):
        """Hand a solution up."""
        self.solved += 1
        if self.solved <= MOST_SOLUTIONS or entry.cost < self.cheapest:
            self.cheapest = min(entry.cost, self.cheapest)
            self._deliver(entry)


class Goal(Part):
    """A goal that may be met by a conditional.

    Args:
        loose: numbers may be of another type.
        same: tells whether the value of the example with a number is the wanted one, where that is not plain equality.
        evidence: how large a conditional may be.
    """

    whole = True

    def __init__(self, context, values, deliver, search, depth, *, loose=False, same=None, evidence=0):
        self.kinds = {kind_of_vector([value]) for value in values}
        if loose and self.kinds <= {"int", "float"}:
            self.kinds |= {"int", "float"}
        self.same = same
        self.cover = Cover((1 << len(values)) - 1, evidence)
        super().__init__(context, values, deliver, search, depth)

    def _begin(self):
        for entry in list(self.context.bank.all()):
            self.see(entry)
        self.context.bank.watchers.append(self.see)
        self.context.goals.append(self)
        self.search.open(self.context)
        super()._begin()
        if self.kind in {"int", "float", "bool", "none"}:
            self._follow()

    def lead(self, entry):
        """Look whether an entry leads to smaller goals."""
        if self.solved == 0:
            if self.kind in {"int", "float"}:
                inverses.follow(self, entry)
            else:
                leads.follow(self, entry)

    def see(self, entry):
        """Look at a new entry of the context: for which examples it is right."""
        if entry.kind == "bool" and not entry.partial:
            self.cover.split(_mask(entry.vals), entry)
        if entry.kind in self.kinds or "*" in entry.kind or entry.kind in {"list[]", "dict[,]", "set[]"}:
            right = self._right(entry)
            if right == self.cover.full:
                self.deliver(entry)
            self.cover.note(right, entry)

    def _right(self, entry):
        """The examples for which an entry has the wanted value."""
        right = 0
        for number, (value, wanted) in enumerate(zip(entry.vals, self.values, strict=True)):
            if (value == wanted or (self.same and self.same(number, value))) and value is not ERR:
                right |= 1 << number
        return right

    def compose(self):
        """Try to join what is right for some of the examples."""
        if not self.solved and len(self.values) > 2:
            found = self.cover.decide(self.search.known, self.search.left_s / 3)
            if found is not None:
                self.deliver(found)


def _mask(values):
    mask = 0
    for number, value in enumerate(values):
        if value:
            mask |= 1 << number
    return mask
