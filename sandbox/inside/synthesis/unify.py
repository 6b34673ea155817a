"""Conditionals: expressions that are right for some of the examples are joined by predicates that tell these apart.

Decision lists of expressions, in the manner of Alur, Radhakrishna and Udupa, “Scaling Enumerative Program Synthesis via
Divide and Conquer” (TACAS 2017). Sets of examples are bits of an integer. A list is refused where it only tables the
examples: each value must be right for more examples than it took to single them out.
"""

import time

from .entry import AND, ATOM, COMPARE, NOT, OR, TERNARY, Entry

PREDICATES, LEAVES = 400, 300
DEEPEST = 4
WITHIN_S = 1.5
SIMPLE = frozenset({"0", "1", "-1", "''", "[]", "None", "True", "False", "{}", "set()", "()", "0.0"})
INFINITE = 1 << 30


class Cover:
    """The smallest expression for each set of examples that it is right for, and the predicates."""

    def __init__(self, full):
        self.full = full
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

    def decide(self, known=()):
        """The cheapest decision list as an entry, or None.

        Args:
            known: texts of constants that the task speaks of.
        """
        if not self.changed:
            return None
        self.changed = False
        finder = _Finder(self, known)
        for depth in range(1, DEEPEST):
            finder.memo.clear()
            cost, branches = finder.best(self.full, depth)
            if cost < INFINITE:
                return conditional(branches, cost)
        return None


class _Finder:
    def __init__(self, cover, known):
        leaves = sorted(cover.right.items(), key=lambda pair: (pair[1].cost, -pair[0].bit_count()))
        self.leaves = leaves[:LEAVES] + sorted(leaves[LEAVES:], key=lambda pair: -pair[0].bit_count())[:LEAVES]
        predicates = sorted(cover.predicates.items(), key=lambda pair: pair[1].cost)[:PREDICATES]
        self.splits = [(mask, entry, True) for mask, entry in predicates]
        self.splits += [(cover.full & ~mask, entry, False) for mask, entry in predicates]
        self.memo, self.single, self.known = {}, {}, set(known) | SIMPLE
        self.until = time.monotonic() + WITHIN_S

    def best(self, left, depth):
        """Cost and branches of the cheapest list for a set of examples."""
        place = (left, depth)
        if place in self.memo:
            return self.memo[place]
        leaf = self.leaf(left)
        found = (leaf.cost, [(None, True, leaf)]) if leaf else (INFINITE, [])
        if depth and time.monotonic() < self.until:
            for mask, predicate, holds in self.splits:
                here = left & mask
                if not here or here == left or predicate.cost + 2 >= found[0]:
                    continue
                value = self.leaf(here)
                if value is None or predicate.cost + value.cost + 2 >= found[0]:
                    continue
                rest, branches = self.best(left & ~mask, depth - 1)
                total = predicate.cost + value.cost + 1 + rest
                if total < found[0]:
                    found = (total, [(predicate, holds, value), *branches])
        self.memo[place] = found
        return found

    def leaf(self, wanted):
        """The cheapest expression that is right for these examples, and not only for being a table's row."""
        if wanted not in self.single:
            self.single[wanted] = next((e for mask, e in self.leaves if mask & wanted == wanted), None)
            found = self.single[wanted]
            if found and wanted.bit_count() < 2 and not (found.text in self.known or found.cost <= 1):
                self.single[wanted] = None
        return self.single[wanted]


def conditional(branches, cost):
    """The entry of a decision list: (predicate, whether it must hold, value) each, the last without a predicate."""
    tree = [("" if predicate is None else _test(predicate, holds), value.text) for predicate, holds, value in branches]
    whole = branches[-1][2]
    for predicate, holds, value in reversed(branches[:-1]):
        whole = _choice(predicate, holds, value, whole)
    made = Entry(whole.text, whole.rank, cost, depends=True)
    made.tree = tuple(tree)
    return made


def _choice(predicate, holds, value, other):
    """One value where the predicate holds, another where not; in the words of logic where these are truth values."""
    if value.text in {"True", "False"}:
        wanted = holds if value.text == "True" else not holds
        word, rank = (("or", OR), ("and", AND))[value.text == "False"]
        left = predicate if wanted else negated(predicate)
        return _logical(left, word, rank, other)
    if other.text in {"True", "False"}:
        wanted = holds if other.text == "False" else not holds
        word, rank = (("and", AND), ("or", OR))[other.text == "True"]
        left = predicate if wanted else negated(predicate)
        return _logical(left, word, rank, value)
    text = f"{value.at(OR)} if {_test(predicate, holds)} else {other.text}"
    return Entry(text, TERNARY, predicate.cost + value.cost + other.cost)


def _logical(left, word, rank, right):
    if right.text in {"True", "False"}:
        return left if (right.text == "False") == (word == "or") else right
    return Entry(f"{left.at(rank)} {word} {right.at(rank + 1)}", rank, left.cost + right.cost)


def negated(entry):
    """The opposite of a predicate."""
    return Entry(f"not {entry.at(COMPARE)}", NOT, entry.cost)


def _test(predicate, holds):
    return predicate.at(OR) if holds else negated(predicate).text


__all__ = ["ATOM", "Cover", "conditional", "negated"]
