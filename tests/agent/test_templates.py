"""A reply form does not count as an answer if the model sends it back without filling it in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nightshift.agent.coding import _summary
from nightshift.agent.planning import read_split
from nightshift.agent.reflecting import read_reflection
from nightshift.agent.replies import find_json, parse
from nightshift.agent.replies.templates import is_copied, is_placeholder
from nightshift.agent.tools import endings, specs
from nightshift.agent.tools.arguments import read_arguments
from nightshift.agent.tools.calls import read_calls
from nightshift.core import tool_text
from nightshift.core.dialogue import Completion, Message
from nightshift.core.errors import BadReply
from nightshift.core.gauge import ModelClass, ModelProfile
from nightshift.core.tools import ToolSpec
from tests.support.agent_parts import TESTS, Bench, case_for, model_for

PROMPTS = Path(__file__).parents[2] / "nightshift" / "agent" / "prompts"


@pytest.mark.parametrize("file", sorted(PROMPTS.rglob("*.md")), ids=lambda file: file.stem)
def test_no_line_and_no_paragraph_of_a_prompt_is_a_valid_reply(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for piece in (text, *text.split("\n\n"), *text.split("\n")):
        reply = Completion(text=piece, backend="scripted", model="m")
        with pytest.raises(BadReply):
            parse(reply, expected=["add.py"])
        assert endings.read_stated(reply) is None, piece
        assert read_reflection(piece) is None, piece
        assert not isinstance(read_split(piece, case_for(), 0.0), tuple), piece
        assert _summary(reply) == "", piece


def test_words_of_the_instructions_are_copied_and_words_about_the_task_are_not() -> None:
    prompt = [
        Message(role="system", text="Say\nwhy the task cannot be done."),
        Message(role="user", text="Add a cache."),
    ]
    assert is_copied("why the task cannot be done", prompt)
    assert not is_copied("there is no file with prices", prompt)
    assert not is_copied("Add a cache", prompt), "the owner's words are no instructions"


BARE = "The kind of mistake, in a few words"


@pytest.mark.parametrize("text", ["what to change, where, in one to four sentences", f"`{BARE.lower()}.`"])
def test_a_placeholder_without_its_brackets_is_one_too(text: str) -> None:
    assert is_placeholder(text)
    assert find_json(json.dumps({"root_cause": text, "hypothesis": "it is off by one"})) == {
        "root_cause": "",
        "hypothesis": "it is off by one",
    }


@pytest.mark.parametrize("spec", specs.WORKING, ids=lambda spec: spec.name)
def test_the_form_of_a_call_is_no_call_that_can_be_run(spec: ToolSpec) -> None:
    form = tool_text.describe([spec])[len(tool_text.describe([])) :]
    calls = read_calls(Completion(text=form, backend="scripted", model="m"), specs.WORKING).calls
    needed = [parameter.name for parameter in spec.parameters if parameter.required]
    for call in calls:
        words = {parameter.name: parameter.description for parameter in spec.parameters if parameter.required}
        for given in (call.arguments, words) if needed else ():
            with pytest.raises(BadReply):
                read_arguments(call.name, given)


SHOWN = re.compile(r"^----- begin (.*?) ([0-9a-f]{16}) -----\n.*?^----- end \1 \2 -----$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("profile", [ModelProfile(), ModelProfile(size=ModelClass.SMALL)])
@pytest.mark.parametrize("reply", ["I think about it.", "Done already: it is there", "It is already implemented."])
async def test_no_line_of_a_whole_prompt_and_of_a_complaint_is_a_valid_reply(profile: ModelProfile, reply: str) -> None:
    bench = Bench(model_for(reply, forever=True, REFLECTING=["no JSON"] * 9), profile=profile)
    await bench.run(case_for("Write add in add.py", tests=TESTS, iterations=3))
    texts = {
        message.text for request in bench.model.requests for message in request.messages if message.role != "assistant"
    }
    for text in texts:
        instructions = re.sub(
            r"^```\w* path=test_add\.py.*?^```$", "", SHOWN.sub("", text), flags=re.MULTILINE | re.DOTALL
        )
        for piece in (*instructions.split("\n\n"), *instructions.split("\n")):
            answer = Completion(text=piece, backend="scripted", model="m")
            with pytest.raises(BadReply):
                parse(answer, expected=["add.py"])
            claim = endings.read_stated(answer)
            assert claim is None or is_copied(next(iter(claim.model_dump().values())), ()), piece
            assert read_reflection(piece) is None, piece


@pytest.mark.parametrize("profile", [ModelProfile(), ModelProfile(size=ModelClass.SMALL)], ids=["usual", "plain"])
@pytest.mark.parametrize("base", [{}, {"add.py": "def add(a, b):\n    return 0\n"}], ids=["new", "existing"])
@pytest.mark.parametrize(
    "reply",
    ["Done already: it is there", "```python\ndef add(a, b):\n    return a - b\n```", "```python\ndef add(a, b:\n```"],
)
async def test_no_prompt_is_sent_twice_to_a_model_that_always_says_the_same(
    profile: ModelProfile, base: dict[str, str], reply: str
) -> None:
    bench = Bench(
        model_for(reply, forever=True, PLANNING=[reply] * 9, REFLECTING=[reply] * 40), profile=profile, base=base
    )
    await bench.run(case_for("Write add in add.py", tests=TESTS))
    sent = [(request.messages, request.temperature) for request in bench.model.requests]
    assert len(sent) > 3
    assert [number for number, each in enumerate(sent) if each in sent[:number]] == []
