"""Functions for must-fail copies of tests, used where changing the text of a check cannot make it fail."""

import functools
import inspect
import random
from collections.abc import Callable
from typing import Any

from .close_values import close


class MustFail:
    """The helper of one copied test module.

    It stores whether the running test has reached a check that was made to fail.
    """

    def __init__(self) -> None:
        self._reached = False

    def differ(self, left: Any, right: Any) -> Any:
        """Compare with a value that is close to `right` but different. If none can be made, negate the comparison."""
        self._reached = True
        other = close(right, random.SystemRandom())
        if other is right or other == right:
            return not (left == right)  # noqa: SIM201 (a class may define `!=` otherwise)
        return left == other

    def reached(self, value: Any) -> Any:
        """Record that a changed check was reached, and return the value."""
        self._reached = True
        return value

    def must_fail(self, test: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a test so that it fails if it would pass without having reached a changed check."""
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
