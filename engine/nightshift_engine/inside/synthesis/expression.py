"""Expressions with their texts and values, and the rules of the grammar that combine them.

Texts have no more parentheses than necessary. A rule is a function on values, the kinds of its arguments, and a
template for its text.
"""

import copy

from .kinds import inner

OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 10)
TERNARY = 0
"""Ranks of operator precedence, the loosest first; `TERNARY` (0) is the loosest of all."""


class Entry:
    """One expression of a bank.

    Attributes:
        text: the expression.
        rank: the precedence of its outermost operator.
        cost: the size of the expression; unlikely parts count double.
        vals: its vector (its value for each example).
        kind: the kind of the vector.
        partial: whether the expression raises for some example.
        depends: whether the expression contains the variable of the innermost loop.
        loop: its text in a `for`, which may be shorter than `text`: `range(n)` for `list(range(n))`.
        bare: its text as the only argument of a call: `f(x) for x in xs`.
        clause: (names, `for … in …`, condition) of a comprehension that filters, so that another one can be merged with
            it.
        constant: whether the expression is a constant.
        tree: the condition of a conditional and the values in either case, which may be trees again.
    """

    __slots__ = (
        "bare", "clause", "constant", "cost", "depends", "kind", "loop", "partial", "rank", "text", "tree", "vals",
    )  # fmt: skip

    def __init__(self, text, rank, cost, vals=(), kind="", partial=False, depends=False):
        self.text, self.rank, self.cost, self.vals, self.kind = text, rank, cost, vals, kind
        self.partial, self.depends, self.constant = partial, depends, False
        self.loop, self.bare, self.clause, self.tree = text, "", None, ()

    def at(self, rank):
        """Return the text, in parentheses if it binds less tightly than `rank`."""
        return self.text if self.rank >= rank else f"({self.text})"

    @property
    def alone(self):
        """The text as the only argument of a call that accepts any iterable."""
        return self.bare or self.loop


LOOP, ALONE = "loop", "alone"
"""Ways to write an argument, given in place of a rank: as in the head of a `for`, or as a call's only argument."""

NUMBERS = frozenset({"int", "float"})
PLAIN = frozenset({"int", "float", "bool", "str"})


def starts(*heads):
    """Return a function that checks whether a kind starts with one of these heads."""
    return lambda kind: kind.startswith(heads)


def items(test):
    """Return a function that checks whether a kind is a list whose items' kind passes `test`."""
    return lambda kind: kind.startswith("list[") and test(inner(kind))


SPECS = {
    "num": NUMBERS.__contains__,
    "int": "int".__eq__,
    "float": "float".__eq__,
    "bool": "bool".__eq__,
    "str": "str".__eq__,
    "plain": PLAIN.__contains__,
    "any": lambda kind: kind != "none",
    "list": starts("list["),
    "nums": items(lambda kind: kind in NUMBERS or kind == ""),
    "bools": items("bool".__eq__),
    "strs": items("str".__eq__),
    "nested": items(starts("list[", "tuple[")),
    "plains": items(lambda kind: kind in PLAIN),
    "seq": starts("list[", "str", "tuple["),
    "many": starts("list[", "str", "tuple[", "set[", "dict[", "frozenset["),
    "group": starts("list[", "tuple[", "set[", "dict["),
    "tuple": starts("tuple["),
    "set": starts("set[", "frozenset["),
    "dict": starts("dict["),
}


class Rule:
    """One rule of the grammar.

    Args:
        template: the text, with `{0}`, `{1}` for the arguments.
        function: computes a value from values; it raises if the expression would, or if a value gets too large.
        specs: names of `SPECS`, one for each argument.
        needs: the rank that each argument's text must have, or one of the styles `LOOP` and `ALONE`.
        rank: the rank of the whole expression.
        cost: the cost that the rule adds to the cost of its arguments.
        commutes: whether the order of two arguments is irrelevant.
        fits: a further test of the arguments' kinds.
        result: the kind of the value if it is always the same.
        loop: the template of the shorter text in the head of a `for`.
    """

    __slots__ = ("commutes", "cost", "fits", "function", "loop", "needs", "rank", "result", "specs", "template")

    def __init__(  # noqa: PLR0913 (a row of a table)
        self, template, function, specs, *, needs=None, rank=ATOM, cost=1, commutes=False, fits=None, result="", loop=""
    ):
        self.template, self.function, self.specs = template, function, specs.split()
        self.needs = needs if needs is not None else (0,) * len(self.specs)
        self.rank, self.cost, self.commutes, self.fits = rank, cost, commutes, fits
        self.result, self.loop = result, loop

    def costing(self, cost):
        """Return a copy of the rule with another cost."""
        rule = copy.copy(self)
        rule.cost = cost
        return rule

    def write(self, parts, cost):
        """Return the entry, without values, that applies the rule to other entries."""
        texts = [_style(part, need) for part, need in zip(parts, self.needs, strict=True)]
        entry = Entry(self.template.format(*texts), self.rank, cost, depends=any(part.depends for part in parts))
        if self.loop:
            entry.loop = self.loop.format(*texts)
        return entry


def _style(part, need):
    if need == LOOP:
        return part.loop
    return part.alone if need == ALONE else part.at(need)
