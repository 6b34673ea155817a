"""Reads the findings in a reader's reply, and says what is wrong with unreadable ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nightshift.agent.replies.json_replies import find_json
from nightshift.core.tasks.remarks import Gravity, Reader, Remark, worst_first
from nightshift.core.text.masking import printable

MOST_REMARKS = 20
_MOST_READ = 500
_MAX_CHARS = 500
_ALSO = {
    **dict.fromkeys(("blocker", "severe"), Gravity.CRITICAL),
    **dict.fromkeys(("error", "major"), Gravity.HIGH),
    **dict.fromkeys(("moderate", "warning"), Gravity.MEDIUM),
    **dict.fromkeys(("minor", "info", "note", "nit"), Gravity.LOW),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRemarks:
    """The findings in a reply, the worst first, at most `MOST_REMARKS`; `fault` describes the first unreadable one."""

    remarks: tuple[Remark, ...] = ()
    fault: str = ""


def _gravity(value: Any) -> Any:
    answer = str(value).strip().lower()
    return _ALSO.get(answer, answer)


def _text(value: Any) -> str:
    return " ".join(printable(str(value if value is not None else "")).split())[:_MAX_CHARS]


def _line(value: Any) -> int:
    first = str(value if value is not None else "").strip().lstrip("L").split("-")[0]
    return min(int(first), 10**6) if first.isdecimal() else 0


class RemarkIn(BaseModel):
    """One finding as a model writes it; unknown fields are ignored."""

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
    reader: Annotated[str, BeforeValidator(_text)] = ""


def read_remarks(text: str, paths: Collection[str], readers: Collection[Reader]) -> ReadRemarks:
    """Read the findings in a reply.

    Args:
        text: the reply.
        paths: the files of the change.
        readers: the readers that were asked. If there are several, a finding without a reader goes to the audit, the
            stricter one.
    """
    data = find_json(text)
    if data is None or not isinstance(data.get("findings"), list):
        return ReadRemarks(fault='The reply was no JSON object with a list "findings".')
    remarks, faults = list[Remark](), list[str]()
    for number, item in enumerate(data["findings"][:_MOST_READ], 1):
        try:
            remarks.append(_remark(RemarkIn.model_validate(item), paths, readers))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            faults.append(f"Finding {number}: {'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}.")
    return ReadRemarks(remarks=worst_first(remarks)[:MOST_REMARKS], fault=faults[0] if faults else "")


def _remark(raw_remark: RemarkIn, paths: Collection[str], readers: Collection[Reader]) -> Remark:
    path = (
        raw_remark.file
        if raw_remark.file in paths
        else raw_remark.file.removeprefix("./").removeprefix("a/").removeprefix("b/")
    )
    reader = next(
        (reader for reader in readers if reader == raw_remark.reader.lower()),
        max(readers, key=lambda r: r is Reader.AUDIT),
    )
    return Remark(
        path=path or "(the change)",
        line=raw_remark.line,
        gravity=raw_remark.severity,
        reason=raw_remark.reason,
        fix=raw_remark.fix,
        reader=reader,
    )
