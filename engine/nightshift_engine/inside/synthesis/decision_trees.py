"""Conditionals: joins expressions that are right for some of the examples, by predicates that separate the examples.

The result is a decision tree of expressions, as in Alur, Radhakrishna and Udupa, “Scaling Enumerative Program Synthesis
via Divide and Conquer” (TACAS 2017). A set of examples is an integer with one bit for each example. A tree that only
tabulates the examples is refused: the number of examples limits its cost, and a leaf for a single example must be a
plain value.
"""

import time

from .expression import AND, COMPARE, NOT, OR, TERNARY, Entry

PREDICATES, LEAVES = 400, 300
DEEPEST = 4
WITHIN_S = 1.5
SIMPLE = frozenset({"0", "1", "-1", "''", "[]", "None", "True", "False", "{}", "set()", "()", "0.0"})
INFINITE = 1 << 30


class PartialSolutions:
    """Predicates, and the smallest expression for each set of examples for which some expression is right.

    Args:
        full: the set of all examples.
        most: maximum cost of a decision tree; more examples justify a greater cost.
    """

    def __init__(self, full, most):
        self.full, self.most = full, most
        self.right, self.predicates = {}, {}
        self.changed = False

    def note(self, mask, entry):
        """Note the examples for which an expression is right."""
        previous = self.right.get(mask)
        if mask and (previous is None or entry.cost < previous.cost):
            self.right[mask] = entry
            self.changed = True

    def split(self, mask, entry):
        """Note the examples for which a predicate holds; entries come in the order of cost."""
        if mask not in self.predicates and 0 < mask < self.full:
            self.predicates[mask] = entry
            self.changed = True

    def decide(self, constant_texts, within_s):
        """Return the cheapest decision tree as an entry, or None.

        Args:
            constant_texts: texts of the constants that the task mentions.
            within_s: seconds that the search for a tree may take.
        """
        if not self.changed:
            return None
        self.changed = False
        finder = _TreeSearch(self, constant_texts, within_s)
        for depth in range(1, DEEPEST):
            cost, tree = finder.best(self.full, depth, self.most)
            if tree is not None:
                return conditional(tree, cost)
        return None


class _TreeSearch:
    def __init__(self, partials, constant_texts, within_s):
        leaves = sorted(partials.right.items(), key=lambda pair: (pair[1].cost, -pair[0].bit_count()))
        self.leaves = leaves[:LEAVES] + sorted(leaves[LEAVES:], key=lambda pair: -pair[0].bit_count())[:LEAVES]
        predicates = sorted(partials.predicates.items(), key=lambda pair: pair[1].cost)[:PREDICATES]
        self.splits = [(mask, entry, True) for mask, entry in predicates]
        self.chains = self.splits + [(partials.full & ~mask, entry, False) for mask, entry in predicates]
        self.memo, self.single, self.constant_texts = {}, {}, set(constant_texts) | SIMPLE
        self.until = time.monotonic() + min(WITHIN_S, within_s)

    def best(self, left, depth, most):
        """Return the cost of the cheapest tree for a set of examples, and the tree.

        The cost is infinite and the tree None if no tree costs at most `most`. A tree is an entry, or a tuple of four:
        a predicate, whether the predicate must hold for the first branch, the tree of the first branch, and the tree of
        the other branch.
        """
        leaf = self.leaf(left)
        if leaf or not depth or time.monotonic() > self.until:
            return (leaf.cost, leaf) if leaf and leaf.cost <= most else (INFINITE, None)
        key = (left, depth)
        result = self.memo.get(key)
        if result is None or (result[1] is None and result[2] < most):
            cost, tree = self._split(left, depth, most)
            result = self.memo[key] = (cost, tree, most)
        return (result[0], result[1]) if result[0] <= most else (INFINITE, None)

    def _split(self, left, depth, most):
        best = (INFINITE, None)
        for mask, predicate, holds in self.chains if depth > 2 else self.splits:
            here, there = left & mask, left & ~mask
            most_left = min(most, best[0] - 1) - predicate.cost - 1
            if not here or not there or most_left < 2:
                continue
            cost, tree = self.best(here, 0 if depth > 2 else depth - 1, most_left - 1)
            if tree is None:
                continue
            rest, other = self.best(there, depth - 1, most_left - cost)
            if other is not None:
                best = (predicate.cost + 1 + cost + rest, (predicate, holds, tree, other))
        return best

    def leaf(self, wanted):
        """Return the cheapest expression that is right for these examples; for one example only a plain value."""
        if wanted not in self.single:
            self.single[wanted] = next((e for mask, e in self.leaves if mask & wanted == wanted), None)
            entry = self.single[wanted]
            if entry and wanted.bit_count() < 2 and not (entry.text in self.constant_texts or entry.cost <= 1):
                self.single[wanted] = None
        return self.single[wanted]


def conditional(tree, cost):
    """Return the entry of a decision tree."""
    expression = _expression(tree)
    entry = Entry(expression.text, expression.rank, cost, depends=True)
    entry.tree = _statements(tree)
    return entry


def _statements(tree):
    """Return the tree as texts: a value, or a tuple of a condition, the tree for true, and the tree for false."""
    if isinstance(tree, Entry):
        return tree.text
    predicate, holds, branch, other = tree
    if not isinstance(branch, Entry) and isinstance(other, Entry):
        holds, branch, other = not holds, other, branch  # the plain value comes first, as an early return
    return (_test(predicate, holds), _statements(branch), _statements(other))


def _expression(tree):
    if isinstance(tree, Entry):
        return tree
    predicate, holds, branch, other = tree
    return _choice(predicate, holds, _expression(branch), _expression(other))


def _choice(predicate, holds, value, other):
    """Write `value` if the predicate holds, else `other`; if one of the two is a truth value, use `and` or `or`."""
    for constant, rest, way in ((value, other, holds), (other, value, not holds)):
        if constant.text in {"True", "False"}:
            word, rank = ("or", OR) if constant.text == "True" else ("and", AND)
            wanted = way if constant.text == "True" else not way
            return _logical(predicate if wanted else negate(predicate), word, rank, rest)
    text = f"{value.at(OR)} if {_test(predicate, holds)} else {other.text}"
    return Entry(text, TERNARY, predicate.cost + value.cost + other.cost)


def _logical(left, word, rank, right):
    if right.text in {"True", "False"}:
        return left if (right.text == "False") == (word == "or") else right
    return Entry(f"{left.at(rank)} {word} {right.at(rank + 1)}", rank, left.cost + right.cost)


def negate(entry):
    """Return the negation of a predicate."""
    return Entry(f"not {entry.at(COMPARE)}", NOT, entry.cost)


def _test(predicate, holds):
    return predicate.at(OR) if holds else negate(predicate).text
