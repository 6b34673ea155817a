"""Tool calls parsed from replies: in the requested form, and in the native forms that models fall back to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.tools import specs
from nightshift.agent.tools.calls import MOST_CALLS, Calls, read_calls
from nightshift.core.dialogue import Completion, Finish
from nightshift.core.tool_text import block
from nightshift.core.tools import ToolCall

READ = {"path": "src/a.py", "start": 3}
EDIT = "```edit path=a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```\n"


def read(text: str, *, finish: Finish = Finish.STOP, tools: Any = specs.WORKING) -> Calls:
    return read_calls(Completion(text=text, backend="b", model="m", finish=finish), tools)


def only(text: str) -> tuple[str, dict[str, Any]]:
    parsed = read(text)
    assert not parsed.fault
    (call,) = parsed.calls
    return call.name, dict(call.arguments)


LEAKED = {
    "hermes": f"<tool_call>\n{json.dumps({'name': 'read_file', 'arguments': READ})}\n</tool_call>",
    "arguments as text": json.dumps({"name": "read_file", "arguments": json.dumps(READ)}),
    "json in a fence": f"I look.\n\n```json\n{json.dumps({'tool': 'read_file', 'args': READ})}\n```",
    "mistral list": f"[TOOL_CALLS] [{json.dumps({'name': 'read_file', 'arguments': READ})}]",
    "mistral name": f"[TOOL_CALLS]read_file[ARGS]{json.dumps(READ)}",
    "harmony": f"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{json.dumps(READ)}<|call|>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
    f"{json.dumps(READ)}<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek 3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
    f"{json.dumps(READ)}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek 3.1": f"<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{json.dumps(READ)}<｜tool▁call▁end｜>",
}
TEXTUAL = {
    "qwen coder": "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/a.py\n</parameter>\n<parameter=start>\n3\n"
    "</parameter>\n</function>\n</tool_call>",
    "anthropic": '<function_calls>\n<invoke name="read_file">\n<parameter name="path">src/a.py</parameter>\n'
    '<parameter name="start">3</parameter>\n</invoke>\n</function_calls>',
    "deepseek 3.2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" '
    'string="true">src/a.py</｜DSML｜parameter>\n<｜DSML｜parameter name="start" string="false">3</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "glm": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>src/a.py</arg_value>\n<arg_key>start</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>",
    "gemma 4": '<|tool_call>call:read_file{path:<|"|>src/a.py<|"|>,start:3}<tool_call|>',
    "fence": "I look at it.\n\n```read_file path=src/a.py start=3\n```\n",
    "fence with quotes": "```read_file path=\"src/a.py\" start='3'\n```",
    "another name": "```view_file path=src/a.py start=3\n```",
}


@pytest.mark.parametrize("text", LEAKED.values(), ids=LEAKED)
def test_a_call_that_leaked_from_a_template_is_read(text: str) -> None:
    assert only(text) == ("read_file", READ)


@pytest.mark.parametrize("text", TEXTUAL.values(), ids=TEXTUAL)
def test_a_call_in_words_is_read(text: str) -> None:
    assert only(text) == ("read_file", {"path": "src/a.py", "start": "3"})


def test_an_edit_is_a_section_and_several_are_several_calls() -> None:
    assert only(EDIT) == ("edit", {"path": "a.py", "old": "old\n", "new": "new\n"})
    two = EDIT[:-4] + EDIT.split("\n", 1)[1]
    assert [call.arguments["old"] for call in read(two).calls] == ["old\n", "old\n"]


def test_a_command_stands_between_the_fences_also_in_a_lone_shell_block() -> None:
    assert only("```run timeout=5\npytest -q\n```") == ("run", {"timeout": "5", "command": "pytest -q"})
    assert only("Let me see.\n```bash\npytest -q\n```") == ("run", {"command": "pytest -q"})


def test_what_follows_an_invented_result_is_not_believed() -> None:
    text = "```list_files\n```\n\nResult of list_files:\n\na.py\n\n```done\nAll is well.\n```"
    assert [call.name for call in read(text).calls] == ["list_files"]


def test_a_block_that_was_cut_off_is_a_fault_and_no_call() -> None:
    parsed = read("```write_file path=a.py\nx = (", finish=Finish.LENGTH)
    assert not parsed.calls
    assert "cut off" in parsed.fault


def test_a_reply_in_the_form_without_tools_is_files() -> None:
    parsed = read("Summary: Add it\n\n```python path=add.py\nx = 1\n```\n")
    assert parsed.is_only_files
    assert [(call.name, dict(call.arguments)) for call in parsed.calls] == [
        ("write_file", {"path": "add.py", "content": "x = 1\n"})
    ]


UNCLOSED = {
    "qwen coder": "<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\ndef f():\n    ret",
    "anthropic": '<invoke name="write_file"><parameter name="path">a.py</parameter><parameter name="content">def f',
    "deepseek": '<｜DSML｜invoke name="write_file">\n<｜DSML｜parameter name="content" string="true">def f',
}


@pytest.mark.parametrize("text", UNCLOSED.values(), ids=UNCLOSED)
def test_a_leaked_call_that_was_cut_off_writes_nothing(text: str) -> None:
    read_call = "<function=read_file><parameter=path>b.py</parameter></function>\n"
    assert [(call.name, call.arguments) for call in read(read_call + text, finish=Finish.LENGTH).calls] == [
        ("read_file", {"path": "b.py"})
    ]
    assert read(text, finish=Finish.LENGTH).fault
    assert not read(text, finish=Finish.LENGTH).calls


def test_who_may_only_read_writes_nothing_and_his_answer_stays_an_answer() -> None:
    assert read("```python path=test_a.py\nx = 1\n```\n", tools=specs.READING) == Calls()
    assert read("```bash\nrm -rf .\n```\n", tools=specs.READING) == Calls()
    assert read('{"subtasks": [{"name": "run"}]}', tools=specs.READING) == Calls()


def test_native_calls_keep_their_ids_and_are_bounded() -> None:
    calls = tuple(ToolCall(name="bash", arguments={"command": "ls"}, id=f"c{n}") for n in range(MOST_CALLS + 3))
    parsed = read_calls(Completion(text="", backend="b", model="m", tool_calls=calls), specs.WORKING)
    assert [(call.name, call.id) for call in parsed.calls] == [("run", f"c{n}") for n in range(MOST_CALLS)]


_LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=30), min_size=1, max_size=6)
_TEXTS = _LINES.map(lambda lines: "".join(f"| {line}\n" for line in lines))


@given(content=_TEXTS, old=_TEXTS, new=_TEXTS, path=st.from_regex(r"\A[a-z]{1,8}(/[a-z]{1,8}){0,2}\.py\Z"))
def test_what_the_text_form_writes_is_read_back(content: str, old: str, new: str, path: str) -> None:
    calls = [
        ToolCall(name="write_file", arguments={"path": path, "content": content}),
        ToolCall(name="edit", arguments={"path": path, "old": old, "new": new}),
        ToolCall(name="read_file", arguments={"path": path}),
    ]
    for call in calls:
        parsed = read(block(call, specs.find_tool(call.name)))
        assert [(read_call.name, dict(read_call.arguments)) for read_call in parsed.calls] == [
            (call.name, dict(call.arguments))
        ]


@given(st.text(max_size=400))
def test_no_reply_makes_the_reader_fail(text: str) -> None:
    for start in ("", "```run\n", "<tool_call>", "[TOOL_CALLS]", "<function=run>", '{"name": "run", '):
        read(start + text)
