"""Held-out cases as people write them: JSON values, and Python literals as text where JSON is not enough.

    {"call": "shop.price:total", "args": [[1, 2], {"literal": "{3, 4}"}], "expect": {"literal": "(7, b'x')"}}
    {"call": "shop.parse", "args": [""], "raises": "ValueError"}

`call` names a function by its module, a dot or a colon, and the name in the module. After a colon, the function may be
a method of a class.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from nightshift.core.code import literals
from nightshift.core.code.parsing import parse
from nightshift.core.tasks.held_out import Compare, ValueCase
from nightshift.core.text import plain_data
from nightshift.core.text.strict import Strict

MAX_CASES = 500
MAX_CASES_CHARS = 4_000_000
"""Maximum characters of all literals in a task's cases together. Each literal counts twice: as it was sent, and as it
is stored.
"""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_CALL = re.compile(rf"{_NAME}(\.{_NAME})*[.:]{_NAME}(\.{_NAME})*")
_LITERAL = "literal"


class CaseIn(Strict):
    """One case as a person writes it. `tolerance` is the allowed relative or absolute difference of numbers."""

    call: Annotated[str, Field(max_length=300)]
    args: list[Any] = Field(default_factory=list)
    kwargs: dict[str, Any] = Field(default_factory=dict)
    expect: Any = None
    raises: Annotated[str, Field(pattern=rf"^{_NAME}(\.{_NAME})*$", max_length=200)] | None = None
    tolerance: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None

    @field_validator("call")
    @classmethod
    def _names_a_function(cls, call: str) -> str:
        if not _CALL.fullmatch(call) or call.count(":") > 1:
            raise ValueError("must be module.function, or module:Class.function")
        return call

    @field_validator("args", "kwargs", "expect")
    @classmethod
    def _writable(cls, value: Any, info: ValidationInfo) -> Any:
        if why := _why_unwritable(str(info.field_name), value, info.context):
            raise ValueError(why)
        return value

    @model_validator(mode="after")
    def _one_expectation(self) -> CaseIn:
        if self.raises is not None and "expect" in self.model_fields_set:
            raise ValueError("give either expect or raises, not both")
        if self.tolerance is not None and self.raises is not None:
            raise ValueError("tolerance is for values; an exception has none")
        return self


def limit_for_all() -> literals.SizeLimit:
    """Return the size limit for all cases of a task together; pass it as the context of their validation."""
    return literals.SizeLimit(MAX_CASES_CHARS, f"too much: the cases may have {MAX_CASES_CHARS:,} characters together")


def _why_unwritable(name: str, value: Any, limit: literals.SizeLimit | None) -> str:
    """Return why a value cannot be written as a literal; empty if it can.

    The fault is returned and not raised, because the traceback of an exception would keep large values in memory until
    all faults are known.
    """
    try:
        meant = _read_named(value, limit) if name == "kwargs" else _value(value, limit)
        if plain_data.too_deep(meant):
            return plain_data.TOO_DEEP
        literals.write(tuple(meant) if name == "args" else meant, limit)
    except ValueError as error:
        return str(error)
    return ""


def to_case(read: CaseIn) -> ValueCase:
    """Convert a case that a person wrote. Without `expect` and `raises`, an oracle must give the expected value."""
    module, colon, function = read.call.partition(":")
    if not colon:
        module, _, function = read.call.rpartition(".")
    expect = literals.write(_value(read.expect)) if "expect" in read.model_fields_set else None
    return ValueCase(
        call=f"{module}:{function}",
        args=literals.write(tuple(map(_value, read.args))),
        kwargs=literals.write(_read_named(read.kwargs)),
        compare=Compare.RAISES if read.raises else Compare.STRICT,
        expect=expect,
        raises=(read.raises.rpartition(".")[2],) if read.raises else (),
        rel=read.tolerance,
        abs=read.tolerance,
        explicit=True,
    )


def as_input(case: ValueCase) -> dict[str, Any]:
    """Return the input from which `to_case` makes this case."""
    given: dict[str, Any] = {"call": case.call}
    if arguments := literals.read(case.args):
        given["args"] = [_to_json_value(item) for item in arguments]
    if named := literals.read(case.kwargs):
        given["kwargs"] = {name: _to_json_value(item) for name, item in named.items()}
    if case.expect is not None:
        given["expect"] = _to_json_value(literals.read(case.expect))
    if case.raises:
        given["raises"] = case.raises[0]
    return given | ({"tolerance": case.rel} if case.rel is not None else {})


def fault(cases: Sequence[CaseIn], oracle: Mapping[str, str] | str) -> str | None:
    """Return why these cases and this oracle (code that computes expected results) cannot be used; None if they can."""
    unknown = [case for case in cases if case.raises is None and "expect" not in case.model_fields_set]
    if unknown and not oracle:
        return f"{unknown[0].call}: give expect or raises, or an oracle that knows the answer"
    if oracle and not unknown:
        return "an oracle is asked for cases without expect; there is none"
    if isinstance(oracle, str) and oracle and len({to_case(case).module for case in cases}) > 1:
        return "an oracle in one text serves cases of one module; give it as files instead"
    for path, text in oracle_files(cases, oracle).items():
        try:
            parse(text if path.endswith(".py") else "")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return f"the oracle is not valid Python: {path}: {error}"
    return None


def oracle_files(cases: Sequence[CaseIn], oracle: Mapping[str, str] | str) -> dict[str, str]:
    """Return an oracle as files; a single text becomes the module that the cases call."""
    if not isinstance(oracle, str):
        return dict(oracle)
    return {f"{to_case(cases[0]).module.replace('.', '/')}.py": oracle} if oracle and cases else {}


def _read_named(given: Mapping[str, Any], limit: literals.SizeLimit | None = None) -> dict[str, Any]:
    """Read keyword arguments one by one.

    Reading the mapping as a whole would mistake a sole argument named `literal` for the notation of a Python literal.
    """
    return {name: _value(value, limit) for name, value in given.items()}


def _value(value: Any, limit: literals.SizeLimit | None = None) -> Any:
    """Read a value from JSON that a person wrote: a mapping with the single key `literal` is a Python literal."""
    if isinstance(value, dict) and value.keys() == {_LITERAL}:
        return literals.read(str(value[_LITERAL]), limit)
    if isinstance(value, list):
        return [_value(item, limit) for item in value]
    if isinstance(value, dict):
        return {key: _value(item, limit) for key, item in value.items()}
    return value


def _to_json_value(value: Any) -> Any:
    """Return a value as JSON if JSON preserves it, otherwise as a literal."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return {_LITERAL: literals.write(value)}
    same = literals.write(_value(json.loads(text))) == literals.write(value)
    return json.loads(text) if same else {_LITERAL: literals.write(value)}
