"""Reads the findings of a reviewer or an auditor: data, validated and shortened, about files of the change alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agent.replies import find_json, spoken
from core.masking import printable
from core.remarks import Gravity, Remark

MOST = 20
_MAX_CHARS = 500
_ALSO = {
    "blocker": Gravity.CRITICAL,
    "severe": Gravity.CRITICAL,
    "error": Gravity.HIGH,
    "major": Gravity.HIGH,
    "moderate": Gravity.MEDIUM,
    "warning": Gravity.MEDIUM,
    "minor": Gravity.LOW,
    "info": Gravity.LOW,
    "note": Gravity.LOW,
    "nit": Gravity.LOW,
}


def _gravity(value: Any) -> Any:
    said = str(value).strip().lower()
    return _ALSO.get(said, said)


def _text(value: Any) -> str:
    return " ".join(printable(str(value if value is not None else "")).split())[:_MAX_CHARS]


def _line(value: Any) -> int:
    first = str(value if value is not None else "").strip().lstrip("L").split("-")[0]
    return min(int(first), 10**6) if first.isdecimal() else 0


class RemarkIn(BaseModel):
    """One finding as a model writes it; unknown fields are passed over."""

    model_config = ConfigDict(extra="ignore")

    file: Annotated[str, BeforeValidator(_text)] = Field(validation_alias=AliasChoices("file", "path"))
    line: Annotated[int, BeforeValidator(_line)] = 0
    severity: Annotated[Gravity, BeforeValidator(_gravity)]
    reason: Annotated[str, BeforeValidator(_text)] = Field(
        min_length=3, validation_alias=AliasChoices("reason", "message", "description")
    )
    fix: Annotated[str, BeforeValidator(_text)] = Field(
        default="", validation_alias=AliasChoices("fix", "suggestion", "suggested_fix")
    )


def read(text: str, paths: Collection[str]) -> tuple[Remark, ...] | str:
    """The findings in a reply, the worst first, or a sentence about why it cannot be used.

    A finding about a file that is not in the change is passed over: nothing could be mended there.
    """
    data = find_json(spoken(text))
    if data is None or not isinstance(data.get("findings"), list):
        return 'The reply was no JSON object with a list "findings".'
    found = list[Remark]()
    for number, item in enumerate(data["findings"][:MOST], 1):
        try:
            said = RemarkIn.model_validate(item)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"Finding {number}: {'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}."
        path = (
            said.file.removeprefix("./").removeprefix("a/").removeprefix("b/") if said.file not in paths else said.file
        )
        if path in paths:
            found.append(Remark(path=path, line=said.line, gravity=said.severity, reason=said.reason, fix=said.fix))
    return worst_first(found)


def worst_first(found: Sequence[Remark]) -> tuple[Remark, ...]:
    """Each finding once, in the order of gravity, then of place."""
    order = list(Gravity)
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (order.index(one.gravity), one.path, one.line)))


def shape(found: Sequence[Remark], who: str) -> str:
    """The findings as feedback for the next try."""
    lines = [f"The {who} sends the change back. Mend what it names, and keep everything else as it is."]
    for number, one in enumerate(found, 1):
        fix = f" Suggested: {one.fix}" if one.fix else ""
        lines.append(f"{number}. {one.where} ({one.gravity}): {one.reason}{fix}")
    return "\n".join(lines)
