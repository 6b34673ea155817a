"""Values close to a given one, of the same type: what must not be equal to it."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def near(value, count, chance):
    """Up to `count` different values close to one; none where nothing is close, as to an object.

    Args:
        value: plain data.
        count: how many.
        chance: a `random.Random`.
    """
    found = []
    for _ in range(4 * count):
        other = close(value, chance)
        if len(found) < count and other != value and other not in found:
            found.append(other)
    return found


def close(value, chance):
    """A value of the same type that differs a little from a plain one; the value itself where there is none."""
    change = _CHANGES.get(type(value))
    return value if change is None else change(value, chance)


def _int(value, chance):
    return value + chance.choice((-3, -2, -1, 1, 2, 3))


def _float(value, chance):
    if abs(value) == float("inf") or value != value:  # noqa: PLR0124 (only not-a-number differs from itself)
        return chance.choice((0.5, -1.5))
    return value + chance.choice((-1, 1)) * max(abs(value), 0.5) * chance.uniform(0.04, 0.3)


def _complex(value, chance):
    return complex(_float(value.real, chance), value.imag)


def _text(value, chance):
    if not value:
        return type(value)() + _letter(value, chance)
    place, way = chance.randrange(len(value)), chance.randrange(3)
    other = _letter(value, chance)
    if way == 0:
        return value[:place] + other + value[place:]
    if way == 1 and len(value) > 1:
        return value[:place] + value[place + 1 :]
    return value[:place] + other + value[place + 1 :]


def _letter(value, chance):
    letter = chance.choice(LETTERS)
    return letter if isinstance(value, str) else letter.encode()


def _items(value, chance):
    items = list(value)
    if not items:
        return [chance.randint(1, 9)]
    way, place = chance.randrange(4), chance.randrange(len(items))
    if way == 0 and len(items) > 1:
        return items[:place] + items[place + 1 :]
    if way == 1:
        return [*items, close(items[place], chance)]
    return [*items[:place], _other(items[place], chance), *items[place + 1 :]]


def _other(item, chance):
    """Another item in an item's place, of its type where it has close values."""
    made = close(item, chance)
    return made if made != item else 7


def _set(value, chance):
    return type(value)(_items(sorted(value, key=repr), chance))


def _dict(value, chance):
    if not value:
        return {"other": chance.randint(1, 9)}
    key = chance.choice(list(value))
    return {**value, key: _other(value[key], chance)}


_CHANGES = {
    bool: lambda value, _chance: not value,
    int: _int,
    float: _float,
    complex: _complex,
    str: _text,
    bytes: _text,
    list: _items,
    tuple: lambda value, chance: tuple(_items(value, chance)),
    set: _set,
    frozenset: _set,
    dict: _dict,
    type(None): lambda _value, chance: chance.choice((7, "none")),
}
