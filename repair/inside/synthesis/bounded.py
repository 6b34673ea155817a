"""Functions that the grammar uses in the place of operators that could take forever or fill the memory."""

import itertools
import math

from .kinds import LONG

MOST_POWER, MOST_BASE = 64, 1 << 20
TURNS = 200
"""How long a `range` may be: what loops over it is evaluated thousands of times."""


class Refused(Exception):
    """The value would be too large."""


def times(left, right):
    """A product of numbers."""
    if type(left) is int and type(right) is int and left.bit_length() + right.bit_length() > 200:
        raise Refused
    return left * right


def repeated(text, count):
    """A sequence several times."""
    if len(text) * count > LONG:
        raise Refused
    return text * count


def power(base, exponent):
    """A power of numbers, real and small."""
    if not (-MOST_POWER <= exponent <= MOST_POWER and -MOST_BASE <= base <= MOST_BASE):
        raise Refused
    value = base**exponent
    if type(value) is complex:
        raise Refused
    return value


def joined(left, right):
    """Two sequences after each other."""
    if len(left) + len(right) > LONG:
        raise Refused
    return left + right


def counting(*bounds):
    """The list of a range."""
    if len(range(*bounds)) > TURNS:
        raise Refused
    return list(range(*bounds))


def up_to(last):
    """The list of 1 to `last`."""
    return counting(1, last + 1)


def factorial(number):
    """A factorial that is not huge."""
    if number > 40:
        raise Refused
    return math.factorial(number)


def product(numbers):
    """A product of a list that is not huge."""
    if len(numbers) > 60:
        raise Refused
    return math.prod(numbers)


def glued(separator, texts):
    """Texts with a separator between them."""
    if sum(map(len, texts)) + len(separator) * len(texts) > LONG:
        raise Refused
    return separator.join(texts)


def swapped(text, old, new):
    """A text with other parts."""
    if len(new) > 20:
        raise Refused
    return text.replace(old, new)


def padded(method):
    """A method that pads a text to a width."""

    def pad(text, width, *filling):
        if width > 200:
            raise Refused
        return method(text, width, *filling)

    return pad


def flat(parts):
    """The items of the items."""
    return list(itertools.chain.from_iterable(parts))


def runs(items):
    """Neighbours that are equal, together."""
    return [list(group) for _, group in itertools.groupby(items)]
