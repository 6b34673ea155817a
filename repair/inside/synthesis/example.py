"""An example: arguments of a call and what is known of its result."""

import json
import math

from nightshift_inside import values

from .kinds import freeze


class Example:
    """One example.

    `how` says what `wanted` is: `gives` the value, `holds` its truth alone, `raises` name and message of an exception.
    `near` are the tolerances, relative and absolute, or None.
    """

    __slots__ = ("arguments", "how", "near", "wanted")

    def __init__(self, arguments, wanted, how="gives", near=None):
        self.arguments, self.wanted, self.how, self.near = arguments, wanted, how, near

    def fits(self, value, *, loose=False):
        """Tell whether a value is the wanted one; `loose` lets whole and broken numbers be equal."""
        if self.near is not None and close(value, self.wanted, self.near):
            return True
        if loose and {type(value), type(self.wanted)} <= {int, float}:
            return value == self.wanted
        return freeze(value) == freeze(self.wanted)


def close(value, wanted, near):
    """Tell whether a value lies near the wanted one, item by item."""
    if type(wanted) in (int, float):
        number = type(value) in (int, float)
        return number and math.isclose(value, wanted, rel_tol=near[0], abs_tol=near[1])
    if type(wanted) is dict:
        alike = type(value) is dict and value.keys() == wanted.keys()
        return alike and all(close(value[name], item, near) for name, item in wanted.items())
    if type(wanted) in (list, tuple):
        alike = type(value) is type(wanted) and len(value) == len(wanted)
        return alike and all(close(*pair, near) for pair in zip(value, wanted, strict=True))
    return value == wanted


def read(line, count):
    """The example that a line of the recorder's tells of, for a function of so many parameters; None for another."""
    try:
        packed, how, wanted, near = json.loads(line)
        arguments, result = values.unpack(packed), values.unpack(wanted)
        near = None if near is None else (float(near[0]), float(near[1]))
    except (ValueError, TypeError, RecursionError, LookupError, AttributeError, ArithmeticError):
        return None
    if how not in {"gives", "holds", "raises"} or type(arguments) is not list or len(arguments) != count:
        return None
    return Example(arguments, result, how, near)
