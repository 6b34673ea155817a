"""Values close to a given one, of the same type and shape: what must not be taken for it.

A tolerance that an object of tested code has built into its comparison swallows a far value as easily as the right one
fails to be told from it, so the values differ by little, and each time by something else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, which takes long to import
if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TRIES = 4
"""How often a new value is looked for, for each one wanted, before there are no more."""


def near(value: Any, count: int, chance: random.Random) -> list[Any]:
    """Up to `count` values close to one, all different; none where nothing is close, as to an object."""
    found: list[Any] = []
    for _ in range(TRIES * count):
        other = close(value, chance)
        if len(found) < count and other != value and other not in found:
            found.append(other)
    return found


def close(value: Any, chance: random.Random) -> Any:
    """Another value that differs a little from a plain one, in one place; the value itself where there is none."""
    change = _CHANGES.get(type(value))
    if change is not None:
        return change(value, chance)
    is_number = type(value).__module__ in ("decimal", "fractions") and not hasattr(value, "__dict__")
    return value + chance.choice((-2, -1, 1, 2)) if is_number else value


def _int(value: int, chance: random.Random) -> int:
    return value + chance.choice((-3, -2, -1, 1, 2, 3))


def _float(value: float, chance: random.Random) -> float:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 (only not-a-number differs from itself)
        return chance.choice((0.5, -1.5))
    other = value + chance.choice((-1, 1)) * max(abs(value), 0.5) * chance.uniform(0.04, 0.3)
    return other if abs(other) != float("inf") else value / 2


def _complex(value: complex, chance: random.Random) -> complex:
    return complex(_float(value.real, chance), value.imag)


def _text(value: Any, chance: random.Random) -> Any:
    letters = LETTERS if isinstance(value, str) else LETTERS.encode()
    place = chance.randrange(max(1, len(value)))
    others = [letters[at : at + 1] for at in range(len(letters)) if letters[at : at + 1] != value[place : place + 1]]
    others = [letter for letter in others if letter.upper() != value[place : place + 1]]
    return value[:place] + chance.choice(others) + value[place + 1 :]


def _items(value: Any, chance: random.Random) -> list[Any]:
    items = list(value)
    if not items:
        return [chance.randint(1, 9)]
    for place in chance.sample(range(len(items)), len(items)):
        if (other := close(items[place], chance)) is not items[place]:
            return [*items[:place], other, *items[place + 1 :]]
    return items


def _set(value: Any, chance: random.Random) -> Any:
    return type(value)(_items(sorted(value, key=repr), chance))


def _dict(value: dict[Any, Any], chance: random.Random) -> dict[Any, Any]:
    values = _items(list(value.values()), chance)
    return dict(zip(value, values)) if value else {"other": values[0]}  # noqa: B905 (as many)


def _none(_value: None, chance: random.Random) -> Any:
    return chance.choice((chance.randint(1, 9), chance.choice(LETTERS)))


_CHANGES: dict[type, Callable[[Any, random.Random], Any]] = {
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
    type(None): _none,
}
