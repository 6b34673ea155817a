"""Forms of replies that come back in place of an answer are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.agent.coding import _summary
from nightshift.agent.planning import read_split
from nightshift.agent.reflecting import read_reflection
from nightshift.agent.replies import find_json, parse
from nightshift.agent.replies.templates import is_copied, is_placeholder, without_placeholders
from nightshift.agent.tools import endings
from nightshift.core.dialogue import Completion, Message
from nightshift.core.errors import BadReply
from nightshift.core.tasks.states import Phase
from tests.support.agent_parts import Bench, block, case_for, model_for

PROMPTS = Path(__file__).parents[2] / "nightshift" / "agent" / "prompts"
TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
RIGHT = block("add.py", "def add(a, b):\n    return a + b\n")


@pytest.mark.parametrize("file", sorted(PROMPTS.rglob("*.md")), ids=lambda file: file.stem)
def test_no_line_and_no_paragraph_of_a_prompt_is_a_valid_reply(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for piece in (text, *text.split("\n\n"), *text.split("\n")):
        reply = Completion(text=piece, backend="scripted", model="m")
        with pytest.raises(BadReply):
            parse(reply, expected=["add.py"])
        assert endings.stated(reply) is None, piece
        assert read_reflection(piece) is None, piece
        assert not isinstance(read_split(piece, case_for(), 0.0), tuple), piece
        assert _summary(reply) == "", piece


def test_a_placeholder_is_words_in_angle_brackets_and_no_tag() -> None:
    assert is_placeholder(" <what to change, where, in one to four sentences>\n")
    assert is_placeholder("<path>")
    for text in ("<b>", "<input type='text'>", "<div>some words</div>", "a < b and c > d", ""):
        assert not is_placeholder(text), text
    assert without_placeholders({"a": ["<the first subtask>", 1], "b": "real"}) == {"a": ["", 1], "b": "real"}
    assert find_json('{"root_cause": "<which line is wrong>"}') == {"root_cause": ""}


def test_words_of_the_instructions_are_copied_and_words_about_the_task_are_not() -> None:
    prompt = [
        Message(role="system", text="Say\nwhy the task cannot be done."),
        Message(role="user", text="Add a cache."),
    ]
    assert is_copied("why the task cannot be done", prompt)
    assert not is_copied("there is no file with prices", prompt)
    assert not is_copied("Add a cache", prompt), "the owner's words are no instructions"


async def test_a_claim_in_the_words_of_the_instructions_is_asked_for_again() -> None:
    echo = "Done already: your reason or question"
    bench = Bench(model_for(echo, RIGHT))
    state = await bench.run(case_for(tests=TESTS))
    assert state.phase is Phase.COMMIT
    assert bench.model.phases == [Phase.PLANNING, Phase.CODING, Phase.CODING]
