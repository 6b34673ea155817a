"""Remembers what was made of the last few objects, told apart by identity: trees and grounds cannot be hashed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Generic, TypeVar

Held = TypeVar("Held")
Made = TypeVar("Made")


class _Key(Generic[Held]):
    """An object as a key. It keeps the object alive, so that no other can have its identity."""

    __slots__ = ("held",)

    def __init__(self, held: Held) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.held is self.held


def once(make: Callable[[Held], Made]) -> Callable[[Held], Made]:
    """The function, making its result once for the same object while that is one of the last four."""

    @lru_cache(maxsize=4)
    def made(key: _Key[Held]) -> Made:
        return make(key.held)

    @wraps(make)
    def remembered(held: Held) -> Made:
        return made(_Key(held))

    return remembered
