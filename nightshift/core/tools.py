"""Tools that a model may call while it works: their descriptions, calls and results, and the form that suits a model.

`ToolSpec` is independent of the vendor. A backend with native tool calls sends `ToolSpec.schema`. For any other
backend, `core.tool_text` describes the same tools in the prompt, and the model writes its calls as fenced blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from nightshift.core.tasks.task import Change


class ToolProtocol(StrEnum):
    """The form in which calls are exchanged with a model."""

    NATIVE = "native"
    """The vendor's own tool calls."""
    TEXT = "text"
    """Fenced blocks in the reply's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """One argument of a tool. `required` is True if the argument has no default."""

    name: str
    description: str
    type: Literal["string", "integer", "boolean"] = "string"
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool that a model can call.

    `body` names the parameters that a call written as text puts between the fences, not in the info string: one
    parameter, or two that form a SEARCH/REPLACE section. `input_schema` is the schema of an external tool;
    `parameters` then describes as much of that schema as a call written as text can express.
    """

    name: str
    description: str
    parameters: tuple[ToolParameter, ...] = ()
    body: tuple[str, ...] = ()
    input_schema: Mapping[str, Any] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The arguments as a JSON schema, as the vendors' APIs expect it."""
        if self.input_schema is not None:
            return {"type": "object", "properties": {}, **self.input_schema}
        return {
            "type": "object",
            "properties": {
                parameter.name: {"type": parameter.type, "description": parameter.description}
                for parameter in self.parameters
            },
            "required": [parameter.name for parameter in self.parameters if parameter.required],
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as received, before its arguments are validated.

    `id` is the vendor's; empty if the call was written as text. `details` are further data of the vendor, such as a
    signature. Like thoughts, they are sent back only to the model that wrote them.
    """

    name: str
    arguments: Mapping[str, Any]
    id: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlace:
    """Identifies a call by the key of its reply (`ModelRequest.reply_key`) and its number in that reply."""

    task_id: int
    attempt: int
    step_no: int
    call_no: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """One call and its result, as stored before the model is asked again.

    `arguments` is JSON. `change` is the whole change after the call; None if the call did not alter the change. `ok` is
    False if the call was refused or failed; the text then says why.
    """

    name: str
    arguments: str
    text: str
    ok: bool = True
    change: Change | None = field(default=None, repr=False)
    took_s: float = 0.0


MAX_CHARS = 200
_FIRST = ("pattern", "path", "glob", "page", "files")
"""Arguments that distinguish calls. They come first, in this order; other arguments follow."""
_UNSAID = frozenset({"old", "new", "content", "timeout"})
"""Arguments that are omitted, because they are whole texts or unimportant."""
_SPOKEN = {"run": "command", "ask": "question", "cannot": "reason", "done": "summary"}
"""Maps each tool that is summarised by a single argument to the name of that argument."""


def brief(name: str, arguments: str) -> str:
    """Return the call's name and its distinguishing arguments, on one line.

    `arguments` is a model's JSON; invalid parts are ignored. The line is for people and must still be escaped for
    display.
    """
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = {}
    given = given if isinstance(given, dict) else {}
    if spoken := _word(given.get(_SPOKEN.get(name, ""))):
        return _cut(f"{name}: {spoken}")
    return _cut(" ".join(filter(None, (name, *_words(name, given)))))


def _words(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    if name == "read_file":
        yield _word(given.get("path"))
        yield _span(given.get("start"), given.get("lines"))
        return
    first = [each for each in _FIRST if each in given]
    yield from (_word(given[each]) for each in (*first, *sorted(given.keys() - {*_FIRST, *_UNSAID})))
    if name == "write_file" and "content" in given and given["content"] is None:
        yield "(removed)"


def _span(start: object, lines: object) -> str:
    """Return the requested range of lines as text, such as `201-400`, or only the first line's number."""
    first, count = _number(start), _number(lines)
    if count:
        return f"{first or 1}-{(first or 1) + count - 1}"
    return f"{first}-" if first else ""


def _number(value: object) -> int:
    """Convert a number of lines, which may be a text, to an integer; 0 for anything else."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _word(value: object) -> str:
    """Return a value as words. A list gives the words of its items; booleans, None and mappings give no words."""
    if isinstance(value, list):
        return " ".join(_word(word) for word in value[:20])
    if value is None or isinstance(value, bool | dict):
        return ""
    return " ".join(str(value)[: 4 * MAX_CHARS].split())


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"


ENOUGH = 10
"""Number of replies from which the quality of a form counts as known."""
TOO_MANY_MALFORMED = 0.2
"""Share of malformed replies above which the default form is replaced by a better one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormCounts:
    """Counts of one model's replies in one form: correct tool calls, and replies that could not be parsed."""

    well: int = 0
    malformed: int = 0

    def __add__(self, other: FormCounts) -> FormCounts:
        return FormCounts(well=self.well + other.well, malformed=self.malformed + other.malformed)

    @property
    def replies(self) -> int:
        """The total number of replies, correct and malformed."""
        return self.well + self.malformed

    @property
    def malformed_share(self) -> float | None:
        """The share of replies that could not be parsed; None if there was no reply."""
        return self.malformed / self.replies if self.replies else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormReport:
    """Counts of one step for one model in one form of tool calls."""

    backend: str
    model: str
    protocol: ToolProtocol
    counts: FormCounts


def form_reports(data: object) -> Iterator[FormReport]:
    """Read the reports in a step's data (`forms`): [[backend, model, protocol, well, malformed], …].

    Raises:
        ValueError: The data is not such a list.
    """
    for backend, model, protocol, well, malformed in data if isinstance(data, Sequence) else ():
        counts = FormCounts(well=int(well), malformed=int(malformed))
        yield FormReport(backend=backend, model=model, protocol=ToolProtocol(protocol), counts=counts)


KnownForms = Mapping[ToolProtocol, FormCounts]


def choose_form(protocols: Sequence[ToolProtocol], form_counts: KnownForms) -> ToolProtocol:
    """Choose the form in which a model is offered tools, if the request names no form.

    Args:
        protocols: The forms that the model's backend supports, the default form first; at least one.
        form_counts: The model's results in these forms.

    Returns:
        The default form, unless it is known to fail often and another form works better or is not known yet.
    """
    usual = protocols[0]
    share = _share(form_counts, usual)
    if share is None or share <= TOO_MANY_MALFORMED:
        return usual
    return min(protocols, key=lambda protocol: (_share(form_counts, protocol) or 0.0, protocol is not usual))


def _share(form_counts: KnownForms, protocol: ToolProtocol) -> float | None:
    """Return the share of malformed replies in a form; None if the form has too few replies to count as known."""
    counts = form_counts.get(protocol, FormCounts())
    return counts.malformed_share if counts.replies >= ENOUGH else None
