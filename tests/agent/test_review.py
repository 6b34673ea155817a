"""REVIEW and AUDIT: the input that they see, the findings that send a change back, and the limits of their power."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nightshift.agent.review import UNANSWERED
from nightshift.agent.services import AgentSettings, CriticalLeft
from nightshift.core.events import Kind, Level
from nightshift.core.tasks.attempt_state import AttemptContext
from nightshift.core.tasks.change_checks import AskKind, ChangeCheckJob, ChangeCheckReport, Finding, Severity
from nightshift.core.tasks.remarks import Gravity, Reader
from nightshift.core.tasks.states import Phase
from tests.support.agent_parts import RIGHT, TESTS, Bench, block, case_for, model_for

P = Phase
SLOPPY = block("add.py", "def add(a, b):\n    return a + b if a else b\n")
CONTENT = json.dumps({"findings": []})


def finds(*findings: dict[str, object]) -> str:
    full_findings = [
        {"file": "add.py", "line": 2, "severity": "high", "reason": "the branch does nothing", **f} for f in findings
    ]
    return json.dumps({"findings": full_findings})


def reviewed(**more: Any) -> AttemptContext:
    return case_for(tests=TESTS, review=True, **more)


def audit(**more: Any) -> AttemptContext:
    return case_for(tests=TESTS, audit=True, **more)


async def test_a_reader_sees_the_task_and_the_numbered_change_and_not_what_its_author_says() -> None:
    bench = Bench(model_for(f"Summary: a flawless masterpiece\n\n{RIGHT}", REVIEW=[CONTENT]))
    await bench.run(reviewed())
    prompt = bench.model.prompt(2)
    assert prompt.startswith("Phase: REVIEW\n")
    assert "Write `add` in add.py" in prompt
    assert "    2 +     return a + b" in prompt
    assert "masterpiece" not in prompt


async def test_a_grave_finding_sends_the_change_back_with_place_and_reason() -> None:
    bench = Bench(model_for(SLOPPY, RIGHT, REVIEW=[finds({"fix": "drop the branch"}), CONTENT]))
    work = await bench.run(reviewed())
    assert (work.phase, work.iteration, work.sent_back_by, work.remarks) == (P.COMMIT, 2, (Reader.REVIEW,), ())
    assert bench.walk == [P.PLANNING, P.CODING, P.REVIEW, P.REFLECTING, P.CODING, P.REVIEW, P.TESTING]
    assert bench.model.phases == [P.PLANNING, P.CODING, P.REVIEW, P.CODING, P.REVIEW]
    assert "1. add.py:2 (high): the branch does nothing Suggested: drop the branch" in bench.model.prompt(3)
    remarks = [event for event in bench.events if event.kind is Kind.REMARK]
    assert [(event.level, event.data["line"], event.data["blocks"]) for event in remarks] == [(Level.WARNING, 2, True)]


def rights(count: int) -> list[str]:
    return [block("add.py", f"def add(a, b):\n    return a + b  # {n}\n") for n in range(count)]


async def test_a_reviewer_who_is_never_content_is_heard_twice_and_then_the_tests_decide() -> None:
    bench = Bench(model_for(*rights(3), REVIEW=[finds({})] * 9))
    work = await bench.run(reviewed())
    assert (work.phase, work.iteration, work.sent_back_by) == (P.COMMIT, 3, (Reader.REVIEW,) * 2)
    assert [str(remark) for remark in work.open_remarks] == ["high (review): add.py:2: the branch does nothing"]
    assert "findings left open after 2 rounds: 1 high" in [step.note for step in bench.steps]


CRITICAL = finds({"severity": "critical", "reason": "it adds where the task says subtract"})


async def test_a_critical_finding_that_is_left_after_the_rounds_is_the_owners_question() -> None:
    bench = Bench(model_for(*rights(3), REVIEW=[CRITICAL] * 3))
    case = reviewed()
    held = await bench.run(case)
    assert (held.phase, held.held_in, held.iteration) == (P.AWAITING_APPROVAL, P.REVIEW, 3)
    (ask,) = held.asks
    assert (ask.kind, ask.default) == (AskKind.FINDING, UNANSWERED)
    assert "After 2 rounds, the review still reports: critical: add.py:2: it adds where" in ask.question
    yes = Bench(model_for())
    work = await yes.run(replace(case, granted=frozenset({ask.subject})), replace(held, phase=P.REVIEW))
    assert (work.phase, yes.walk, yes.model.phases) == (P.COMMIT, [P.REVIEW, P.TESTING], [])
    assert [remark.gravity for remark in work.open_remarks] == [Gravity.CRITICAL]
    other = block("add.py", "def add(a, b):\n    return sum((a, b))\n")
    no = Bench(model_for(other, REVIEW=[CONTENT]))
    work = await no.run(replace(case, denied=frozenset({ask.subject})), replace(held, phase=P.REVIEW))
    assert (work.phase, work.open_remarks) == (P.COMMIT, ())
    assert no.walk[:3] == [P.REVIEW, P.REFLECTING, P.CODING]
    assert "it adds where the task says subtract" in no.model.prompt(0)


@pytest.mark.parametrize(("left", "phase"), [("wait", P.AWAITING_APPROVAL), ("commit", P.COMMIT)])
async def test_what_becomes_of_a_critical_finding_is_a_setting(left: CriticalLeft, phase: Phase) -> None:
    bench = Bench(model_for(*rights(3), REVIEW=[CRITICAL] * 3), settings=AgentSettings(critical_left=left))
    work = await bench.run(reviewed())
    assert work.phase is phase
    assert [remark.gravity for remark in work.open_remarks] == [Gravity.CRITICAL]
    assert [bool(ask.default) for ask in work.asks] == {"ask": [True], "wait": [False], "commit": []}[left]


async def test_an_audit_lets_nothing_grave_pass_unless_its_owner_does() -> None:
    bench = Bench(model_for(*rights(3), AUDIT=[finds({})] * 3), settings=AgentSettings(critical_left="commit"))
    case = audit()
    held = await bench.run(case)
    assert (held.phase, held.held_in, P.TESTING in bench.walk) == (P.AWAITING_APPROVAL, P.AUDIT, False)
    (ask,) = held.asks
    assert not ask.default
    yes = Bench(model_for())
    work = await yes.run(replace(case, granted=frozenset({ask.subject})), replace(held, phase=P.AUDIT))
    assert work.phase is P.COMMIT


async def test_one_question_serves_both_readers_of_a_small_change() -> None:
    both = finds({"reader": "review", "severity": "low"}, {"reader": "audit", "reason": "any path can be read"})
    bench = Bench(model_for(SLOPPY, RIGHT, REVIEW=[both, CONTENT]), change_checks=(Warns(),))
    work = await bench.run(case_for(tests=TESTS, review=True, audit=True))
    assert work.phase is P.COMMIT
    assert bench.walk[:5] == [P.PLANNING, P.CODING, P.REVIEW, P.AUDIT, P.REFLECTING]
    assert bench.model.phases == [P.PLANNING, P.CODING, P.REVIEW, P.CODING, P.REVIEW]
    prompt = bench.model.prompt(2)
    assert prompt.startswith("Phase: REVIEW\n")
    assert all(text in prompt for text in ("swallowed error", "OWASP", '"reader": ', "calls.eval"))
    assert [[finding["message"] for finding in step.data.get("findings", ())] for step in bench.steps[2:4]] == [
        ["eval runs any text", "the branch does nothing"],
        ["any path can be read"],
    ]
    assert work.sent_back_by == (Reader.AUDIT,)


async def test_a_finding_about_a_file_that_is_not_in_the_change_is_kept_and_blocks_only_where_it_is_critical() -> None:
    bench = Bench(model_for(RIGHT, REVIEW=[finds({"file": "elsewhere.py"})]))
    work = await bench.run(reviewed())
    assert (work.iteration, [remark.where for remark in work.open_remarks]) == (1, ["elsewhere.py:2"])
    bench = Bench(model_for(SLOPPY, RIGHT, REVIEW=[finds({"file": "elsewhere.py", "severity": "critical"}), CONTENT]))
    assert (await bench.run(reviewed())).iteration == 2


class Counts:
    """A check that blocks `eval`, and records its calls."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        text = job.change.get("add.py") or ""
        self.seen.append(text)
        finding = Finding(rule="python.eval", severity=Severity.BLOCK, path="add.py", line=2, message="runs any text")
        return ChangeCheckReport(findings=(finding,) if "eval" in text else ())


async def test_what_needs_no_model_comes_before_every_reader_and_once_for_a_change() -> None:
    checks = Counts()
    bad = block("add.py", "def add(a, b):\n    return eval('a + b')\n")
    settings = AgentSettings(read_together=False)
    model = model_for(bad, RIGHT, REVIEW=[CONTENT], AUDIT=[CONTENT])
    bench = Bench(model, change_checks=(checks,), settings=settings)
    work = await bench.run(case_for(tests=TESTS, review=True, audit=True))
    assert work.phase is P.COMMIT
    assert bench.walk[2:4] == [P.REVIEW, P.REFLECTING]
    assert len(checks.seen) == 2
    assert bench.model.phases.count(P.REVIEW) == 1
    assert (
        "python.eval" in [bench.model.prompt(at) for at, phase in enumerate(bench.model.phases) if phase is P.CODING][1]
    )


async def test_a_reply_that_cannot_be_used_is_asked_for_again_and_then_the_review_is_left_out() -> None:
    bench = Bench(model_for(RIGHT, REVIEW=["Looks great to me!", '{"findings": [{"file": "add.py"}]}', "LGTM"]))
    work = await bench.run(reviewed())
    assert work.phase is P.COMMIT
    assert bench.model.phases.count(P.REVIEW) == 3
    assert "Finding 1: severity" in bench.model.prompt(4)
    assert [event.level for event in bench.events if event.kind is Kind.REMARK] == [Level.WARNING]


async def test_an_audit_that_cannot_be_read_waits_for_the_owner_who_may_let_this_change_pass() -> None:
    bench = Bench(model_for(RIGHT, AUDIT=["no"] * 3))
    case = audit()
    held = await bench.run(case)
    assert (held.phase, held.held_in) == (P.AWAITING_APPROVAL, P.AUDIT)
    (ask,) = held.asks
    again = Bench(model_for())
    work = await again.run(replace(case, granted=frozenset({ask.subject})), replace(held, phase=P.AUDIT))
    assert work.phase is P.COMMIT
    assert again.model.phases == []
    denied = Bench(model_for(*[RIGHT] * 9, AUDIT=["no"] * 30))
    end = await denied.run(replace(case, denied=frozenset({ask.subject})), replace(held, phase=P.AUDIT))
    assert end.phase is P.ABANDON


async def test_a_long_change_is_read_whole_in_several_questions() -> None:
    long = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(500))
    both = f"{RIGHT}\n{block('more.py', long)}"
    bench = Bench(model_for(both, REVIEW=[CONTENT] * 40), settings=AgentSettings(prompt_tokens=4000))
    work = await bench.run(reviewed())
    assert work.phase is P.COMMIT
    prompts = [bench.model.prompt(n) for n, phase in enumerate(bench.model.phases) if phase is P.REVIEW]
    assert len(prompts) > 2
    assert all(any(f"return x + {n}\n" in prompt for prompt in prompts) for n in range(500))


class Warns:
    """A check that reports one note about each change of `add.py`."""

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        finding = Finding(
            rule="calls.eval", severity=Severity.NOTE, path="add.py", line=2, message="eval runs any text"
        )
        return ChangeCheckReport(findings=(finding,) if "add.py" in job.change else ())
