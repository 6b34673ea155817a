"""Goals: vectors that are wanted in a context, and how a goal is taken apart into goals for its parts.

A list of the length of a collection is a goal for each item (map); a part of one in its order is a goal for a predicate
(filter); a text may be parts with a separator, or begin with a text that is known; a dict is a goal for its values.
What solves the parts is put together and delivered to the goal above.
"""

from .entry import SUM, Entry
from .kinds import ERR, freeze, kind_of_vector
from .loops import Loop, filtered, mapped
from .unify import Cover

SOURCE_COST = 5
WAYS = 12
"""How many loops a goal may try."""
DEEPEST = 4
SEPARATORS = ("", " ", ", ", ",", "-", "_", "\n", ".", ":", "/", "|", ";")
PREFIXES = 24
MOST_SOLUTIONS = 6


class Goal:
    """A vector that is wanted of a context.

    Args:
        context: where.
        values: the vector.
        deliver: called with each entry that has these values, or with a decision list that has.
        search: admits goals and shares the time.
        depth: how many goals stand above it.
        loose: numbers may be of another type.
        same: tells whether the value of the example with a number is the wanted one, where that is not plain equality.
    """

    def __init__(self, context, values, deliver, search, *, depth=0, loose=False, same=None):
        self.context, self.values, self._deliver, self.depth, self.search = context, values, deliver, depth, search
        self.kinds = {kind_of_vector([value]) for value in values}
        self.kind = kind_of_vector(values)
        if loose and self.kind in {"int", "float"}:
            self.kinds |= {"int", "float"}
        self.frozen = [freeze(value) for value in values]
        self.cover = Cover((1 << len(values)) - 1)
        self.same, self.solved = same, 0
        self.ways, self.prefixes = 0, 0
        self.open = search.admits(context, self.frozen)
        if not self.open:
            return
        context.goals.append(self)
        context.bank.want(values)
        for entry in list(context.bank.all()):
            self.see(entry)
        context.bank.watchers.append(self.see)
        search.open(context)
        self._split()

    def see(self, entry):
        """Look at a new entry of the context: for which examples it is right, and whether it leads to a part."""
        if entry.kind == "bool" and not entry.partial:
            self.cover.split(_mask(entry.vals), entry)
        if entry.kind in self.kinds or "*" in entry.kind or (entry.kind.endswith("[]") and len(entry.kind) < 7):
            right = self._right(entry)
            if right == self.cover.full:
                self.deliver(entry)
            self.cover.note(right, entry)
        if self.solved == 0 and self.depth < DEEPEST and entry.cost <= SOURCE_COST:
            self._lead(entry)

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
            found = self.cover.decide(self.search.known)
            if found is not None:
                self.deliver(found)

    def deliver(self, entry):
        """Hand a solution up."""
        self.solved += 1
        if self.solved <= MOST_SOLUTIONS:
            self._deliver(entry)

    def _split(self):
        """Make goals of parts that need no entry."""
        if self.kind == "str" and self.depth < DEEPEST:
            for separator in SEPARATORS:
                self._split_text(separator)
        elif self.kind.startswith("tuple[") and self.depth < 2:
            Parts(self)

    def _split_text(self, separator):
        if separator == "":
            parts = [list(value) for value in self.values]
        else:
            parts = [value.split(separator) for value in self.values]
        if max(map(len, parts)) < 2 or (separator and sum(map(len, parts)) < len(parts) + len(parts) // 2):
            return

        def put_together(entry):
            text = f"{separator!r}.join({entry.alone})"
            self.deliver(Entry(text, 9, entry.cost + 1))

        Goal(self.context, parts, put_together, self.search, depth=self.depth + 1)

    def _lead(self, entry):
        if self.kind.startswith(("list[", "dict[", "set[")) and self.ways < WAYS and Loop.sensible(entry):
            self._lead_loop(entry)
        elif self.kind == "str" and entry.kind == "str" and self.prefixes < PREFIXES and entry.cost <= 3:
            self._lead_prefix(entry)

    def _lead_loop(self, entry):
        for attempt in ATTEMPTS[self.kind.partition("[")[0]]:
            found = attempt(self, entry)
            if found is None:
                continue
            self.ways += 1
            wanted, write = found
            loop = self.context.loop(entry)
            made = [item for part in wanted for item in part]
            if loop.inner.depth <= 2 and len(made) == len(loop.flat):
                self._below(loop, made, write)

    def _below(self, loop, wanted, write):
        cost = loop.source.cost + 1

        def put_together(entry):
            self.deliver(write(loop, entry, entry.cost + cost))

        Goal(loop.inner, wanted, put_together, self.search, depth=self.depth + 1)

    def _lead_prefix(self, entry):
        pairs = list(zip(self.values, entry.vals, strict=True))
        if not all(type(start) is str and value.startswith(start) for value, start in pairs):
            return
        rest = [value[len(start) :] for value, start in pairs]
        if any(not start for _, start in pairs) or not any(rest):
            return
        self.prefixes += 1

        def put_together(found):
            self.deliver(Entry(f"{entry.at(SUM)} + {found.at(SUM + 1)}", SUM, entry.cost + found.cost + 1))

        Goal(self.context, rest, put_together, self.search, depth=self.depth + 1)


class Parts:
    """The goals for the parts of a tuple; delivers when each has a solution."""

    def __init__(self, goal):
        self.goal, size = goal, len(goal.values[0])
        self.found = [None] * size
        if not (2 <= size <= 4 and all(len(value) == size for value in goal.values)):
            return
        for place in range(size):
            wanted = [value[place] for value in goal.values]
            Goal(
                goal.context, wanted, lambda entry, place=place: self.take(place, entry), goal.search,
                depth=goal.depth + 1,
            )  # fmt: skip

    def take(self, place, entry):
        """A part is solved."""
        if self.found[place] is not None:
            return
        self.found[place] = entry
        if all(part is not None for part in self.found):
            text = f"({', '.join(part.text for part in self.found)})"
            self.goal.deliver(Entry(text, 9, 1 + sum(part.cost for part in self.found)))


def by_item(goal, entry):
    """A list as long as the collection: what each item must become."""
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or len(items) != len(value):
            return None
    return goal.values, mapped


def by_choice(goal, entry):
    """A part of the collection in its order: which items stay."""
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or len(items) < len(value):
            return None
        kept = _kept(list(value), list(items))
        if kept is None:
            return None
        wanted.append(kept)
    if all(all(kept) for kept in wanted):
        return None
    return wanted, filtered


def _kept(value, items):
    """Which items a sequence has, in its order; None where it has others."""
    left, found = [freeze(item) for item in reversed(value)], []
    for item in items:
        same = bool(left) and left[-1] == freeze(item)
        if same:
            left.pop()
        found.append(same)
    return None if left else found


def by_name(goal, entry):
    """A dict whose keys are the items: what each key's value is."""
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _hashable(items) or set(items) != set(value):
            return None
        wanted.append([value[item] for item in items])
    return wanted, _table


def by_presence(goal, entry):
    """A set of some of the items: which of them."""
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _hashable(items) or not value <= set(items):
            return None
        wanted.append([item in value for item in items])
    return wanted, _chosen


def _hashable(items):
    try:
        return bool(set(items)) or not items
    except TypeError:
        return False


def _table(loop, entry, cost):
    return Entry(f"{{{loop.item}: {entry.text} {loop.head}}}", 9, cost)


def _chosen(loop, entry, cost):
    made = filtered(loop, entry, cost)
    return Entry(f"{{{made.bare}}}", 9, cost)


def _mask(values):
    mask = 0
    for number, value in enumerate(values):
        if value:
            mask |= 1 << number
    return mask


ATTEMPTS = {"list": (by_item, by_choice), "dict": (by_name,), "set": (by_presence,)}
