"""Goals: vectors that are wanted in a context, and the decomposition of a goal into goals for its parts.

A `Goal` is made for the function's result and for the items of a loop. It records which expressions are right for some
of the examples, so that conditionals can be made from them. A plain `Part` is made for a part of another goal. Such a
part is only looked up among present and future entries, which costs nothing.

A wanted collection or text is made by a loop over an existing collection, or by joining parts. A wanted number is
approached by inverses: if `a + E` is wanted and `a` is known, so is `E`. That halves the depth of the search for
arithmetic: expressions built from the arguments meet values derived from the results.
"""

from .context import Loop, filter_items, map_items, table
from .decision_trees import PartialSolutions
from .expression import PRODUCT, SIGN, SUM, Entry
from .kinds import ERR, freeze, kind_of_vector

MOST_PART_COST = 5
"""Maximum cost of the entries that are tried as sources and operands of a wanted value."""
DEEPEST = 4
MOST_SOLUTIONS = 6


class Part:
    """A vector that is wanted in a context.

    Args:
        context: the context.
        values: the vector.
        deliver: called with each entry that has these values.
        search: admits goals and shares the time.
        depth: number of goals that this goal is nested in.
    """

    def __init__(self, context, values, deliver, search, depth):
        self.context, self.values, self._deliver, self.depth, self.search = context, values, deliver, depth, search
        self.kind = kind_of_vector(values)
        self.solved, self.attempts, self.cheapest = 0, 0, 99
        if search.admits(context, [freeze(value) for value in values]):
            self._begin()

    def _begin(self):
        self.context.bank.subscribe(self.values, self.kind, self.deliver)
        if self.depth < DEEPEST and self.kind not in {"int", "float", "bool", "none"}:
            split(self)
            self._follow()

    def _follow(self):
        """Try all cheap entries, present and future, as parts."""
        for entry in list(self.context.bank.all(MOST_PART_COST)):
            self.take_part(entry)
        self.context.bank.cheap.append(self.take_part)

    def take_part(self, entry):
        """Assume that an entry is a part of the solution, and make goals for the remaining parts."""
        if self.solved == 0:
            decompose(self, entry)

    def part(self, values, deliver):
        """Make a goal for a part, in the same context."""
        return Part(self.context, values, deliver, self.search, self.depth + 1)

    def deliver(self, entry):
        """Pass a solution to the goal that needs it."""
        self.solved += 1
        if self.solved <= MOST_SOLUTIONS or entry.cost < self.cheapest:
            self.cheapest = min(entry.cost, self.cheapest)
            self._deliver(entry)


class Goal(Part):
    """A goal that may be solved by a conditional.

    Args:
        loose: True if an int and a float count as equal.
        same: checks whether a value is the wanted one; called with the number of an example and the value. None if
            plain equality suffices.
        evidence: maximum cost of a conditional.
    """

    def __init__(self, context, values, deliver, search, depth, *, loose=False, same=None, evidence=0):
        self.kinds = {kind_of_vector([value]) for value in values}
        if loose and self.kinds <= {"int", "float"}:
            self.kinds |= {"int", "float"}
        self.same = same
        self.partials = PartialSolutions((1 << len(values)) - 1, evidence)
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

    def take_part(self, entry):
        """Assume that an entry is a part of the solution, and make goals for the remaining parts."""
        if self.solved == 0:
            if self.kind in {"int", "float"}:
                invert(self, entry)
            else:
                decompose(self, entry)

    def see(self, entry):
        """Note the examples for which a new entry of the context is right."""
        if entry.kind == "bool" and not entry.partial:
            self.partials.split(_mask(entry.vals), entry)
        if entry.kind in self.kinds or "*" in entry.kind or entry.kind in {"list[]", "dict[,]", "set[]"}:
            right = self._right(entry)
            if right == self.partials.full:
                self.deliver(entry)
            self.partials.note(right, entry)

    def _right(self, entry):
        """Return the set of examples for which an entry has the wanted value."""
        right = 0
        for number, (value, wanted) in enumerate(zip(entry.vals, self.values, strict=True)):
            if (value == wanted or (self.same and self.same(number, value))) and value is not ERR:
                right |= 1 << number
        return right

    def compose(self):
        """Try to join expressions that are right for some of the examples into a conditional."""
        if not self.solved and len(self.values) > 2:
            entry = self.partials.decide(self.search.constant_texts, self.search.left_s / 3)
            if entry is not None:
                self.deliver(entry)


def _mask(values):
    mask = 0
    for number, value in enumerate(values):
        if value:
            mask |= 1 << number
    return mask


# The functions and the class below make goals for the parts of collections and texts.


MOST_ATTEMPTS = 12
"""Maximum number of loops, prefixes and suffixes that one goal may try."""
SEPARATORS = ("", " ", ", ", ",", "-", "_", "\n", ".", ":", "/", "|", ";")


def split(goal):
    """Make goals for parts that need no entry: the words or letters of a text, or the items of a tuple."""
    if goal.kind == "str":
        for separator in SEPARATORS:
            _split_text(goal, separator)
    elif goal.kind.startswith("tuple[") and goal.depth < 3:
        TupleParts(goal)


def _split_text(goal, separator):
    parts = [value.split(separator) if separator else list(value) for value in goal.values]
    if max(map(len, parts)) < 2 or (separator and sum(map(len, parts)) < len(parts) + len(parts) // 2):
        return
    goal.part(parts, lambda entry: goal.deliver(Entry(f"{separator!r}.join({entry.alone})", 9, entry.cost + 1)))


class TupleParts:
    """The goals for the items of a tuple; delivers the tuple once each item has a solution."""

    def __init__(self, goal):
        size = len(goal.values[0])
        self.goal, self.parts = goal, [None] * size
        if 2 <= size <= 4 and all(len(value) == size for value in goal.values):
            for index in range(size):
                goal.part([value[index] for value in goal.values], lambda entry, index=index: self.take(index, entry))

    def take(self, index, entry):
        """Keep the first solution for an item, and deliver the tuple once all items have one."""
        if self.parts[index] is None:
            self.parts[index] = entry
            if all(part is not None for part in self.parts):
                text = f"({', '.join(part.text for part in self.parts)})"
                self.goal.deliver(Entry(text, 9, 1 + sum(part.cost for part in self.parts)))


def decompose(goal, entry):
    """Make the goals that remain if an entry is what a loop runs over, or a prefix or suffix of the result."""
    if goal.attempts >= MOST_ATTEMPTS:
        return
    head = goal.kind.partition("[")[0]
    if head in LOOP_RULES and Loop.sensible(entry):
        for attempt in LOOP_RULES[head]:
            loop_goal = attempt(goal, entry)
            if loop_goal is not None:
                _add_loop_goal(goal, entry, *loop_goal)
    if head in {"str", "list"} and entry.kind.startswith(head) and not entry.partial and any(entry.vals):
        _remainder_goals(goal, entry)


def _add_loop_goal(goal, entry, wanted, write):
    """Make a goal for the items of a loop."""
    loop = goal.context.loop(entry)
    flat = [item for part in wanted for item in part]
    if loop.inner.depth > 2 or len(flat) != len(loop.flat):
        return
    goal.attempts += 1
    cost = entry.cost + 1
    goal.search.add_loop_goal(
        loop.inner,
        flat,
        lambda inner_entry: goal.deliver(write(loop, inner_entry, inner_entry.cost + cost)),
        goal.depth + 1,
    )


def _remainder_goals(goal, entry):
    """Make goals for the rest of a text or list whose prefix or suffix is known."""
    pairs = list(zip(goal.values, entry.vals, strict=True))
    if any(len(value) < len(part) for value, part in pairs):
        return
    if all(value[: len(start)] == start for value, start in pairs):
        goal.attempts += 1
        rest = [value[len(start) :] for value, start in pairs]
        goal.part(rest, lambda rest_entry: goal.deliver(_add(entry, rest_entry)))
    if all(value[len(value) - len(end) :] == end for value, end in pairs):
        goal.attempts += 1
        rest = [value[: len(value) - len(end)] for value, end in pairs]
        goal.part(rest, lambda rest_entry: goal.deliver(_add(rest_entry, entry)))


def _add(left, right):
    return Entry(f"{left.at(SUM)} + {right.at(SUM + 1)}", SUM, left.cost + right.cost + 1)


def by_item(goal, entry):
    """Return the value that each item must become, and a writer (see `LOOP_RULES`).

    None unless each wanted list is as long as its collection.
    """
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or len(items) != len(value):
            return None
    return goal.values, map_items


def by_choice(goal, entry):
    """Return for each item whether it stays in the wanted list, and a writer (see `LOOP_RULES`).

    None unless each wanted list is a subsequence of its collection. Also None if no item is dropped.
    """
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or len(items) < len(value):
            return None
        matches = _match_items(list(value), list(items))
        if matches is None:
            return None
        wanted.append(matches)
    return None if all(map(all, wanted)) else (wanted, filter_items)


def _match_items(value, items):
    """Mark the items that form the subsequence `value`; None if `value` is not a subsequence."""
    left, matches = [freeze(item) for item in reversed(value)], []
    for item in items:
        same = bool(left) and left[-1] == freeze(item)
        if same:
            left.pop()
        matches.append(same)
    return None if left else matches


def by_name(goal, entry):
    """Return the value that each item has as a key of the wanted dict, and a writer (see `LOOP_RULES`).

    None unless the items are the keys of the dict.
    """
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _hashable(items) or set(items) != set(value):
            return None
        wanted.append([value[item] for item in items])
    return wanted, table


def by_second(goal, entry):
    """Return the value that each item's second part has as a key of the wanted dict, and a writer.

    None unless the items are pairs whose second parts are the keys of the dict. Writers are explained at `LOOP_RULES`.
    """
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _pairs(items) or {item[1] for item in items} != set(value):
            return None
        wanted.append([value[item[1]] for item in items])
    return wanted, _turn


def _pairs(items):
    return all(type(item) is tuple and len(item) == 2 and _hashable([item[1]]) for item in items)


def _turn(loop, entry, cost):
    name = loop.names[1] if loop.pair else f"{loop.target}[1]"
    return Entry(f"{{{name}: {entry.text} {loop.head}}}", 9, cost)


def by_presence(goal, entry):
    """Return which items of the collection are in the wanted set, and a writer (see `LOOP_RULES`).

    None unless every wanted set contains only items of its collection.
    """
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _hashable(items) or not value <= set(items):
            return None
        wanted.append([item in value for item in items])
    return wanted, _choose


def _hashable(items):
    try:
        return bool(set(items)) or not items
    except TypeError:
        return False


def _choose(loop, entry, cost):
    return Entry(f"{{{filter_items(loop, entry, cost).bare}}}", 9, cost)


LOOP_RULES = {"list": (by_item, by_choice), "dict": (by_name, by_second), "set": (by_presence,)}
"""Ways in which a loop may make a collection, by the collection's kind. Each function returns the value that the loop's
inner expression must have for each item, and a writer: the function that makes the entry of the whole loop.
"""


# The functions below make goals for numbers by inverting arithmetic.


MOST_OPERANDS = 160
"""Maximum number of operands that are tried for one goal."""
OPERAND_COST = 3


def invert(goal, entry):
    """Subscribe to each vector that, combined with an entry by an operation, gives the goal's vector."""
    if (
        entry.kind not in {"int", "float"}
        or entry.cost > OPERAND_COST
        or entry.partial
        or goal.attempts >= MOST_OPERANDS
    ):
        return
    goal.attempts += 1
    if entry.text == "0":
        return
    for function, write in INVERSES[: SUMS if entry.text == "1" else None]:
        wanted = _values(function, goal.values, entry.vals)
        if wanted is not None:
            goal.context.bank.subscribe_near(wanted, lambda partner, write=write: goal.deliver(write(partner, entry)))


def _values(function, values, operands):
    results = []
    for value, operand in zip(values, operands, strict=True):
        try:
            results.append(function(value, operand))
        except (ArithmeticError, TypeError):
            return None
    return None if ERR in results else results


def _divide(value, operand):
    """Return the quotient; an int if two ints divide evenly."""
    if type(value) is int and type(operand) is int:
        quotient, rest = divmod(value, operand)
        if rest == 0:
            return quotient
    return value / operand


def _write(template, rank, left, right):
    def write(partner, entry):
        text = template.format(partner=partner.at(left), entry=entry.at(right))
        return Entry(text, rank, partner.cost + entry.cost + 1)

    return write


SUMS = 3
INVERSES = (
    (lambda value, a: value - a, _write("{partner} + {entry}", SUM, SUM, PRODUCT)),
    (lambda value, a: value + a, _write("{partner} - {entry}", SUM, SUM, PRODUCT)),
    (lambda value, a: a - value, _write("{entry} - {partner}", SUM, PRODUCT, SUM)),
    (_divide, _write("{partner} * {entry}", PRODUCT, PRODUCT, SIGN)),
    (lambda value, a: value * a, _write("{partner} / {entry}", PRODUCT, PRODUCT, SIGN)),
    (lambda value, a: a / value, _write("{entry} / {partner}", PRODUCT, SIGN, PRODUCT)),
)
"""Rows of two functions. The first computes the unknown operand from the wanted value and the known operand. The second
makes the entry of the operation.
"""
