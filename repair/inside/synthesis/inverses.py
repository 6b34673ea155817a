"""Wanted numbers from behind: if `a + E` is wanted and `a` is known, so is `E`, and it is looked up.

It halves the depth of the search for arithmetic: what is reached from the arguments meets what is reached from results.
"""

from .entry import PRODUCT, SIGN, SUM, Entry
from .kinds import ERR

MOST = 160
"""How many operands are tried for one goal."""
COST = 3


def follow(goal, entry):
    """Ask for what gives the goal together with an entry."""
    if entry.kind not in {"int", "float"} or entry.cost > COST or entry.partial or goal.ways >= MOST:
        return
    goal.ways += 1
    if entry.text == "0":
        return
    for function, write in INVERSES[: SUMS if entry.text == "1" else None]:
        wanted = _values(function, goal.values, entry.vals)
        if wanted is not None:
            goal.context.bank.want_near(wanted, lambda found, write=write: goal.deliver(write(found, entry)))


def _values(function, values, operands):
    found = []
    for value, operand in zip(values, operands, strict=True):
        try:
            found.append(function(value, operand))
        except (ArithmeticError, TypeError):
            return None
    return None if ERR in found else found


def _whole(value, operand):
    """The quotient; of whole numbers a whole one."""
    if type(value) is int and type(operand) is int:
        quotient, rest = divmod(value, operand)
        if rest == 0:
            return quotient
    return value / operand


def _written(template, rank, left, right):
    def write(found, entry):
        text = template.format(found=found.at(left), entry=entry.at(right))
        return Entry(text, rank, found.cost + entry.cost + 1)

    return write


SUMS = 3
INVERSES = (
    (lambda value, a: value - a, _written("{found} + {entry}", SUM, SUM, PRODUCT)),
    (lambda value, a: value + a, _written("{found} - {entry}", SUM, SUM, PRODUCT)),
    (lambda value, a: a - value, _written("{entry} - {found}", SUM, PRODUCT, SUM)),
    (_whole, _written("{found} * {entry}", PRODUCT, PRODUCT, SIGN)),
    (lambda value, a: value * a, _written("{found} / {entry}", PRODUCT, PRODUCT, SIGN)),
    (lambda value, a: a / value, _written("{entry} / {found}", PRODUCT, SIGN, PRODUCT)),
)
"""The value that the other operand must have, and how the whole is written."""
