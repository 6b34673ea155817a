"""Tools that a model may call while it works: their descriptions, the calls, and the results.

`ToolSpec` is independent of the vendor. A backend with native tool calls sends `ToolSpec.schema`. For any other
backend, `core.tool_text` describes the same tools in the prompt, and the model writes its calls as fenced blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nightshift.core.tasks.task import Change


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
    replayed: bool = False
