"""Makes values that are close to a given value, and that a check must not accept in its place.

The values have the same type and shape as the given value. Each differs only slightly, and in a different way each
time. If the tested code defines an object whose comparison has a built-in tolerance, these values reveal that.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes long to import
if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def close(value: Any, chance: random.Random) -> Any:
    """Return a value that differs slightly from a plain value in one place.

    Returns the value itself if it has no place that can be changed.
    """
    return _change_value(value, chance.choice((1, 2, 3)), chance)


def _change_value(value: Any, step: int, chance: random.Random) -> Any:
    change = _CHANGES.get(type(value))
    if change is not None:
        return change(value, step, chance)
    is_number = type(value).__module__ in ("decimal", "fractions") and not hasattr(value, "__dict__")
    return value + chance.choice((-step, step)) if is_number else value


def _int(value: int, step: int, chance: random.Random) -> int:
    text = str(abs(value)) if abs(value) < 10**15 else ""
    quantum = 10 if len(text) > 1 and text.endswith("0") else 1  # a round number stays round, so as not to stand out
    return int(value + chance.choice((-1, 1)) * step * quantum)


def _float(value: float, step: int, chance: random.Random) -> float:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 (only not-a-number differs from itself)
        return chance.choice((0.5, -1.5)) * step
    text = repr(value)
    digits = 0 if "e" in text else len(text.partition(".")[2])
    quantum = 10.0**-digits if digits and digits < 8 else max(abs(value), 0.5) * 0.05
    other = value + chance.choice((-1, 1)) * step * quantum
    other = round(other, digits) if digits and digits < 8 else other
    return other if other != value and abs(other) != float("inf") else value / 2


def _complex(value: complex, step: int, chance: random.Random) -> complex:
    return complex(_float(value.real, step, chance), value.imag)


def _text(value: Any, step: int, chance: random.Random) -> Any:
    """Replace one letter of a text or of bytes by the letter that is `step` places away in the alphabet."""
    letters = LETTERS if isinstance(value, str) else LETTERS.encode()
    index = chance.randrange(max(1, len(value)))
    old = value[index : index + 1].lower()
    at = letters.index(old) if old and old in letters else chance.randrange(len(letters))
    new = (at + chance.choice((-step, step))) % len(letters)
    other = letters[new : new + 1]
    return value[:index] + (other.upper() if value[index : index + 1].isupper() else other) + value[index + 1 :]


def _items(value: Any, step: int, chance: random.Random) -> list[Any]:
    items = list(value)
    if not items:
        return [step]
    for index in chance.sample(range(len(items)), len(items)):
        if (other := _change_value(items[index], step, chance)) is not items[index]:
            return [*items[:index], other, *items[index + 1 :]]
    return items


def _set(value: Any, step: int, chance: random.Random) -> Any:
    return type(value)(_items(sorted(value, key=repr), step, chance))


def _dict(value: dict[Any, Any], step: int, chance: random.Random) -> dict[Any, Any]:
    values = _items(list(value.values()), step, chance)
    return dict(zip(value, values)) if value else {"other": values[0]}  # noqa: B905 (as many)


def _none(_value: None, step: int, chance: random.Random) -> Any:
    return chance.choice((step, LETTERS[step]))


_CHANGES: dict[type, Callable[[Any, int, random.Random], Any]] = {
    bool: lambda value, _step, _chance: not value,
    int: _int,
    float: _float,
    complex: _complex,
    str: _text,
    bytes: _text,
    list: _items,
    tuple: lambda value, step, chance: tuple(_items(value, step, chance)),
    set: _set,
    frozenset: _set,
    dict: _dict,
    type(None): _none,
}
