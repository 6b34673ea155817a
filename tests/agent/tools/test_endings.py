"""Replies that end the tool loop without sending a file: the words that count as an end, and those that do not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nightshift.agent.prompt.text import prompt_file
from nightshift.agent.tools.arguments import Ask, Cannot, Done
from nightshift.agent.tools.endings import read_implied, read_stated
from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Completion, Finish
from tests.support.agent_parts import block


def reply(text: str, **more: Any) -> Completion:
    return Completion(**{"text": text, "backend": "scripted", "model": "m", **more})


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("Done already: it adds.", Done(summary="it adds.")),
        ("**Done already:** `add` adds.\nSince 2.0.\n\nMore words.", Done(summary="`add` adds. Since 2.0.")),
        ("Summary: Nothing\n\nCannot: two results\nof one call", Cannot(reason="two results of one call")),
        ("- Can’t: it is gone", Cannot(reason="it is gone")),
        ("Question: Which one?\nDefault: the first", Ask(question="Which one?", default="the first")),
    ],
)
def test_the_line_that_was_asked_for_is_read(text: str, ending: object) -> None:
    assert read_stated(reply(text)) == ending


@pytest.mark.parametrize(
    "text",
    [
        "", "Cannot:", "I think: Cannot: be done", "cannot do it",
        "Cannot: send it whole\n\n" + block("a.py", "x = 1\n"),
        "Ask: this?\n\na.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n",
    ],
)  # fmt: skip
def test_other_lines_and_replies_with_files_end_nothing(text: str) -> None:
    assert read_stated(reply(text)) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("This is already implemented in `a.py`.", Done), ("I don't know what you mean by the frobnicator.", Ask),
        ("Which of the two do you mean?", Ask), ("I cannot implement this: the test contradicts itself.", Cannot),
        ("This is impossible to do without a network.", Cannot),
    ],
)  # fmt: skip
def test_plain_sentences_say_the_same(text: str, kind: type) -> None:
    assert isinstance(read_implied(reply(text)), kind)


@pytest.mark.parametrize(
    "text",
    [
        "no", "This is not already implemented.", "The list cannot be empty.",
        "I cannot stress enough: ```python\nx = 1\n```",
        "x" * 2000 + " I cannot do it",
        '{"files": [], "note": "I cannot do that"}',
    ],
)  # fmt: skip
def test_sentences_about_other_things_say_nothing(text: str) -> None:
    assert read_implied(reply(text)) is None


@pytest.mark.parametrize("more", [{"finish": Finish.LENGTH}, {"backend": BUILT_IN}])
def test_a_cut_reply_and_the_built_in_engine_imply_nothing(more: dict[str, Any]) -> None:
    assert read_implied(reply("I cannot do that.", **more)) is None


def test_each_form_that_is_named_to_a_model_is_read() -> None:
    endings = [read_stated(reply(form)) for form in re.findall(r"`([^`]+)`", prompt_file("formats/endings_again"))]
    assert [type(ending) for ending in endings] == [Done, Ask, Cannot]
