"""Conditionals: expressions that are right for some of the examples are joined by predicates that tell these apart.

Decision trees of expressions, in the manner of Alur, Radhakrishna and Udupa, “Scaling Enumerative Program Synthesis via
Divide and Conquer” (TACAS 2017). Sets of examples are bits of an integer. A tree that only tables the examples is
refused: it may not cost more than they are evidence for, and what is right for one example alone must be a plain value.
"""

import time

from .expression import AND, COMPARE, NOT, OR, TERNARY, Entry

PREDICATES, LEAVES = 400, 300
DEEPEST = 4
WITHIN_S = 1.5
SIMPLE = frozenset({"0", "1", "-1", "''", "[]", "None", "True", "False", "{}", "set()", "()", "0.0"})
INFINITE = 1 << 30


class PartialSolutions:
    """The smallest expression for each set of examples that it is right for, and the predicates.

    Args:
        full: all examples.
        most: how much a decision tree may cost: what the examples are evidence for.
    """

    def __init__(self, full, most):
        self.full, self.most = full, most
        self.right, self.predicates = {}, {}
        self.changed = False

    def note(self, mask, entry):
        """Note for which examples an expression is right."""
        known = self.right.get(mask)
        if mask and (known is None or entry.cost < known.cost):
            self.right[mask] = entry
            self.changed = True

    def split(self, mask, entry):
        """Note for which examples a predicate holds; entries come the cheapest first."""
        if mask not in self.predicates and 0 < mask < self.full:
            self.predicates[mask] = entry
            self.changed = True

    def decide(self, known, within_s):
        """The cheapest decision tree as an entry, or None.

        Args:
            known: texts of constants that the task speaks of.
            within_s: how long it may be looked for.
        """
        if not self.changed:
            return None
        self.changed = False
        finder = _TreeSearch(self, known, within_s)
        for depth in range(1, DEEPEST):
            cost, tree = finder.best(self.full, depth, self.most)
            if tree is not None:
                return conditional(tree, cost)
        return None


class _TreeSearch:
    def __init__(self, partials, known, within_s):
        leaves = sorted(partials.right.items(), key=lambda pair: (pair[1].cost, -pair[0].bit_count()))
        self.leaves = leaves[:LEAVES] + sorted(leaves[LEAVES:], key=lambda pair: -pair[0].bit_count())[:LEAVES]
        predicates = sorted(partials.predicates.items(), key=lambda pair: pair[1].cost)[:PREDICATES]
        self.splits = [(mask, entry, True) for mask, entry in predicates]
        self.chains = self.splits + [(partials.full & ~mask, entry, False) for mask, entry in predicates]
        self.memo, self.single, self.known = {}, {}, set(known) | SIMPLE
        self.until = time.monotonic() + min(WITHIN_S, within_s)

    def best(self, left, depth, most):
        """Cost and tree of the cheapest tree for a set of examples that costs at most so much.

        A tree is an entry, or a tuple of predicate, whether it must hold, and the trees for either case.
        """
        leaf = self.leaf(left)
        if leaf or not depth or time.monotonic() > self.until:
            return (leaf.cost, leaf) if leaf and leaf.cost <= most else (INFINITE, None)
        place = (left, depth)
        known = self.memo.get(place)
        if known is None or (known[1] is None and known[2] < most):
            cost, tree = self._split(left, depth, most)
            known = self.memo[place] = (cost, tree, most)
        return (known[0], known[1]) if known[0] <= most else (INFINITE, None)

    def _split(self, left, depth, most):
        found = (INFINITE, None)
        for mask, predicate, holds in self.chains if depth > 2 else self.splits:
            here, there = left & mask, left & ~mask
            most_left = min(most, found[0] - 1) - predicate.cost - 1
            if not here or not there or most_left < 2:
                continue
            cost, one = self.best(here, 0 if depth > 2 else depth - 1, most_left - 1)
            if one is None:
                continue
            rest, other = self.best(there, depth - 1, most_left - cost)
            if other is not None:
                found = (predicate.cost + 1 + cost + rest, (predicate, holds, one, other))
        return found

    def leaf(self, wanted):
        """The cheapest expression that is right for these examples, and not only for being a table's row."""
        if wanted not in self.single:
            self.single[wanted] = next((e for mask, e in self.leaves if mask & wanted == wanted), None)
            found = self.single[wanted]
            if found and wanted.bit_count() < 2 and not (found.text in self.known or found.cost <= 1):
                self.single[wanted] = None
        return self.single[wanted]


def conditional(tree, cost):
    """The entry of a decision tree."""
    whole = _expression(tree)
    made = Entry(whole.text, whole.rank, cost, depends=True)
    made.tree = _statements(tree)
    return made


def _statements(tree):
    """The tree in texts: a value, or condition, tree for where it holds, and tree for where not."""
    if isinstance(tree, Entry):
        return tree.text
    predicate, holds, one, other = tree
    if not isinstance(one, Entry) and isinstance(other, Entry):
        holds, one, other = not holds, other, one  # the short way out comes first
    return (_test(predicate, holds), _statements(one), _statements(other))


def _expression(tree):
    if isinstance(tree, Entry):
        return tree
    predicate, holds, one, other = tree
    return _choice(predicate, holds, _expression(one), _expression(other))


def _choice(predicate, holds, value, other):
    """One value where the predicate holds, another where not; in the words of logic where these are truth values."""
    for found, rest, way in ((value, other, holds), (other, value, not holds)):
        if found.text in {"True", "False"}:
            word, rank = ("or", OR) if found.text == "True" else ("and", AND)
            wanted = way if found.text == "True" else not way
            return _logical(predicate if wanted else negate(predicate), word, rank, rest)
    text = f"{value.at(OR)} if {_test(predicate, holds)} else {other.text}"
    return Entry(text, TERNARY, predicate.cost + value.cost + other.cost)


def _logical(left, word, rank, right):
    if right.text in {"True", "False"}:
        return left if (right.text == "False") == (word == "or") else right
    return Entry(f"{left.at(rank)} {word} {right.at(rank + 1)}", rank, left.cost + right.cost)


def negate(entry):
    """The opposite of a predicate."""
    return Entry(f"not {entry.at(COMPARE)}", NOT, entry.cost)


def _test(predicate, holds):
    return predicate.at(OR) if holds else negate(predicate).text
