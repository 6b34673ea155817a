"""Contexts and loops: the expressions over some variables, and those over the items of a collection.

A context has a bank over its variables; the variables of the outermost context are the function's arguments. Contexts
grow in small steps, so that a scheduler can share the time between them.

A loop over a collection `xs` has an inner context whose examples are the items. Each inner expression `E` gives outer
expressions such as `[E for x in xs]`, `sum(E for x in xs)` and `sorted(xs, key=lambda x: E)`. Each inner predicate is
used to filter and count the items, and in `all` and `any`. If the wanted value of a loop determines the value that each
item must give, the inner context gets this as a goal. Finding an inner expression is then much cheaper than finding the
whole expression.
"""

from .bank import Bank
from .expression import NUMBERS, OR, PLAIN, Entry
from .grammar import glue
from .kinds import ERR, FLAT, inner, kind_of_vector

MOST_ITEMS = 400
NAMES = ("item", "other", "third")
PAIRS = {"items()": ("key", "value"), "enumerate(": ("index", "item"), "zip(": ("first", "second")}


class Loop:
    """A loop over the values of an entry; each value is a collection.

    Args:
        source: the entry.
        context: the context of the entry.
        open_context: makes the inner context from its variables and this loop.
    """

    def __init__(self, source, context, open_context):
        self.source, self.context = source, context
        self.values = [ERR if value is ERR else list(value) for value in source.vals]
        self.names = self._name(context.names)
        self.spans, flat, owner = [], [], []
        for number, items in enumerate(self.values):
            begin = len(flat)
            if items is not ERR:
                flat += items
                owner += [number] * len(items)
            self.spans.append((begin, len(flat)))
        self.owner, self.flat = owner, flat
        self.inner = open_context(self._variables(flat), self)

    @staticmethod
    def sensible(entry):
        """Check whether looping over an entry makes sense."""
        if not entry.kind.startswith(("list[", "str", "tuple[", "dict[")) or entry.constant or entry.kind == "list[]":
            return False
        sizes = [len(value) for value in entry.vals if value is not ERR]
        return 0 < sum(sizes) <= MOST_ITEMS and max(sizes) > 1

    @property
    def pair(self):
        """True if the head of the loop unpacks each item."""
        return len(self.names) > 1

    @property
    def target(self):
        """The text between `for` and `in`."""
        return ", ".join(self.names)

    @property
    def item(self):
        """The item as an expression."""
        return f"({self.target})" if self.pair else self.target

    @property
    def head(self):
        """The clause of the loop; if the source is a comprehension that filters, the clause with its condition."""
        clause = self.source.clause
        if clause:
            return f"{clause[1]} if {clause[2]}"
        return f"for {self.target} in {self.source.loop}"

    def outside(self, values):
        """Group inner values into one list per outer example; `ERR` if a value or the collection is `ERR`."""
        lists = []
        for (begin, end), items in zip(self.spans, self.values, strict=True):
            part = values[begin:end]
            lists.append(ERR if items is ERR or ERR in part else part)
        return lists

    def _name(self, taken):
        if self.source.clause:
            return self.source.clause[0]
        items = [item for value in self.values if value is not ERR for item in value]
        if items and all(type(item) is tuple and len(item) == 2 for item in items):
            pair_names = next((names for mark, names in PAIRS.items() if mark in self.source.loop), ("first", "second"))
            if not set(pair_names) & taken:
                return pair_names
        names = ("char",) if self.source.kind == "str" else ("word",) if "split(" in self.source.loop else ()
        names += ("number",) if inner(self.source.kind) in NUMBERS else ()
        return (next(name for name in (*names, *NAMES, *(f"item{n}" for n in range(99))) if name not in taken),)

    def _variables(self, flat):
        if not self.pair:
            return [(self.names[0], flat)]
        return [(name, [item[index] for item in flat]) for index, name in enumerate(self.names)]

    def lift(self, level):
        """Make outer entries from the inner entries of a level; yield regularly, so that other work can run."""
        cost = self.source.cost + level + 1
        for entries in list(self.inner.bank.levels[level].values()):
            for entry in list(entries):
                if entry.depends and entry.text != self.item:
                    self._lift(entry, cost)
                    yield

    def _lift(self, entry, cost):
        results = self.outside(entry.vals)
        for kinds, key_like, function, write in LIFTS:
            if not kinds(entry.kind) or (key_like and self.pair):
                continue
            if write is table and "dict" not in self.context.search.heads:
                continue
            self.context.counters.tried += 1
            values = [_value(function, items, result) for items, result in zip(self.values, results, strict=True)]
            if values.count(ERR) > len(values) // 2:
                continue
            new_entry = write(self, entry, cost)
            new_entry.vals, new_entry.partial, new_entry.depends = (
                values,
                ERR in values,
                self.source.depends or new_entry.depends,
            )
            self.context.bank.add(new_entry)


def _value(function, items, results):
    if results is ERR:
        return ERR
    try:
        return function(items, results)
    except Exception:  # noqa: BLE001 (an expression may raise anything)
        return ERR


def map_items(loop, entry, cost):
    """Return the entry `[E for x in xs]`."""
    if entry.text.startswith("(") and entry.text == loop.item:
        return Entry(loop.source.text, loop.source.rank, cost)
    bare = f"{entry.text} {loop.head}"
    new_entry = Entry(f"[{bare}]", 9, cost, depends=loop.source.depends)
    new_entry.bare = bare
    return new_entry


def filter_items(loop, entry, cost):
    """Return the entry `[x for x in xs if P]`."""
    old, test = loop.source.clause, entry.at(OR + 1)
    test = f"{old[2]} and {test}" if old else entry.at(OR)
    head = old[1] if old else f"for {loop.target} in {loop.source.loop}"
    bare = f"{loop.item} {head} if {test}"
    new_entry = Entry(f"[{bare}]", 9, cost, depends=loop.source.depends)
    new_entry.bare, new_entry.clause = bare, (loop.names, head, test)
    return new_entry


def call_with(name, ending=""):
    """Return a function that makes the entry `name(E for x in xs)`."""
    return lambda loop, entry, cost: Entry(f"{name}({entry.text} {loop.head}{ending})", 9, cost)


def call_with_key(name):
    """Return a function that makes the entry `name(xs, key=lambda x: E)`."""

    def write(loop, entry, cost):
        return Entry(f"{name}({loop.source.loop}, key={_key(loop.target, entry.text)})", 9, cost)

    return write


def _key(name, text):
    """Return the text of a function of one argument: a name if the text is just a call of that name, else a lambda."""
    head, call, _ = text.partition(f"({name})")
    is_simple = call and text == head + call and head.replace(".", "").isidentifier() and name not in head.split(".")
    return head if is_simple else f"lambda {name}: {text}"


def _first(loop, entry, cost):
    return Entry(f"next(({loop.item} {loop.head} if {entry.at(OR)}), None)", 9, cost)


def _count(loop, entry, cost):
    return Entry(f"sum({entry.text} {loop.head})", 9, cost)


def table(loop, entry, cost):
    """Return the entry `{x: E for x in xs}`."""
    return Entry(f"{{{loop.item}: {entry.text} {loop.head}}}", 9, cost)


def _by_key(items, keys, *, reverse=False):
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    return [items[index] for index in order]


def _is_bool(kind):
    return kind == "bool"


def _is_number(kind):
    return kind in NUMBERS


def _is_text(kind):
    return kind == "str"


def _orders(kind):
    return (kind in FLAT and kind not in {"bool", "none"}) or kind.startswith("tuple[")


def _maps(kind):
    return kind != "bool"


LIFTS = (
    (_maps, False, lambda _items, results: results, map_items),
    (_is_bool, False, lambda items, results: [x for x, flag in zip(items, results, strict=True) if flag], filter_items),
    (_is_bool, False, lambda _items, results: sum(results), _count),
    (_is_bool, False, lambda _items, results: all(results), call_with("all")),
    (_is_bool, False, lambda _items, results: any(results), call_with("any")),
    (_is_bool, False, lambda items, results: next((x for x, flag in zip(items, results, strict=True) if flag), None),
     _first),
    (_is_number, False, lambda _items, results: sum(results), call_with("sum")),
    (_is_text, False, lambda _items, results: glue("", results), call_with("''.join")),
    (_maps, False, lambda items, results: dict(zip(items, results, strict=True)), table),
    (_orders, True, _by_key, call_with_key("sorted")),
    (_orders, True, lambda items, keys: items[keys.index(max(keys))], call_with_key("max")),
    (_orders, True, lambda items, keys: items[keys.index(min(keys))], call_with_key("min")),
)  # fmt: skip
"""Rows: a check of the inner expression's kind; whether the inner expression is a sort key; a function that computes
the outer value; a function that makes the outer entry.
"""


LIFTED_TO = 6
"""Maximum cost of the inner expressions from which outer expressions are made."""
LOOPS = (12, 3, 0)
"""Number of loops of a context, by the depth of the context; loops for goals are extra."""
SOURCE_COST = (4, 2, 0)
LIFTED, LIFTED_COST = 8, 3


class Context:
    """A bank, its loops and its goals.

    Args:
        variables: pairs of name and vector.
        constants: triples of text, value and cost.
        search: shares the time, and counts tried expressions.
        depth: number of loops around the context.
        names: names that variables around it use.
        outer: entries of the context around it, with their values lifted to this context's examples.
        weight: share of the time, relative to other contexts.
        around: the loop whose inner context this is.
    """

    def __init__(self, variables, constants, search, *, depth=0, names=frozenset(), outer=(), weight=1.0, around=None):
        self.variables, self.constants, self.depth = variables, constants, depth
        self.search, self.counters = search, search.counters
        self.names = names | {name for name, _ in variables}
        self.size = len(variables[0][1])
        self.loops, self.goals, self._by_source = [], [], {}
        self.spent_s, self.due, self.weight = 0.0, 0.0, weight
        self.around = around
        leaves = [_variable(name, values, depth) for name, values in variables]
        leaves += [*outer, *(_constant(text, value, cost, self.size) for text, value, cost in constants)]
        self.bank = Bank(self.size, leaves, self.counters)
        self.bank.watchers.append(self._see)
        self._growing = None

    @property
    def reached(self):
        """Cost up to which all entries exist."""
        return self.bank.reached

    def step(self):
        """Grow the context a little; return whether all entries of a further cost now exist."""
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
        """Return the loop over an entry; the same entry always gives the same loop."""
        if entry not in self._by_source:
            self._by_source[entry] = new_loop = Loop(entry, self, self._inside)
            self.search.open(new_loop.inner)
        return self._by_source[entry]

    def _inside(self, variables, loop):
        """Make the inner context of a loop."""
        owner = loop.owner
        seen = [(name, values) for name, values in self.variables if ERR not in values]
        outer = [_lift_entry(Entry(name, 9, 1, values), owner) for name, values in seen]
        cheap = [e for e in self.bank.all(LIFTED_COST) if e.cost > 1 and e.kind in PLAIN - {"bool"} and not e.partial]
        outer += [_lift_entry(entry, owner) for entry in cheap[:LIFTED]]
        return Context(
            variables, self.constants, self.search, depth=self.depth + 1, names=self.names, outer=outer,
            weight=self.weight / (1 + loop.source.cost) ** (3 if _is_reordered(loop.source) else 2), around=loop,
        )  # fmt: skip


def _is_reordered(entry):
    """Check whether an entry only changes the order, form or letter case of another entry, which rarely matters."""
    text = entry.text
    if entry.kind == "str":
        return entry.cost > 1 and not text.endswith((".lower()", ".strip()"))
    dull = text.startswith(("sorted(", "tuple(", "list(dict", "[")) or text.endswith(":]") or ":-1]" in text
    return dull or (text.startswith("list(") and text.count("(") == 1)


def _variable(name, values, depth):
    variable = Entry(name, 9, 1, values, kind_of_vector(values), depends=depth > 0)
    variable.partial = ERR in values
    return variable


def _constant(text, value, cost, size):
    constant = Entry(text, 7 if text.startswith("-") else 9, cost, [value] * size, kind_of_vector([value]))
    constant.constant = True
    return constant


def _lift_entry(entry, owner):
    return Entry(entry.text, entry.rank, entry.cost, [entry.vals[number] for number in owner])
