"""Conversations follow the vendors' rules when they are sent, whatever happened to them before."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.dialogue import Finish, Message
from nightshift.core.tools import ToolCall
from nightshift.models.conversation import ENDS, NO_RESULT, clean_name, pair_calls, read_arguments

STRICT = re.compile(r"[A-Za-z0-9_-]{1,64}")
IDS = st.sampled_from(["", "a", "b", "call00000", "call00001", "functions.read:0", "x" * 80])
CALLS = st.builds(ToolCall, name=st.just("read_file"), arguments=st.just({}), id=IDS)
TURNS = st.one_of(
    st.builds(Message, role=st.just("user"), text=st.text(max_size=3)),
    st.builds(
        Message, role=st.just("assistant"), text=st.text(max_size=3), tool_calls=st.lists(CALLS, max_size=3).map(tuple)
    ),
    st.builds(Message, role=st.just("tool"), text=st.text(max_size=3), call_id=IDS),
)


@given(st.lists(TURNS, max_size=12))
def test_ids_are_unique_and_each_call_is_answered_right_behind_its_turn(turns: list[Message]) -> None:
    sent = pair_calls(turns, STRICT)
    ids = [call.id for message in sent for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    assert all(STRICT.fullmatch(call_id) for call_id in ids)
    waiting = set[str]()
    for message in sent:
        if message.role == "tool":
            waiting.remove(message.call_id)
            continue
        assert not waiting
        waiting = {call.id for call in message.tool_calls}
    assert not waiting


@given(st.lists(TURNS, max_size=12))
def test_nothing_that_was_said_is_lost_and_nothing_is_added_but_missing_results(turns: list[Message]) -> None:
    sent = pair_calls(turns, STRICT)
    assert [message.text for message in sent if message.text != NO_RESULT] == [message.text for message in turns]


@given(st.lists(TURNS, max_size=12), st.lists(TURNS, max_size=4))
def test_what_was_sent_once_stays_the_beginning_of_what_is_sent_later(
    turns: list[Message], more: list[Message]
) -> None:
    answered = [*turns, Message(role="user", text="go on")]
    assert pair_calls([*answered, *more], STRICT)[: len(pair_calls(answered, STRICT))] == pair_calls(answered, STRICT)


@pytest.mark.parametrize(
    "name",
    [
        "read_file", "read_file<|channel|>commentary", "functions.read_file:0", "read_file()\n", "`read_file`",
        "assistant<|channel|>commentary to=functions.read_file", "default_api:read_file",
    ],
)  # fmt: skip
def test_a_tools_name_loses_what_a_chat_format_left_around_it(name: str) -> None:
    assert clean_name(name) == "read_file"
    assert read_arguments('{"text": "x\ny"}') == {"text": "x\ny"}


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("eos_token", Finish.STOP), ("complete", Finish.STOP), ("function_call", Finish.TOOL),
        ("model_length", Finish.LENGTH), ("max_output_tokens", Finish.LENGTH), ("blocklist", Finish.FILTER),
        ("error", None), ("malformed_function_call", None), ("insufficient_system_resource", None),
    ],
)  # fmt: skip
def test_only_the_words_of_an_end_are_one(word: str, finish: Finish | None) -> None:
    assert ENDS.get(word) is finish
