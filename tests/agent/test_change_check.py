"""The checks of a change before its tests run.

A blocked change goes back to the model without a run. A question to the owner stops the attempt. A note is reported
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.change_checks import Ask, AskKind, ChangeCheckJob, ChangeCheckReport, Finding, Severity
from nightshift.core.tasks.states import Outcome, Phase
from tests.support.agent_parts import RIGHT, TESTS, Bench, block, case_for, model_for

P = Phase
BAD = block("add.py", "def add(a, b):\n    return eval(f'{a} + {b}')\n")
ASK = Ask(kind=AskKind.FINDING, subject="finding:x.ask:add.py", question="May it?")


@dataclass
class WordGate:
    """A check that reports each line of a change that contains a word."""

    word: str = "eval"
    severity: Severity = Severity.BLOCK
    rule: str = "x.word"
    asks: tuple[Ask, ...] = ()
    packages: dict[str, str] = field(default_factory=dict)
    jobs: list[ChangeCheckJob] = field(default_factory=list)

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        self.jobs.append(job)
        findings = [
            Finding(
                rule=self.rule, severity=self.severity, path=path, line=number, message="do without", argv=("a", "b")
            )
            for path, text in {**job.change, **job.own}.items()
            for number, line in enumerate((text or "").split("\n"), 1)
            if self.word in line
        ]
        asks = tuple(ask for ask in self.asks if ask.subject not in job.granted)
        return ChangeCheckReport(findings=tuple(findings), asks=asks, packages=self.packages)


def bench_with(*checks: WordGate, codings: tuple[str, ...] = (RIGHT,), tests: list[str] | None = None) -> Bench:
    return Bench(model_for(*codings, TESTING=tests or []), change_checks=checks)


def list_events(
    bench: Bench, is_it: Callable[[Event], bool] = lambda event: event.kind is Kind.GATE_FINDING
) -> list[Event]:
    return [event for event in bench.events if is_it(event)]


async def test_what_is_blocked_goes_back_with_line_and_reason_and_nothing_runs() -> None:
    bench = bench_with(WordGate(), codings=(BAD, RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration, len(bench.suite.jobs)) == (P.COMMIT, 2, 1)
    assert bench.walk == [P.PLANNING, P.CODING, P.TESTING, P.REFLECTING, P.CODING, P.TESTING]
    prompt = bench.model.prompt(3)
    assert "add.py: x.word" in prompt
    assert "at add.py:2" in prompt
    assert ">    2      return eval" in prompt
    assert "do without" in prompt
    blocked = bench.steps[2]
    assert blocked.data["findings"] == [
        {"rule": "x.word", "severity": "block", "path": "add.py", "line": 2, "message": "do without"}
    ]
    assert [event.level for event in list_events(bench)] == [Level.WARNING]


async def test_a_question_holds_in_testing_and_nothing_runs() -> None:
    bench = bench_with(WordGate(word="return", severity=Severity.ASK, asks=(ASK,)))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.held_in, work.asks) == (P.AWAITING_APPROVAL, P.TESTING, (ASK,))
    assert work.reason == "waits for your decision: May it?"
    assert bench.steps[-1].outcome is Outcome.NEEDS_APPROVAL
    assert bench.steps[-1].data["asks"] == [ASK.subject]
    assert bench.suite.jobs == []


async def test_the_owners_yes_lets_it_go_on_where_it_was_held() -> None:
    bench = bench_with(WordGate(word="return", severity=Severity.ASK, asks=(ASK,)))
    case = case_for(tests=TESTS)
    held = await bench.run(case)
    work = await bench.run(replace(case, granted=frozenset({ASK.subject})), replace(held, phase=P.TESTING))
    assert (work.phase, work.asks, work.held_in) == (P.COMMIT, (), None)
    assert bench.model.phases == [P.PLANNING, P.CODING]
    assert len(bench.suite.jobs) == 1


async def test_a_note_holds_nothing_up_and_is_told_once() -> None:
    wrong = block("add.py", "def add(a, b):\n    return a - b\n")
    bench = bench_with(WordGate(word="return", severity=Severity.NOTE), codings=(wrong, RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.noted) == (P.COMMIT, ("x.word:add.py",))
    assert [event.level for event in list_events(bench)] == [Level.INFO]
    assert [len(step.data["findings"]) for step in bench.steps if step.phase is P.TESTING] == [1, 1]


async def test_the_agents_own_tests_pass_the_checks_too_and_are_blamed_alone() -> None:
    own = "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(0, 0) == 0\n"
    evil = block("tests/test_sum.py", own.replace("== 5", "== eval('5')"))
    bench = bench_with(WordGate(), tests=[evil, block("tests/test_sum.py", own)])
    work = await bench.run(case_for("Write `add` in add.py: the sum of two numbers"))
    assert work.phase is P.COMMIT
    assert bench.model.phases == [P.PLANNING, P.CODING, P.TESTING, P.TESTING]
    assert bench.walk == [P.PLANNING, P.CODING, P.TESTING, P.REFLECTING, P.CODING, P.TESTING]
    assert "x.word" in bench.model.prompt(3)


async def test_reports_of_all_checks_are_merged_and_packages_reach_the_suite() -> None:
    checks = WordGate(packages={"requests": "2.1"}), WordGate(word="return", rule="x.r", packages={"yaml": "6.0"})
    bench = bench_with(*checks, codings=(RIGHT, RIGHT.replace("return a + b", "yield a + b")))
    await bench.run(case_for(tests=TESTS, iterations=2, warn_at=2))
    (job,) = bench.suite.jobs
    assert job.packages == {"requests": "2.1", "yaml": "6.0"}
