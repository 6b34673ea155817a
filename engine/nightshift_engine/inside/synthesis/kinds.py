"""The kinds of values, as texts such as `list[int]`, and the keys that identify equal vectors of values.

A *vector* holds the value of an expression for each example. `ERR` is the value if the expression raises.
"""

import itertools


class Error:
    """The value of an expression that raises; a singleton."""

    __slots__ = ()

    def __repr__(self):
        return "ERR"


ERR = Error()
BIG = 1 << 200
SAMPLE = 3  # number of items that decide the kind of a list of collections
LONG = 2000  # maximum number of items or characters of a value
SCALARS = {int: "int", float: "float", bool: "bool", str: "str", type(None): "none", Error: "err"}
LISTS = frozenset({"list[int]", "list[str]", "list[bool]", "list[]"})
FLAT = frozenset({"int", "float", "bool", "str", "none"})


def kind_of(value):
    """Return the kind of one value."""
    scalar = SCALARS.get(type(value))
    if scalar:
        return scalar
    if isinstance(value, dict):
        return f"dict[{common(map(kind_of, value))},{common(map(kind_of, value.values()))}]"
    name = type(value).__name__
    types = set(map(type, value)) if name in {"list", "set", "frozenset"} else ()
    scalars = {SCALARS[item] for item in types if item in SCALARS}
    if scalars:
        return f"{name}[{common(scalars) if len(scalars) == len(types) else '*'}]"
    if name == "tuple":
        parts = [kind_of(item) for item in value]
        return f"tuple[{','.join(parts)}]" if len(parts) < 5 else f"tuple[{common(parts)},...]"
    first = list(itertools.islice(value, SAMPLE)) if types else []
    return f"{name}[{common(map(kind_of, first))}]" if types or name in {"list", "set", "frozenset"} else "other"


def common(kinds):
    """Return the kind that covers all given kinds: `*` if they are mixed, empty if there are none."""
    members = set(kinds) - {"", "err"}
    if len(members) <= 1:
        return members.pop() if members else ""
    if members == {"int", "float"}:
        return "float"
    heads = {kind.partition("[")[0] for kind in members}
    if len(heads) == 1 and heads <= {"list", "set", "frozenset"}:
        head = heads.pop()
        return f"{head}[{common(kind[len(head) + 1 : -1] for kind in members)}]"
    if heads == {"tuple"}:
        return "tuple[*]"
    return "dict[*,*]" if heads == {"dict"} else "*"


def kind_of_vector(values):
    """Return the kind of a vector."""
    types = set(map(type, values))
    types.discard(Error)
    if len(types) == 1:
        scalar = SCALARS.get(next(iter(types)))
        if scalar:
            return scalar
    return common(map(kind_of, values)) or "err"


def inner(kind):
    """Return the kind of the items of a collection."""
    if kind == "str":
        return "str"
    head, _, rest = kind.partition("[")
    if head in {"list", "set", "frozenset"}:
        return rest[:-1]
    if head == "dict":
        return rest[:-1].partition(",")[0] if "[" not in rest else "*"
    return "*"


def key(kind, values):
    """Return a hashable key for a vector of this kind; nested values become text, which is fast."""
    if kind in FLAT:
        return tuple(values)
    return tuple([tuple(v) if v is not ERR else v for v in values]) if kind in LISTS else repr(values)


def freeze(value):
    """Return a hashable key for a value, different for values of different types."""
    kind = type(value)
    if kind in SCALARS:
        return value if kind is not bool and kind is not float else (kind, value)
    if isinstance(value, dict):
        return (dict, *((freeze(name), freeze(item)) for name, item in value.items()))
    if kind is set or kind is frozenset:
        return (set, frozenset(map(freeze, value)))
    if kind is list or kind is tuple:
        return (kind, *map(freeze, value))
    return (kind, id(value))


def small(value):
    """Check that a value is small enough to keep."""
    kind = type(value)
    if kind is int or kind is float:
        return -BIG < value < BIG
    return kind not in {str, list, tuple, set, dict} or len(value) <= LONG
