"""An expression with its text and its values, and how texts are put together with no more parentheses than need be."""

OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 10)
TERNARY = 0
"""Ranks of binding, the loosest first."""


class Entry:
    """One expression of a bank.

    Attributes:
        text: the expression.
        rank: how tightly its outermost operator binds.
        cost: its size, with what is unlikely counted double.
        vals: its vector.
        kind: of the vector.
        partial: whether it raises for some example.
        depends: whether the innermost loop's variable occurs in it.
        loop: how it reads in a `for`, where that is shorter than `text`: `range(n)` for `list(range(n))`.
        bare: how it reads as the only argument of a call: `f(x) for x in xs`.
        clause: (expression, `for … in …`, condition) of a comprehension, so that another can be merged with it.
        constant: whether it is a constant.
        tree: of a conditional: its condition and what it gives in either case, which may be trees again.
    """

    __slots__ = (
        "bare", "clause", "constant", "cost", "depends", "kind", "loop", "partial", "rank", "text", "tree", "vals",
    )  # fmt: skip

    def __init__(self, text, rank, cost, vals=(), kind="", partial=False, depends=False):
        self.text, self.rank, self.cost, self.vals, self.kind = text, rank, cost, vals, kind
        self.partial, self.depends, self.constant = partial, depends, False
        self.loop, self.bare, self.clause, self.tree = text, "", None, ()

    def at(self, rank):
        """The text, in parentheses where it binds less tightly than `rank`."""
        return self.text if self.rank >= rank else f"({self.text})"

    @property
    def alone(self):
        """The text as the only argument of a call that takes any iterable."""
        return self.bare or self.loop
