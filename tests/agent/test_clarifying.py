"""CLARIFYING: vague descriptions become a specification; questions wait only for an owner who wants to be asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nightshift.agent.clarifying import clarity
from nightshift.core.tasks.change_checks import AskKind
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.submission import parse_spec
from tests.support.agent_parts import Bench, block, case_for, model_for

P = Phase
VAGUE = "Make the login nicer"
OWN = block(
    "tests/test_login.py",
    "from login import greet\n\n\ndef test_greets():\n    assert greet('Ada') == 'Hello, Ada'\n"
    "    assert greet('') == 'Hello'\n",
)
CODE = block("login.py", "def greet(name):\n    return f'Hello, {name}' if name else 'Hello'\n")
READ = {
    "goal": "login.greet(name) greets by name", "inputs": "name: str",
    "outputs": ["a text, such as `Hello,  Ada`\n  with two spaces"], "constraints": ["in login.py"],
    "acceptance_tests": ["greet('Ada') gives 'Hello, Ada'"],
    "questions": [
        {"question": "Which language?", "default": "English"},
        {"question": "With a full stop?", "default": "no"},
    ],
}  # fmt: skip


def bench(*clarifying: object) -> Bench:
    texts = [reply if isinstance(reply, str) else json.dumps(reply) for reply in clarifying]
    return Bench(model_for(CODE, CLARIFYING=texts, TESTING=[OWN]))


async def test_a_vague_task_is_put_in_other_words_that_every_later_prompt_shows() -> None:
    done = bench(READ)
    work = await done.run(case_for(VAGUE))
    assert work.phase is P.COMMIT
    assert done.walk == [P.CLARIFYING, P.PLANNING, P.CODING, P.TESTING]
    assert done.steps[0].data["clarity"] < 0.5
    for at in (1, 2, 3):
        assert VAGUE in done.model.prompt(at)
        assert "Goal: login.greet(name) greets by name" in done.model.prompt(at)
        assert "- Which language? English" in done.model.prompt(at)
        assert "Outputs: a text, such as `Hello,  Ada` with two spaces\n" in done.model.prompt(at)


async def test_where_the_owner_wants_to_be_asked_the_task_waits_with_what_will_be_assumed() -> None:
    done = bench(READ)
    held = await done.run(case_for(VAGUE, clarify=True))
    assert (held.phase, held.held_in) == (P.AWAITING_APPROVAL, P.CLARIFYING)
    assert [(ask.kind, ask.question, ask.default) for ask in held.asks] == [
        (AskKind.QUESTION, "Which language?", "English"),
        (AskKind.QUESTION, "With a full stop?", "no"),
    ]


async def test_answers_and_defaults_go_into_the_reading_and_the_model_is_not_asked_again() -> None:
    first = bench(READ)
    case = case_for(VAGUE, clarify=True)
    held = await first.run(case)
    decided = frozenset(ask.subject for ask in held.asks)
    answered = replace(case, granted=decided, answers={held.asks[0].subject: "Latin"})
    second = bench()
    work = await second.run(answered, replace(held, phase=P.CLARIFYING, asks=(), held_in=None))
    assert work.phase is P.COMMIT
    assert second.model.phases == [P.PLANNING, P.CODING, P.TESTING]
    assert "- Which language? Latin\n- With a full stop? no" in second.model.prompt(0)


async def test_words_that_cannot_be_read_go_on_as_they_stand() -> None:
    done = bench("Sure!", '{"goal": ""}', "{}")
    work = await done.run(case_for(VAGUE, clarify=True))
    assert (work.phase, work.brief) == (P.COMMIT, None)
    assert "goal: " in done.model.prompt(2)


@pytest.mark.parametrize(
    "words",
    [
        "Write `add` in add.py",
        "Add a function parse_duration to durations.py that turns '1h30m' into seconds and raises ValueError otherwise",
        "Create a FastAPI health check endpoint that returns {'status': 'ok'}",
    ],
)
def test_words_that_say_what_and_where_are_clear(words: str) -> None:
    assert clarity(parse_spec({"description": words})) >= 0.5


@pytest.mark.parametrize("words", ["Make it better", "clean up some stuff", "fix it"])
def test_words_that_say_neither_are_vague(words: str) -> None:
    assert clarity(parse_spec({"description": words})) < 0.5
