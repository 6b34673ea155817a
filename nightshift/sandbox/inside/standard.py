"""Values that cross between the two sides of a split run besides plain data, and how values are changed in place.

A date, a path or a counter of the standard library crosses by value under the tag `x`: `["x", class, content]`, with
the content packed. Everything else that is no plain data stays on its side and is named by a handle.
"""

import sys
from _collections import deque  # `collections` takes a millisecond to import

MUTABLE = (list, dict, set, bytearray, deque)
NESTED = 3
"""References to a container inside of another one, as `sys.getrefcount` counts them in `is_held`."""


def _text(value):
    return str(value)


def _delta(value):
    return [value.days, value.seconds, value.microseconds]


def _deque(value):
    return [list(value), value.maxlen]


RULES = {
    "datetime.date": lambda value: value.isoformat(),
    "datetime.datetime": lambda value: value.isoformat(),
    "datetime.time": lambda value: value.isoformat(),
    "datetime.timedelta": _delta,
    "pathlib.PosixPath": _text,
    "pathlib.PurePosixPath": _text,
    "uuid.UUID": _text,
    "builtins.range": lambda value: [value.start, value.stop, value.step],
    "collections.deque": _deque,
    "collections.OrderedDict": dict,
    "collections.Counter": dict,
    "decimal.Decimal": _text,
    "fractions.Fraction": _text,
}
"""Class to what it is made of."""

MAKERS = {
    "datetime.date": lambda kind, content: kind.fromisoformat(content),
    "datetime.datetime": lambda kind, content: kind.fromisoformat(content),
    "datetime.time": lambda kind, content: kind.fromisoformat(content),
    "datetime.timedelta": lambda kind, content: kind(*content),
    "builtins.range": lambda kind, content: kind(*content),
    "collections.deque": lambda kind, content: kind(*content),
}
"""Class to how it is made of that, where calling it with the content does not do."""


def reduced(value, kind):
    """The class and the content of a value that crosses; None for any other."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    rule = RULES.get(name)
    if rule is None or getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is not kind:
        return None
    if getattr(value, "tzinfo", None) is not None and type(value.tzinfo).__name__ != "timezone":
        return None
    return name, rule(value)


def made(name, content):
    """The value again.

    Raises:
        ValueError, TypeError, ArithmeticError: there is no such class, or it is not made of that.
    """
    if name not in RULES:
        raise ValueError("not a value that crosses")
    module, _, own = name.rpartition(".")
    kind = getattr(__import__(module), own)
    return MAKERS[name](kind, content) if name in MAKERS else kind(content)


def apply(target, new):
    """Give a container the content of another one of its kind, in place."""
    if isinstance(target, list | bytearray):
        target[:] = new
    elif isinstance(target, dict | set | deque):
        target.clear()
        (target.extend if isinstance(target, deque) else target.update)(new)


def is_held(value, usual):
    """Tell whether a container, or one inside of it, is referred to by more than this and the `usual` references."""
    return (type(value) in MUTABLE and sys.getrefcount(value) > usual + 1) or holds_held(value)


def holds_held(value):
    """Tell whether a container inside of one is referred to by something else as well."""
    inner = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return any(type(item) in (*MUTABLE, tuple) and is_held(item, NESTED) for item in inner)
