"""REVIEW and AUDIT: what they see, what sends a change back, and what they can not stop or let through."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from agent.services import AgentSettings
from core.attempt_state import AttemptContext
from core.change_checks import ChangeCheckJob, ChangeCheckReport, Finding, Severity
from core.events import Kind, Level
from core.remarks import Gravity
from core.states import Ending, Phase
from tests.support.agent_parts import Bench, block, case_for, model_for

P = Phase
TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
RIGHT = block("add.py", "def add(a, b):\n    return a + b\n")
SLOPPY = block("add.py", "def add(a, b):\n    return a + b if a else b\n")
CONTENT = json.dumps({"findings": []})


def finds(*findings: dict[str, object]) -> str:
    whole = [
        {"file": "add.py", "line": 2, "severity": "high", "reason": "the branch does nothing", **f} for f in findings
    ]
    return json.dumps({"findings": whole})


def reviewed(**more: Any) -> AttemptContext:
    return case_for(tests=TESTS, review=True, **more)


def audited(**more: Any) -> AttemptContext:
    return case_for(tests=TESTS, audit=True, **more)


async def test_a_change_without_fault_passes_review_and_audit_on_its_way_to_the_tests() -> None:
    bench = Bench(model_for(RIGHT, REVIEW=[CONTENT], AUDIT=[CONTENT]))
    work = await bench.run(case_for(tests=TESTS, review=True, audit=True))
    assert work.phase is P.COMMIT
    assert bench.walk == [P.PLANNING, P.CODING, P.REVIEW, P.AUDIT, P.TESTING]


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
    assert (work.phase, work.iteration, work.sent_back, work.remarks) == (P.COMMIT, 2, 1, ())
    assert bench.walk == [P.PLANNING, P.CODING, P.REVIEW, P.REFLECTING, P.CODING, P.REVIEW, P.TESTING]
    assert bench.model.phases == [P.PLANNING, P.CODING, P.REVIEW, P.CODING, P.REVIEW]
    assert "1. add.py:2 (high): the branch does nothing Suggested: drop the branch" in bench.model.prompt(3)
    told = [event for event in bench.events if event.kind is Kind.REMARK]
    assert [(event.level, event.data["line"], event.data["blocks"]) for event in told] == [(Level.WARNING, 2, True)]


async def test_the_next_prompt_shows_what_was_found_once() -> None:
    bench = Bench(model_for(SLOPPY, RIGHT, REVIEW=[finds({"fix": "drop the branch"}), CONTENT]))
    await bench.run(reviewed())
    prompt = [bench.model.prompt(at) for at, phase in enumerate(bench.model.phases) if phase is P.CODING][1]
    assert prompt.count("the branch does nothing") == prompt.count("drop the branch") == 1


async def test_what_does_not_block_is_told_and_holds_nothing_up() -> None:
    bench = Bench(model_for(SLOPPY, REVIEW=[finds({"severity": "medium"})]))
    work = await bench.run(reviewed())
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert [event.level for event in bench.events if event.kind is Kind.REMARK] == [Level.INFO]
    assert bench.steps[2].data["findings"][0]["path"] == "add.py"


async def test_what_a_reader_says_at_its_step_counts_what_it_read() -> None:
    def notes(bench: Bench) -> list[str]:
        return [step.note for step in bench.steps if step.phase is P.REVIEW]

    low: dict[str, object] = {"severity": "low"}
    base = {"add.py": "def add(a, b):\n    return 0\n"}
    unchanged = block("add.py", base["add.py"])
    for code, review, said in [
        (RIGHT, CONTENT, "nothing to find fault with"),
        (RIGHT, finds(low), "1 remark, none that blocks"),
        (RIGHT, finds(low, {**low, "line": 1}), "2 remarks, none that blocks"),
        (unchanged, CONTENT, "nothing has changed, so there is nothing to read"),
    ]:
        bench = Bench(model_for(code, RIGHT, REVIEW=[review, CONTENT]), base=base)
        await bench.run(reviewed())
        assert notes(bench)[0] == said


async def test_which_gravities_block_is_a_setting() -> None:
    strict = AgentSettings(review_blocks=frozenset(Gravity))
    bench = Bench(model_for(SLOPPY, RIGHT, REVIEW=[finds({"severity": "low"}), CONTENT]), settings=strict)
    assert (await bench.run(reviewed())).iteration == 2


async def test_a_reviewer_who_is_never_content_is_heard_twice_and_then_the_tests_decide() -> None:
    replies = [block("add.py", f"def add(a, b):\n    return a + b  # {n}\n") for n in range(3)]
    bench = Bench(model_for(*replies, REVIEW=[finds({})] * 9))
    work = await bench.run(reviewed())
    assert (work.phase, work.iteration, work.sent_back) == (P.COMMIT, 3, 2)


async def test_an_audit_is_a_gate_that_does_not_wear_out() -> None:
    replies = [block("add.py", f"def add(a, b):\n    return a + b  # {n}\n") for n in range(20)]
    bench = Bench(model_for(*replies, AUDIT=[finds({"severity": "critical"})] * 20))
    work = await bench.run(audited(iterations=6, warn_at=6))
    assert work.phase is P.ABANDON
    assert work.ending in {Ending.GAVE_UP, Ending.STUCK}
    assert P.TESTING not in bench.walk


async def test_findings_about_files_that_are_not_in_the_change_are_passed_over() -> None:
    bench = Bench(model_for(RIGHT, REVIEW=[finds({"file": "elsewhere.py"})]))
    assert (await bench.run(reviewed())).iteration == 1


async def test_a_reply_that_cannot_be_used_is_asked_for_again_and_then_the_review_is_left_out() -> None:
    bench = Bench(model_for(RIGHT, REVIEW=["Looks great to me!", '{"findings": [{"file": "add.py"}]}', "LGTM"]))
    work = await bench.run(reviewed())
    assert work.phase is P.COMMIT
    assert bench.model.phases.count(P.REVIEW) == 3
    assert "Finding 1: severity" in bench.model.prompt(4)
    assert [event.level for event in bench.events if event.kind is Kind.REMARK] == [Level.WARNING]


async def test_an_audit_that_cannot_be_read_waits_for_the_owner_who_may_let_this_change_pass() -> None:
    bench = Bench(model_for(RIGHT, AUDIT=["no"] * 3))
    case = audited()
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


async def test_a_change_that_passed_is_not_read_again_when_the_tests_are_at_fault() -> None:
    wrong = "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 6\n"
    right = "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(0, 0) == 0\n"
    blame = json.dumps({"root_cause": "two and three are five", "tests_at_fault": True})
    model = model_for(
        RIGHT, REVIEW=[CONTENT], TESTING=[block("test_add.py", wrong), block("test_add.py", right)], REFLECTING=[blame]
    )
    bench = Bench(model)
    work = await bench.run(case_for(review=True))
    assert work.phase is P.COMMIT
    assert bench.walk.count(P.REVIEW) == 2
    assert bench.model.phases.count(P.REVIEW) == 1


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
    """A gate with one finding."""

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        found = Finding(rule="calls.eval", severity=Severity.NOTE, path="add.py", line=2, message="eval runs any text")
        return ChangeCheckReport(findings=(found,) if "add.py" in job.change else ())


async def test_the_auditor_is_told_what_the_static_checks_found() -> None:
    bench = Bench(model_for(RIGHT, AUDIT=[CONTENT]), change_checks=(Warns(),))
    await bench.run(audited())
    assert "add.py:2: calls.eval (note): eval runs any text" in bench.model.prompt(2)
