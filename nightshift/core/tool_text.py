"""Tool calls as text: one fenced block per call, for models without native calls or with unreliable native calls.

The first word of the info string (the text behind the opening fence) is the call's name. Short arguments follow the
name as `name=value`, and the long argument is between the fences, unescaped, because code in JSON gets worse (P.
Gauthier, “LLMs are bad at returning code in JSON”, aider.chat, 2024). `agent.tools.calls` parses these blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from nightshift.core.dialogue import Message
from nightshift.core.tools import ToolCall, ToolParameter, ToolSpec

_HOW = """\
# Tools

You work by calling tools. A call is one fenced block whose first word is the tool's name; short arguments follow as \
name=value on the same line, the long one stands between the fences. Make one call in a reply, as its last thing, and \
stop there: its result comes in the next message.
"""
RESULT = "Result of "
"""Prefix of the message with a call's result, for models that call tools as text."""
_PLAIN_VALUE = re.compile(r"[^\s\"'`=]+")


def describe(specs: Sequence[ToolSpec]) -> str:
    """Describe the tools for a system prompt: how to call a tool, then each tool with an example block."""
    return "\n".join([_HOW, *(_describe_tool(spec) for spec in specs)])


def _describe_tool(spec: ToolSpec) -> str:
    lines = [f"## {spec.name}", "", spec.description]
    lines += [
        f"- {parameter.name}{'' if parameter.required else ' (optional)'}: {parameter.description}"
        for parameter in spec.parameters
    ]
    return "\n".join([*lines, "", _form(spec), ""])


def _form(spec: ToolSpec) -> str:
    """Return an example block of a call, with a placeholder for each required argument."""
    needed = {
        parameter.name: placeholder(parameter)
        for parameter in spec.parameters
        if parameter.required or parameter.name in spec.body
    }
    return block(ToolCall(name=spec.name, arguments=needed), spec)


def placeholder(parameter: ToolParameter) -> Any:
    """Return a placeholder for an argument in an example call, which no reader can mistake for a real value."""
    return 1 if parameter.type == "integer" else f"<{parameter.name}>"


def block(call: ToolCall, spec: ToolSpec | None) -> str:
    """Return a call as a fenced block; its fence is longer than any fence in the arguments.

    Without a spec, all arguments are in the info string.
    """
    inside = spec.body if spec else ()
    head = " ".join([call.name, *(f"{k}={_value(v)}" for k, v in call.arguments.items() if k not in inside)])
    texts = [str(call.arguments.get(name) or "") for name in inside]
    body = _section(*texts) if len(texts) == 2 else "".join(map(_end_line, texts))
    longest = max((len(run) for run in re.findall(r"^[ \t]*(`{3,})", body, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{head}\n{body}{fence}"


def show(call: ToolCall) -> str:
    """Return a call of any tool in readable form, with multi-line arguments between the fences."""
    body = tuple(name for name, value in call.arguments.items() if isinstance(value, str) and "\n" in value)
    return block(call, ToolSpec(name=call.name, description="", body=body))


def with_calls(text: str, calls: Iterable[ToolCall]) -> str:
    """Return the text of a message followed by its calls, each formatted by `show`."""
    return "\n\n".join(filter(str.strip, (text, *map(show, calls)))) if calls else text


def _section(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{_end_line(old)}=======\n{_end_line(new)}>>>>>>> REPLACE\n"


def _end_line(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _value(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if _PLAIN_VALUE.fullmatch(text):
        return text
    return '"' + re.sub(r"\s+", " ", text).replace('"', "'") + '"'


def as_text(messages: Iterable[Message], specs: Sequence[ToolSpec]) -> tuple[Message, ...]:
    """Convert messages for a model that calls tools only as text: native calls and results become plain messages.

    The tools are described in the system prompt. Consecutive results become one message, together with the user's next
    message, because the chat templates of some models reject two user messages in a row.
    """
    specs_by_name, new_messages = {spec.name: spec for spec in specs}, list[Message]()
    for message in messages:
        if message.role in {"tool", "user"}:
            _append_to_user(new_messages, message)
        elif message.tool_calls:
            blocks = [block(call, specs_by_name.get(call.name)) for call in message.tool_calls]
            new_messages.append(Message(role="assistant", text="\n\n".join(filter(str.strip, (message.text, *blocks)))))
        else:
            new_messages.append(message)
    if new_messages and new_messages[0].role == "system" and specs:
        new_messages[0] = replace(new_messages[0], text=f"{new_messages[0].text.rstrip()}\n\n{describe(specs)}")
    return tuple(new_messages)


def _append_to_user(messages: list[Message], message: Message) -> None:
    if messages and messages[-1].role == "user":
        messages[-1] = replace(messages[-1], text=f"{messages[-1].text.rstrip()}\n\n{message.text}")
    else:
        messages.append(Message(role="user", text=message.text))
