"""What the must-fail copies of tests use at run time, where their text alone cannot make a check fail."""

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

BEFORE: list[Callable[[], object]] = []
"""Called when a copied module begins; the session puts here what its copies need."""


class Twin:
    """One copied module's helper; remembers whether a changed check was reached in the test that runs."""

    def __init__(self) -> None:
        self._reached = False
        for call in BEFORE:
            call()

    def differ(self, left: Any, right: Any) -> Any:
        """Compare with another value than `right`; where none can be made, turn the comparison round."""
        self._reached = True
        other = perturbed(right)
        if other is right or other == right:
            return not (left == right)  # noqa: SIM201 (a class may define `!=` otherwise)
        return left == other

    def reached(self, value: Any) -> Any:
        """Pass a value through."""
        self._reached = True
        return value

    def must_fail(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """Fail after a test that passed without reaching a changed check; one that reached it has to fail there."""
        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def run(*args: Any, **kwargs: Any) -> None:
                self._reached = False
                await test(*args, **kwargs)
                assert self._reached, "this copy must fail"

        else:

            @functools.wraps(test)
            def run(*args: Any, **kwargs: Any) -> None:
                self._reached = False
                test(*args, **kwargs)
                assert self._reached, "this copy must fail"

        return run


def perturbed(value: Any) -> Any:
    """Another value of the same type and shape; the value itself where none can be made."""
    step = 1000 + int.from_bytes(os.urandom(2), "big") % 9000
    if isinstance(value, bool):
        return not value
    if type(value) in (list, tuple, set, frozenset):
        return type(value)([perturbed(item) for item in value] or [step])
    if type(value) is dict:
        return {key: perturbed(item) for key, item in value.items()} or {"other": step}
    try:
        added: dict[type, Any] = {str: "bcdfgh", bytes: b"bcdfgh"}
        other = value + added.get(type(value), step) if _adds(value) else value
    except (TypeError, ValueError, ArithmeticError):
        return value
    return other if other != value else value


def _adds(value: Any) -> bool:
    return type(value).__module__ in ("builtins", "decimal", "fractions") and not hasattr(value, "__dict__")
