"""Held-out cases: calls whose results are compared outside the sandbox, and which no prompt ever shows.

If the model has read the tests, a verdict proves only that those tests pass, and a lookup table of the expected results
passes too. So some checks are held out. Only their inputs enter the sandbox, and the results are compared outside.

Values are stored as the text of Python literals (`core.code.literals`), because tasks and notes are stored as JSON,
which has no tuples, sets or bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from nightshift.core.code import literals

SHARE = 0.25
"""Default share of the checks in the owner's tests that is held out; the settings can change this share."""


class Compare(StrEnum):
    """How a result is compared with the expected result.

    Cases that the owner wrote explicitly are compared by type and value, at every level. Cases taken from tests keep
    the meaning that they have in the tests: `==` accepts 4.0 for 4, so the case does too.
    """

    STRICT = "strict"
    EQUAL = "equal"
    SAME = "same"
    NEAR = "near"
    WITHIN = "within"
    TRUE = "true"
    FALSE = "false"
    RAISES = "raises"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCase:
    """One call. `call` is `package.module:function`; `args` and `kwargs` are literals; `expect` is a literal or None.

    Without `expect`, an oracle gives the expected result. `raises` names exceptions, any of which is accepted. `rel`
    and `abs` are tolerances for numbers; with `Compare.WITHIN` the difference must be below `abs`. `shown` marks a
    check that the model can see, which is compared too but proves nothing. `explicit` marks a case that the owner wrote
    explicitly.
    """

    call: str
    args: str = "()"
    kwargs: str = "{}"
    compare: Compare = Compare.STRICT
    expect: str | None = None
    raises: tuple[str, ...] = ()
    rel: float | None = None
    abs: float | None = None
    shown: bool = False
    explicit: bool = False

    def check(self) -> None:
        """Raise ValueError if the case, which may come from an untrusted source, cannot be called and judged."""
        if not self.module or not self.function:
            raise ValueError(f"{self.call[:80]!r} names no function of a module")
        if not isinstance(literals.read(self.args), tuple) or not isinstance(literals.read(self.kwargs), dict):
            raise ValueError(f"{self.call[:80]!r} has no arguments that it could be called with")
        if self.expect is not None:
            literals.read(self.expect)

    @property
    def module(self) -> str:
        """The dotted name of the module that the call uses."""
        return self.call.partition(":")[0]

    @property
    def function(self) -> str:
        """The name of the called function without its module."""
        return self.call.partition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Cases that no prompt shows, and the tests that the model sees instead.

    `shown` contains the owner's test files that were shortened. `cases` contains the calls in the order of the tests.
    `oracle` contains the owner's files that compute expected results; these files run separately, never together with
    tested code. `sources` names the origins of the cases: tests, cases or oracle.
    """

    shown: Mapping[str, str] = field(default_factory=dict)
    cases: tuple[ValueCase, ...] = ()
    oracle: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    def seen(self) -> HeldOut:
        """Return the cases for an author who has seen them.

        The results are still compared, but passing them proves no more than passing the tests.
        """
        return replace(self, shown={}, cases=tuple(replace(case, shown=True) for case in self.cases))

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the modules that the calls use, without duplicates."""
        return tuple(dict.fromkeys(case.module for case in self.cases))

    @property
    def probe(self) -> Mapping[str, str]:
        """A file that only imports the called modules, to find their dependencies; empty if there are no cases."""
        text = "".join(f"import {module}\n" for module in self.modules)
        return {"held_out_calls.py": text} if text else {}


def digest(texts: Mapping[str, str]) -> bytes:
    """Return a SHA-256 digest of paths and texts, so that the same tests always hold out the same cases."""
    hasher = hashlib.sha256()
    for path, text in sorted(texts.items()):
        for part in (path, text):
            raw = part.encode("utf-8", "surrogatepass")
            hasher.update(len(raw).to_bytes(8, "big") + raw)
    return hasher.digest()
