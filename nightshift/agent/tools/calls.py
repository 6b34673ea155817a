"""Reads tool calls from a model's reply: native ones, fenced blocks, and forms that leak from chat templates.

The requested form is that of `core.tool_text`. Other forms are also read, because models fall back to the forms that
they were trained on: `<tool_call>` with JSON (Hermes, Qwen), `<function=…><parameter=…>` (Qwen3-Coder, OpenHands),
`<invoke name=…>` (Anthropic, MiniMax, DeepSeek since 3.2), `<arg_key>` (GLM), `[TOOL_CALLS]` (Mistral), markers before
JSON (gpt-oss, Kimi, DeepSeek 3), `call:NAME{…}` (Gemma), JSON objects, a lone shell block, and whole files in the form
of a reply without tools. Nothing is guessed: text that names no tool is not a call. If a model continues after its call
and invents the result, the reply is cut off there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nightshift.agent.replies import fences, parse
from nightshift.agent.replies.edits import CODEX, sections
from nightshift.agent.replies.json_replies import find_json
from nightshift.agent.tools import specs
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply
from nightshift.core.tool_text import RESULT
from nightshift.core.tools import ToolCall, ToolSpec

MOST_CALLS = 12
"""Maximum number of calls in one reply that are run; further calls are ignored."""

_ARGUMENT = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|'[^']*'|\S+)")
_XML = re.compile(r"<function=([\w.:-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_XML_PARAMETER = re.compile(r"<parameter=([\w-]+)>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_INVOKE = re.compile(r"<(?:\WDSML\W)?invoke name=\"([\w.:-]+)\">(.*?)(?:</(?:\WDSML\W)?invoke>|\Z)", re.DOTALL)
_INVOKE_PARAMETER = re.compile(r"parameter name=\"([\w-]+)\"[^>]*>(.*?)</(?:\WDSML\W)?parameter>", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_GLM = re.compile(r"<tool_call>\s*([\w.:-]+)\s*(?=<arg_key>)(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_GLM_PARAMETER = re.compile(r"<arg_key>\s*([\w-]+)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_GEMMA = re.compile(r"<\|tool_call>call:([\w.:-]+)\{(.*?)\}(?:<tool_call\|>|\Z)", re.DOTALL)
_GEMMA_PARAMETER = re.compile(r"([\w-]+):(?:<\|\"\|>)?((?<=\|>).*?(?=<\|\"\|>)|[^,]*)", re.DOTALL)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(?:([\w.:-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\])?\s*)?(?=[\[{])")
_HARMONY = re.compile(r"to=(?:functions\.)?([\w.:-]+)[^{]*?<\|message\|>\s*(?=\{)")
_KIMI = re.compile(r"<\|tool_call_begin\|>\s*([\w.-]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*(?=\{)")
_DEEPSEEK = re.compile(r"tool▁call▁begin\W>(?:function<\Wtool▁sep\W>)?([\w.-]+)(?:<\Wtool▁sep\W>|\s*```json)\s*(?=\{)")
_TAGS = ((_XML, _XML_PARAMETER), (_INVOKE, _INVOKE_PARAMETER), (_GLM, _GLM_PARAMETER), (_GEMMA, _GEMMA_PARAMETER))
_UNCLOSED = re.compile(r"<(?:\WDSML\W)?(?:function=|invoke name=\")([\w.:-]+)(?!.*(?:function|invoke)>)", re.DOTALL)
_CUT = "The block of {} does not end; the reply was cut off. Send it again, shorter."
_SHELLS = frozenset({"bash", "sh", "shell", "console"})
_ARGUMENTS = ("arguments", "args", "parameters", "input", "action_input")
_NAMES = ("name", "tool", "tool_name", "function", "action")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls in a reply.

    `fault` names the part that could not be read. `is_only_files` means that the reply contained whole files or edits
    but no call, so that `calls` are the calls that write them.
    """

    calls: tuple[ToolCall, ...] = ()
    fault: str = ""
    is_only_files: bool = False


def read_calls(reply: Completion, tools: Sequence[ToolSpec]) -> Calls:
    """Return the calls of a reply, in order, at most `MOST_CALLS`; aliases are replaced by the tools' own names.

    Args:
        reply: the reply.
        tools: the offered tools. Calls written as text are recognised only if they name one of these. Files in the
            text count as calls only if a tool for writing files is offered.
    """
    if reply.tool_calls:
        return Calls(calls=tuple(map(_canonical, reply.tool_calls[:MOST_CALLS])))
    text = reply.text
    if invented := re.search(rf"^{re.escape(RESULT)}", text, re.MULTILINE):
        text = text[: invented.start()]
    offered = frozenset(spec.name for spec in tools)
    parsed_calls = _read_fenced(text, tools, offered, cut=reply.is_cut)
    if not (parsed_calls.calls or parsed_calls.fault):
        cut_call = _UNCLOSED.search(text) if reply.is_cut else None
        leaked = map(_canonical, _read_leaked(text[: cut_call.start()] if cut_call else text))
        fault = _CUT.format(cut_call[1]) if cut_call else ""
        parsed_calls = Calls(calls=tuple(call for call in leaked if call.name in offered), fault=fault)
    if not (parsed_calls.calls or parsed_calls.fault) and specs.WRITE_FILE.name in offered:
        parsed_calls = _files(reply)
    most = None if parsed_calls.is_only_files else MOST_CALLS  # All files of a change are needed.
    return Calls(
        calls=tuple(map(_canonical, parsed_calls.calls[:most])),
        fault=parsed_calls.fault,
        is_only_files=parsed_calls.is_only_files,
    )


def _canonical(call: ToolCall) -> ToolCall:
    name = call.name.strip().lower().replace("-", "_").rsplit(".", 1)[-1].rsplit(":", 1)[-1]
    spec = specs.find_tool(name)
    return replace(call, name=spec.name if spec else call.name[:100])


# Functions that read calls from fenced blocks.


def _read_fenced(text: str, tools: Sequence[ToolSpec], offered: Collection[str], *, cut: bool) -> Calls:
    calls, fault = list[ToolCall](), ""
    blocks = fences.blocks(text)
    for block in blocks:
        word = block.info.split(maxsplit=1)[0] if block.info else ""
        spec = specs.find_tool(word.lower().rsplit(".", 1)[-1]) if word not in _SHELLS else None
        if spec is None and word in _SHELLS and len(blocks) == 1 and "path=" not in block.info:
            spec = specs.RUN
        if spec is None and specs.is_outside(word):
            spec = next((each for each in tools if each.name == word), None)
        if spec is None or spec.name not in offered:
            continue
        if not block.closed and (cut or spec.name in {specs.WRITE_FILE.name, specs.EDIT.name}):
            fault = _CUT.format(spec.name)
            continue
        try:
            calls += _block(spec, block.info[len(word) :], block.text)
        except BadReply as bad:
            fault = str(bad)
    return Calls(calls=tuple(calls), fault=fault)


def _block(spec: ToolSpec, head: str, body: str) -> list[ToolCall]:
    given: dict[str, Any] = {name: value.strip("\"'") for name, value in _ARGUMENT.findall(head)}
    if spec.name == specs.READ_FILE.name and "path" not in given and (word := head.strip()) and " " not in word:
        given["path"] = word
    if len(spec.body) == 2:
        body_sections = list(sections(body))
        if wrong := next((section.fault for section in body_sections if section.fault), ""):
            raise BadReply(f"{spec.name}: the SEARCH/REPLACE section {wrong}.")
        pairs = [dict(zip(spec.body, (section.search, section.replace), strict=True)) for section in body_sections]
        if not pairs and not given.keys() >= set(spec.body):
            raise BadReply(f"{spec.name}: the block holds no SEARCH/REPLACE section.")
        return [ToolCall(name=spec.name, arguments={**given, **pair}) for pair in pairs or [{}]]
    if (data := _object(body)) is not None and spec.name != specs.WRITE_FILE.name:
        return [ToolCall(name=spec.name, arguments={**given, **data})]
    if spec.body and (body.strip() or spec.body[0] not in given):
        text = body if spec.name == specs.WRITE_FILE.name else body.strip("\n")
        given = {**given, spec.body[0]: text} if text or spec.name == specs.WRITE_FILE.name else given
    return [ToolCall(name=spec.name, arguments=given)]


# Functions that read calls in forms that leak from chat templates.


def _read_leaked(text: str) -> Iterator[ToolCall]:
    """Yield the calls in the first known form that the text contains."""
    for form in (_xml, _read_tagged, _read_marked, _bare):
        calls = list(form(text))
        if calls:
            yield from calls
            return


def _xml(text: str) -> Iterator[ToolCall]:
    for calls, parameters in _TAGS:
        for name, inside in calls.findall(text):
            # A newline after the opening tag and one before the closing tag do not belong to the value.
            given = {key: value.removeprefix("\n").removesuffix("\n") for key, value in parameters.findall(inside)}
            yield ToolCall(name=name, arguments=given)


def _read_tagged(text: str) -> Iterator[ToolCall]:
    yield from filter(None, (_call_of(_object(inside)) for inside in _TAGGED.findall(text)))


def _read_marked(text: str) -> Iterator[ToolCall]:
    """Yield calls in the forms that consist of a marker, perhaps a name, and JSON."""
    for marker in (_MISTRAL, _HARMONY, _KIMI, _DEEPSEEK):
        for match in marker.finditer(text):
            data = _decode_json(text, match.end())
            if match[1] and isinstance(data, dict):
                yield ToolCall(name=match[1], arguments=data)
            else:
                yield from filter(None, map(_call_of, data if isinstance(data, list) else [data]))


def _decode_json(text: str, at: int) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text, at)[0]
    except (ValueError, RecursionError):
        return None


def _bare(text: str) -> Iterator[ToolCall]:
    yield from filter(None, [_call_of(find_json(text))])


def _object(text: str) -> dict[str, Any] | None:
    data = _decode_json(text.strip(), 0) if text.lstrip().startswith("{") else None
    return data if isinstance(data, dict) else None


def _call_of(data: object) -> ToolCall | None:
    """Return the call that a JSON object describes; None if it names no tool, because such an object is data."""
    if not isinstance(data, Mapping):
        return None
    inner = data.get("function")
    data = inner if isinstance(inner, Mapping) else data
    name = next((data[key] for key in _NAMES if isinstance(data.get(key), str)), "")
    given = next((data[key] for key in _ARGUMENTS if key in data), None)
    if isinstance(given, str):
        given = _object(given)
    if given is None:
        given = {key: value for key, value in data.items() if key not in _NAMES}
    is_tool = specs.find_tool(name.lower().rsplit(".", 1)[-1]) or specs.is_outside(name)
    return ToolCall(name=name, arguments=given) if is_tool and isinstance(given, Mapping) else None


# Reads a reply that contains files in place of tool calls.


def _files(reply: Completion) -> Calls:
    """Convert the whole files and edits in a reply without tools to the tool calls that write them."""
    try:
        parsed = parse(reply)
    except BadReply:
        return Calls()
    if CODEX in reply.text and not reply.is_cut:
        return Calls(calls=(ToolCall(name="apply_patch", arguments={"input": reply.text}),), is_only_files=True)
    calls = [ToolCall(name=specs.WRITE_FILE.name, arguments={"path": p, "content": t}) for p, t in parsed.files.items()]
    calls += [
        ToolCall(name=specs.EDIT.name, arguments={"path": edit.path, "old": edit.search, "new": edit.replace})
        for edit in parsed.edits
    ]
    calls += [
        ToolCall(name=specs.WRITE_FILE.name, arguments={"path": path, "delete": True}) for path in parsed.deletions
    ]
    return Calls(calls=tuple(calls), fault="\n".join(parsed.complaints), is_only_files=True)
