"""Further inputs for an oracle: small changes of the inputs that the owner gave, of the same type and of his kind.

What an input may be is known from the given ones alone. So a change keeps what a function may rely on: signs, whether
something is empty, whether a list is sorted or holds each item once, the letters of a text. Booleans and None stay.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from core import literals
from core.held import ValueCase

TRIES = 8
"""How often a new input is looked for before a function counts as having no more."""


def variants(cases: Sequence[ValueCase], count: int, chance: random.Random) -> tuple[ValueCase, ...]:
    """Up to `count` further cases without an expectation, none of them among the given ones."""
    known = {(case.call, case.args, case.kwargs) for case in cases}
    found: list[ValueCase] = []
    for turn in range(count * TRIES if cases else 0):
        case = cases[turn % len(cases)]
        other = replace(
            case,
            args=literals.write(tuple(_changed(item, chance) for item in literals.read(case.args))),
            kwargs=literals.write({key: _changed(item, chance) for key, item in literals.read(case.kwargs).items()}),
        )
        place = (other.call, other.args, other.kwargs)
        if place not in known and len(found) < count:
            known.add(place)
            found.append(other)
    return tuple(found)


def _changed(value: Any, chance: random.Random) -> Any:
    """Another value of the same kind, or the same one."""
    kind = type(value)
    if kind is int and value:
        near = max(1, abs(value) + chance.randint(-max(2, abs(value) // 2), max(2, abs(value) // 2)))
        return near if value > 0 else -near
    if kind is float and value:
        return value * chance.choice((0.5, 0.75, 1.25, 1.5, 2.0))
    if kind is str or kind is bytes:
        return _letters(value, chance)
    if kind in (list, tuple):
        return kind(_items(list(value), chance))
    if kind in (set, frozenset):
        return kind(_changed(item, chance) for item in sorted(value, key=repr))
    if kind is dict:
        return {key: _changed(item, chance) for key, item in value.items()}
    return value


def _letters(value: Any, chance: random.Random) -> Any:
    """The same letters in another order, one of them perhaps twice or not at all."""
    if len(value) < 2:
        return value
    parts = [value[place : place + 1] for place in range(len(value))]
    return type(value)().join(_reordered(parts, chance))


def _items(value: list[Any], chance: random.Random) -> list[Any]:
    if not value:
        return value
    changed = [_changed(item, chance) for item in _reordered(value, chance)]
    once, ordered = _is_unique(value), _is_sorted(value)
    if once and not _is_unique(changed):
        changed = [item for place, item in enumerate(changed) if item not in changed[:place]]
    return sorted(changed) if ordered and _is_sorted(sorted(changed)) else changed


def _reordered(parts: list[Any], chance: random.Random) -> list[Any]:
    """The parts with two of them swapped, or one more or one fewer of them; never none."""
    parts, way = list(parts), chance.randrange(3)
    at, other = chance.randrange(len(parts)), chance.randrange(len(parts))
    if way == 0:
        parts[at], parts[other] = parts[other], parts[at]
    elif way == 1:
        parts.insert(at, parts[other])
    elif len(parts) > 1:
        parts.pop(at)
    return parts


def _is_sorted(value: list[Any]) -> bool:
    try:
        return all(one <= other for one, other in pairwise(value))
    except TypeError:
        return False


def _is_unique(value: list[Any]) -> bool:
    return all(item not in value[:place] for place, item in enumerate(value))
