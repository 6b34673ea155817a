"""No prompt exceeds its token limit, whatever it contains; parts that do not fit are omitted as a whole and named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightshift.agent import clarifying, coding, planning, reading, reflecting, testing
from nightshift.agent.prompt.budget import Prompt, clip, compose, fix
from nightshift.agent.prompt.text import FILES
from nightshift.agent.services import LEAST_TOKENS, PHASE_SHARES, AgentServices, AgentSettings, EditFormat
from nightshift.config.models import LEAST_PROMPT
from nightshift.core.code.tree import FileTree
from nightshift.core.dialogue import Message
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, HandOver, Reflection, Try
from nightshift.core.tasks.change_checks import CheckedChange, Finding, Severity
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.remarks import Reader
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Explore, Language
from tests.support.agent_parts import TESTS, Bench, block, case_for, model_for

P = Phase


@cache
def many() -> Mapping[str, str]:
    """Return five thousand files of a few lines each."""
    return dict(map(_make_file, range(5000)))


def _make_file(n: int) -> tuple[str, str]:
    up = n // 3
    text = f"from pkg{up % 50}.mod{up} import f{up}\n\n\ndef f{n}():\n    return f{up}()\n"
    return f"pkg{n % 50}/mod{n}.py", text


class Known(FileTree):
    """A tree whose list of files is computed once."""

    listed: Mapping[str, str] = {}

    def entries(self) -> Mapping[str, str]:
        if not Known.listed:
            Known.listed = FileTree(many()).entries()
        return Known.listed


def tools_of(prompt_tokens: int, gauge: Gauge, *, large: bool) -> AgentServices:
    bench = Bench(model_for(), settings=AgentSettings(prompt_tokens=prompt_tokens))
    return replace(
        bench.tools, tree=Known(many()) if large else FileTree({"add.py": "x = 1\n"}), gauge=lambda _p, _e: gauge
    )


def prompts_of(case: AttemptContext, work: AttemptState, tools: AgentServices) -> list[tuple[Phase, Prompt]]:
    """Return the first prompt of every phase."""
    prompts = [
        (P.PLANNING, planning._request(case, work, tools)),
        (P.CODING, coding.first_request(case, work, tools)[1]),
        (P.REFLECTING, reflecting._request(case, work, tools)),
        (P.CLARIFYING, clarifying._request(case, work, tools)),
        (P.TESTING, testing._request(case, work, tools)),
    ]
    noted = Finding(rule="x.y", severity=Severity.NOTE, path="a.py", line=1, message="a finding " * 200)
    work = replace(work, checked=CheckedChange(digest="", findings=(noted,) * 30))
    for readers in ((Reader.AUDIT,), (Reader.REVIEW, Reader.AUDIT)):
        asked = reading._Questions(readers=readers, parts=reading._pieces(case, work, tools, readers))
        some = [reading._request(case, work, tools, asked, piece, "1 of 9") for piece in asked.parts[:3]]
        prompts += [(asked.phase, prompt) for prompt in some]
    return prompts


WORDS = st.sampled_from(["add.py ", "word ", "漢字", "x" * 400, "\n", "```\n", "pkg1/mod51.py "])


@st.composite
def texts(draw: st.DrawFn) -> str:
    return (draw(WORDS) * draw(st.sampled_from([1, 50, 20_000])))[:90_000]


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_no_prompt_is_longer_than_its_limit_whatever_it_is_made_of(data: st.DataObject) -> None:
    gauge = Gauge(bytes_per_token=data.draw(st.sampled_from([1.5, 3.5, 8.0])))
    limit = int(data.draw(st.sampled_from([LEAST_TOKENS, 9000, 24_000])) * 3.5 / min(3.5, gauge.bytes_per_token))
    tools = tools_of(limit, gauge, large=False)
    given_tests = {f"test_{n}.py": f"def test_x():\n    assert {data.draw(texts())!r}\n" for n in range(3)}
    description = "Write add in add.py " + data.draw(texts())
    case = case_for(description[:99_000], tests=given_tests if data.draw(st.booleans()) else {})
    thought = Reflection(root_cause=data.draw(texts())[:800], suggested_fix=data.draw(texts())[:800])
    tries = tuple(
        Try(iteration=n, digest=str(n), failing=(data.draw(texts()),) * 200, feedback="", reflection=thought)
        for n in range(1, 6)
    )
    work = AttemptState(
        phase=P.CODING, base="0" * 40, iteration=5, plan=data.draw(texts())[:4000], feedback=data.draw(texts()),
        change={"add.py": data.draw(texts()), "new.py": data.draw(texts())}, tries=tries,
        own_tests={} if case.task.spec.tests else {"tests/test_own.py": data.draw(texts())},
        lessons=tuple(Lesson(id=n, text=data.draw(texts()), score=0.5) for n in range(3)),
        handed=HandOver(through=1, failing=("t" * 200,) * 20, tried=("tried " * 300,) * 8),
    )  # fmt: skip
    for phase, prompt in prompts_of(case, work, tools):
        assert prompt.tokens <= tools.settings.limit(phase, gauge), phase
        assert "## Now" in prompt.messages[1].text, phase
        assert len(json.dumps(prompt.record())) < 40_000, phase


@pytest.mark.parametrize("explore", [Explore.OFF, Explore.ON])
def test_no_prompt_about_five_thousand_files_is_longer_than_its_limit(explore: Explore) -> None:
    tools, gauge = tools_of(24_000, Gauge(), large=True), Gauge()
    tools = replace(tools, settings=replace(tools.settings, explore=explore))
    case = case_for("Make f4242 in pkg42/mod4242.py faster; see " + " ".join(list(many())[:900]))
    work = AttemptState(
        phase=P.CODING, base="0" * 40, change={"add.py": "x = 1\n"}, own_tests={"tests/test_own.py": "x"}
    )
    for phase, prompt in prompts_of(case, work, tools):
        assert prompt.tokens <= tools.settings.limit(phase, gauge), phase
        record = prompt.record()
        if phase is P.CODING and explore is Explore.OFF:
            file_count = record["whole_count"] + record["outlined_count"] + record["named_count"]
            assert record["left_out"] > 4500
            assert file_count > 40


def test_the_least_limit_leaves_room_beside_the_instructions_of_every_phase() -> None:
    """Check that the longest instructions use at most two thirds of the smallest allowed prompt limit.

    This holds for each language and edit format, with and without splitting.
    """
    for form, split, language in product(EditFormat, (False, True), (Language.PYTHON, Language.JAVASCRIPT)):
        case = case_for("Add.", tests=TESTS)
        case = replace(case, task=replace(case.task, spec=replace(case.task.spec, language=language, split=split)))
        tools = tools_of(24_000, Gauge(), large=False)
        tools = replace(tools, settings=replace(tools.settings, edit_format=form))
        work = AttemptState(phase=P.CODING, base="0" * 40, change={"add.py": "x\n"})
        for phase, prompt in prompts_of(case, work, tools):
            assert prompt.tokens <= LEAST_TOKENS * 2 / 3, (phase, form, split, language)
    assert LEAST_TOKENS == LEAST_PROMPT, "what the settings accept is what the phases keep to"


async def test_a_question_that_is_asked_again_keeps_to_the_limit_and_shows_the_last_reply_only() -> None:
    bench = Bench(
        model_for("first " * 20_000, "second " * 20_000, block("add.py", "def add(a, b):\n    return a + b\n"))
    )
    bench.settings = AgentSettings(prompt_tokens=6000)
    work = await bench.run(case_for("Write add in add.py " + "word " * 19_000, tests=TESTS))
    assert work.phase is P.COMMIT
    third = bench.model.prompt(3)
    assert "second second" in third
    assert "first first" not in third
    for request in bench.model.requests:
        assert sum(Gauge().tokens(message.text) + 4 for message in request.messages) <= 6000


def record_of(bench: Bench, phase: Phase) -> Mapping[str, Any]:
    (step,) = [step for step in bench.steps if step.phase is phase]
    record: Mapping[str, Any] = step.data["prompts"][0]
    return record


async def test_a_step_records_which_files_its_prompt_held_and_how() -> None:
    base = {"add.py": "x = 1\n", "long.py": "def f():\n    pass\n" + "# filler\n" * 20_000, "big.py": "# c\n" * 90_000}
    base |= {f"far{n}.py": "" for n in range(30)}
    settings = AgentSettings(explore=Explore.OFF)
    bench = Bench(model_for(block("add.py", "def add(a, b):\n    return a + b\n")), base=base, settings=settings)
    bench.memory.lessons = [Lesson(id=42, text="mind the sign", score=0.9)]
    await bench.run(case_for("Write add in add.py, see long.py and big.py", tests=TESTS))
    record = record_of(bench, P.CODING)
    assert (record["whole"], record["outlined"], record["named"]) == (
        ["test_add.py", "add.py"],
        ["long.py"],
        ["big.py"],
    )
    assert (record["left_out"], record["lessons"], record["call"]) == (30, [42], 0)
    assert [title for title, _ in record["sections"]][:3] == ["Instructions", "The task", "The tests"]
    assert sum(tokens for _, tokens in record["sections"]) <= record["tokens"] <= record["limit"]


HEAD = Message(role="system", text="h")
ONE = Gauge(bytes_per_token=1.0)


def test_parts_stand_in_their_order_and_are_filled_by_rank() -> None:
    parts = [fix("A", "a" * 300, rank=3), fix("B", "b" * 300, rank=2), fix("Now", "go", rank=0)]
    prompt = compose(HEAD, parts, 600, ONE)
    assert prompt.omitted == ("A",)
    text = prompt.messages[1].text
    assert text.index("## A\n\n(left out: about 300 tokens") < text.index("## B\n\nbbb") < text.index("## Now\n\ngo")


@given(st.text(max_size=400), st.integers(0, 300), st.sampled_from([1.0, 2.5]))
def test_a_running_text_is_shortened_at_its_end_and_says_so(text: str, space: int, rate: float) -> None:
    gauge = Gauge(bytes_per_token=rate)
    clipped, cut = clip(text, space, gauge)
    assert cut == (gauge.tokens(text) > space)
    assert clipped == text if not cut else "shortened: " in clipped
    assert gauge.tokens(clipped) <= max(
        space, gauge.tokens("… (shortened: 400 of 400 characters follow, which do not fit into this prompt)")
    )


def test_a_model_with_a_small_context_gets_short_prompts_and_phases_their_shares() -> None:
    settings_ = AgentSettings(prompt_tokens=24_000)
    assert settings_.limit(P.CODING, Gauge()) == 24_000
    assert settings_.limit(P.CODING, Gauge(window=8000)) == 6000
    assert settings_.limit(P.REFLECTING, Gauge()) == 16_800
    assert settings_.limit(P.TESTING, Gauge(window=2048)) == LEAST_TOKENS
    assert set(PHASE_SHARES) == set(FILES)
