"""Bottom-up enumeration: all expressions of the grammar, the smallest first, one for each vector of values.

A vector holds the value of an expression for each example. Expressions are reduced by observational equivalence, after
Udupa et al., “TRANSIT” (PLDI 2013), and Albarghouthi, Gulwani and Kincaid, “Recursive Program Synthesis” (CAV 2013):
two expressions with the same values for all examples are interchangeable in larger expressions, so the smaller one
represents both.
"""

from collections import defaultdict

from .expression import NUMBERS, SPECS
from .kinds import ERR, key, kind_of_vector

CHEAP = 5
HEAVY = 40
"""Maximum length of a collection, averaged over the examples; longer results of a rule are dropped."""
PAUSE_EVERY = 256
"""Number of expressions between two checks of the clock."""
MOST, MOST_VALUES = 40_000, 400_000
"""Limits of one bank: the number of its entries, and the total number of their values. They bound the memory; entries
beyond these limits are only compared with goals.
"""


class Counters:
    """Counts the expressions that were evaluated; `rules` are the rules of the grammar."""

    def __init__(self, rules):
        self.rules, self.tried, self.since_pause = rules, 0, 0


class Bank:
    """The expressions over some variables.

    Args:
        size: number of values in a vector.
        leaves: initial entries, with their values.
        counters: counts the evaluated expressions.

    The functions in `watchers` are called with each entry that is kept. Those in `cheap` are called only with entries
    up to the cost `CHEAP`.
    """

    def __init__(self, size, leaves, counters):
        self.size, self.counters, self.watchers = size, counters, []
        self.levels = defaultdict(lambda: defaultdict(list))
        self.reached, self.count, self.most = 0, 0, min(MOST, MOST_VALUES // size)
        self.subscribers, self.near_subscribers = defaultdict(dict), {}
        self.cheap = []
        self._seen = defaultdict(set)
        self._leaves = defaultdict(list)
        for leaf in leaves:
            self._leaves[leaf.cost].append(leaf)
        self._fits = {}

    def all(self, most_cost=99):
        """Yield the kept entries, by cost."""
        for cost in range(1, min(self.reached + 1, most_cost) + 1):
            for entries in list(self.levels[cost].values()) if cost in self.levels else ():
                yield from list(entries)

    def grow(self):
        """Make the entries of the next cost; yield regularly, so that other work can run in between."""
        cost = self.reached + 1
        for leaf in self._leaves.pop(cost, ()):
            self.add(leaf)
        for rule in self.counters.rules:
            if rule.cost < cost:
                yield from self._apply(rule, cost)
        self.reached = cost

    def add(self, entry):
        """Keep an entry with its values, unless the bank already saw an entry with the same vector."""
        if not entry.kind:
            entry.kind = kind_of_vector(entry.vals)
        if self._is_new(entry.kind, key(entry.kind, entry.vals)):
            self._keep(entry)

    def _is_new(self, kind, vector):
        """Check whether a vector is to be kept; a full bank keeps only vectors that have subscribers."""
        seen = self._seen[kind]
        if vector in seen or (self.count >= self.most and vector not in self.subscribers[kind]):
            return False
        seen.add(vector)
        return True

    def _keep(self, entry):
        self.count += 1
        self.levels[entry.cost][entry.kind].append(entry)
        for watch in self.watchers:
            watch(entry)
        if entry.cost <= CHEAP:
            for watch in list(self.cheap):
                watch(entry)
        if self.subscribers[entry.kind]:
            for deliver in self.subscribers[entry.kind].get(key(entry.kind, entry.vals), ()):
                deliver(entry)
        if self.near_subscribers and entry.kind in NUMBERS and not entry.partial:
            for deliver in self.near_subscribers.get(_near(entry.vals), ()):
                deliver(entry)

    def _apply(self, rule, cost):
        arity = len(rule.specs)
        for costs in _shares(cost - rule.cost, arity):
            if arity == 2 and rule.commutes and costs[0] > costs[1]:
                continue
            for kinds in self._kinds(rule, costs):
                if arity == 1:
                    yield from self._singles(rule, self.levels[costs[0]][kinds[0]], cost)
                elif arity == 2:
                    yield from self._pairs(rule, costs, kinds, cost)
                else:
                    yield from self._triples(rule, costs, kinds, cost)

    def _kinds(self, rule, costs):
        """Return the combinations of argument kinds that the rule accepts, for arguments with these costs."""
        choices = [()]
        for spec, cost in zip(rule.specs, costs, strict=True):
            fitting = [kind for kind in self.levels[cost] if self._fit(spec, kind)]
            choices = [(*choice, kind) for choice in choices for kind in fitting]
        return [kinds for kinds in choices if rule.fits is None or rule.fits(*kinds)]

    def _fit(self, spec, kind):
        is_fit = self._fits.get((spec, kind))
        if is_fit is None:
            is_fit = self._fits[spec, kind] = bool(SPECS[spec](kind))
        return is_fit

    def _singles(self, rule, entries, cost):
        for entry in list(entries):
            if not entry.constant:
                self.offer(rule, (entry,), cost)
        self.counters.since_pause += len(entries)
        if self.counters.since_pause >= PAUSE_EVERY:
            yield from self._pause()

    def _pairs(self, rule, costs, kinds, cost):
        firsts, seconds = self.levels[costs[0]][kinds[0]][:], self.levels[costs[1]][kinds[1]][:]
        twice = rule.commutes and costs[0] == costs[1]
        if twice and kinds[0] > kinds[1]:
            return
        for index, first in enumerate(firsts):
            others = seconds[index:] if twice and kinds[0] == kinds[1] else seconds
            for second in others:
                if not (first.constant and second.constant):
                    self.offer(rule, (first, second), cost)
            self.counters.since_pause += len(others)
            if self.counters.since_pause >= PAUSE_EVERY:
                yield from self._pause()

    def _triples(self, rule, costs, kinds, cost):
        firsts, seconds, thirds = (self.levels[c][kind][:] for c, kind in zip(costs, kinds, strict=True))
        for first in firsts:
            for second in seconds:
                for third in thirds:
                    if not (first.constant and second.constant):
                        self.offer(rule, (first, second, third), cost)
                self.counters.since_pause += len(thirds)
                if self.counters.since_pause >= PAUSE_EVERY:
                    yield from self._pause()

    def _pause(self):
        self.counters.since_pause = 0
        yield

    def subscribe(self, values, kind, deliver):
        """Call `deliver` with each present and future entry that has this vector, even when the bank is full."""
        vector = key(kind, values)
        self.subscribers[kind].setdefault(vector, []).append(deliver)
        if vector in self._seen[kind]:
            for entry in self.all():
                if entry.kind == kind and key(kind, entry.vals) == vector:
                    deliver(entry)

    def subscribe_near(self, values, deliver):
        """Call `deliver` with each future entry that has these numbers, within rounding errors of floats."""
        self.near_subscribers.setdefault(_near(values), []).append(deliver)

    def offer(self, rule, parts, cost):
        """Evaluate a rule on entries, and keep the result if it is new."""
        self.counters.tried += 1
        values = evaluate(rule.function, parts)
        if values is None:
            return
        kind = rule.result or kind_of_vector(values)
        if kind[-1] == "]" and _heavy(values):
            return
        if kind == "float" and any(value != value for value in values):  # noqa: PLR0124 (not a number)
            return
        try:
            new = self._is_new(kind, key(kind, values))
        except (TypeError, ValueError):  # a number too long to write, or values that cannot be compared
            return
        if not new:
            return
        entry = rule.write(parts, cost)
        entry.vals, entry.kind, entry.partial = values, kind, ERR in values
        self._keep(entry)


def evaluate(function, parts):
    """Return the vector of a function applied to entries; None if it raises for more than half of the examples."""
    if not any(part.partial for part in parts):
        try:
            return list(map(function, *(part.vals for part in parts)))
        except Exception:  # noqa: BLE001, S110 (whatever an expression raises makes it partial, see below)
            pass
    values, left = [], len(parts[0].vals) // 2
    for arguments in zip(*(part.vals for part in parts), strict=True):
        try:
            value = ERR if ERR in arguments else function(*arguments)
        except Exception:  # noqa: BLE001 (an expression may raise anything)
            value = ERR
        values.append(value)
        if value is ERR:
            left -= 1
            if left < 0:
                return None
    return values


def _heavy(values):
    """Check whether collections hold too many items to compute with."""
    return sum([len(value) for value in values if value is not ERR]) > HEAVY * len(values)


def _near(values):
    """Return a key that is the same for numbers that differ only by rounding errors."""
    return tuple([value if type(value) is int else float(f"{value:.9g}") for value in values])


def _shares(total, parts):
    """List the ways to split a cost between some parts."""
    if parts == 1:
        return [(total,)] if total > 0 else []
    return [(share, *rest) for share in range(1, total - parts + 2) for rest in _shares(total - share, parts - 1)]
