"""Held-out cases: calls whose results are compared outside the sandbox, and which no prompt ever shows.

A verdict that rests on tests the model has read proves only that those tests pass; a table of their answers passes too.
So some checks are kept back: of them nothing but the inputs ever enters the sandbox, and the results are compared here.

Values stand as Python literals in text (`core.code.literals`), because JSON, in which tasks and notes are stored, knows
no tuples, sets or bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from nightshift.core.code import literals

SHARE = 0.25
"""The share of the checks found in given tests that is held out, unless the settings say otherwise."""


class Compare(StrEnum):
    """How a result is held against what is expected.

    Cases that the owner wrote as such are compared by type and value, all the way down. Those found in tests keep the
    meaning they have there: `==` takes 4.0 for 4, and so does a case made of it.
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
    """One call. `call` is `package.module:function`, `args` and `kwargs` are literals, `expect` is one or None.

    Without `expect` an oracle says what is right. `raises` names exceptions, any of which will do. `rel` and `abs` are
    tolerances for numbers; with `Compare.WITHIN` the difference must be below `abs`. `shown` marks a check that the
    model can see: it is asked too, but proves nothing. `explicit` marks a case that the owner wrote as such.
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
        """Raise ValueError where the case, which may come from anywhere, cannot be called and judged."""
        if not self.module or not self.function:
            raise ValueError(f"{self.call[:80]!r} names no function of a module")
        if not isinstance(literals.read(self.args), tuple) or not isinstance(literals.read(self.kwargs), dict):
            raise ValueError(f"{self.call[:80]!r} has no arguments that it could be called with")
        if self.expect is not None:
            literals.read(self.expect)

    @property
    def module(self) -> str:
        """The dotted name of the module that is called."""
        return self.call.partition(":")[0]

    @property
    def function(self) -> str:
        """The function's name, as a reader of the task knows it."""
        return self.call.partition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Cases that are held out of the prompts, and what the model sees instead.

    `shown` has the given test files that were shortened, `cases` the calls in the order in which the tests make them.
    `oracle` are the owner's files that know the answers; they are run on their own and never beside tested code.
    `sources` says where the cases come from: tests, cases, oracle.
    """

    shown: Mapping[str, str] = field(default_factory=dict)
    cases: tuple[ValueCase, ...] = ()
    oracle: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    def seen(self) -> HeldOut:
        """The same once its author has seen it all: it is still judged, and proves no more than the tests do."""
        return replace(self, shown={}, cases=tuple(replace(case, shown=True) for case in self.cases))

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that are called, each once."""
        return tuple(dict.fromkeys(case.module for case in self.cases))

    @property
    def probe(self) -> Mapping[str, str]:
        """A file that stands for the calls where only what is imported counts; empty without cases."""
        text = "".join(f"import {module}\n" for module in self.modules)
        return {"held_out_calls.py": text} if text else {}


def digest(texts: Mapping[str, str]) -> bytes:
    """SHA-256 over paths and texts: the same tests always hold out the same cases, in every attempt and every task."""
    hasher = hashlib.sha256()
    for path, text in sorted(texts.items()):
        for part in (path, text):
            raw = part.encode("utf-8", "surrogatepass")
            hasher.update(len(raw).to_bytes(8, "big") + raw)
    return hasher.digest()
