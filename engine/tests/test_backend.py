"""The engine as a backend: its answer in each phase, its cache, and the requests that it declines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tests.support.tiny_solver import BUGGY, MENDED, TESTS, TinySolver, asked
from nightshift.agent.reflecting import read_reflection
from nightshift.agent.replies import parse
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import ModelError, ModelRefused, ModelUnavailable, SandboxError
from nightshift.core.events import Event, Kind, Level
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import digest
from nightshift.core.text.encoding import decode
from nightshift.models.errors import BackendUnfit
from nightshift_engine import backend
from nightshift_engine.backend import RepairBackend
from nightshift_engine.problem import Finding, OnProgress, Problem, Progress
from tests.support.agent_parts import Bench, PlainSuite, case_for
from tests.support.trees import OTHER_BYTES

P = Phase
LOOSE = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"}
STRICT = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 7\n"}


def failing(error: Exception) -> Callable[[Problem, OnProgress], Awaitable[Finding]]:
    async def solve(_problem: Problem, _tell: OnProgress) -> Finding:
        raise error

    return solve


# Tests of the engine's answers.


async def test_one_search_serves_planning_and_coding_and_its_reply_reads_as_any_other() -> None:
    solver = TinySolver()
    backend = RepairBackend(solver)
    plan = await backend.generate(asked())
    assert "`add.py` is suspected" in plan.text
    assert "replaces `-` by `+`" in plan.text
    reply = await backend.generate(asked(P.CODING))
    assert parse(reply).files == {"add.py": MENDED}
    assert reply.text.startswith("Summary: Fix add.py: replaces - by +\n")
    assert "Warning: one test says little" in reply.text
    assert (reply.backend, reply.model, reply.cost_usd) == ("repair", "repair", 0.0)
    assert (reply.tokens_in, reply.tokens_out, reply.spent.model_calls) == (0, 0, 0)
    assert len(solver.problems) == 1


async def test_it_sees_the_tests_that_a_model_sees_and_works_under_the_limits_of_the_case() -> None:
    solver = TinySolver()
    await RepairBackend(solver).generate(asked(run_limits=RunLimits(cpu_s=7.0, memory_mb=99, cpus=1.5), packages=[]))
    (problem,) = solver.problems
    job = problem.job
    assert job.tests == TESTS
    assert (job.wall_s, job.memory_mb, job.cpus, job.start) == (7.0, 99, 1.5, {"add.py": BUGGY})
    assert (problem.task_id, problem.description) == (7, "Mend add")


async def test_what_is_held_out_of_prompts_is_held_out_of_searches() -> None:
    solver = TinySolver()
    await RepairBackend(solver).generate(asked(held=HeldOut(shown=LOOSE)))
    assert solver.problems[0].job.tests == LOOSE


async def test_a_refused_change_is_excluded_and_the_search_goes_on_from_where_it_began() -> None:
    solver = TinySolver()
    backend = RepairBackend(solver)
    first = await backend.generate(asked(P.CODING, tests=LOOSE))
    change = parse(first).files
    refused = AttemptState(phase=P.REFLECTING, base="0" * 40, change=change, seen=(digest(change),), models=("repair",))
    completion = await RepairBackend(solver).generate(asked(P.REFLECTING, tests=LOOSE, work=refused))
    reflection = read_reflection(completion.text)
    assert reflection is not None
    assert (
        reflection.root_cause
        == "a change of the engine's passed all tests that are shown and failed the suite; excluded now"
    )
    assert "replaces" in reflection.suggested_fix
    assert not reflection.tests_at_fault
    again = RepairBackend(solver)  # a new backend has an empty cache, as after a restart
    reply = await again.generate(asked(P.CODING, tests=LOOSE, work=replace(refused, phase=P.CODING)))
    assert change == {"add.py": MENDED}
    assert parse(reply).files == {"add.py": BUGGY.replace(" - ", " * ")}


async def test_a_file_in_another_encoding_gets_its_own_bytes_back() -> None:
    latin = decode(OTHER_BYTES["names.py"])
    renamed = latin.replace("name", "noun")
    findings = [Finding(change={"names.py": renamed}, description="one"), Finding(change={"b.py": "B = 2\n"})]

    async def solve(_problem: Problem, _tell: OnProgress) -> Finding:
        return findings.pop(0)

    backend = RepairBackend(solve)
    about: dict[str, Any] = {"base": {"names.py": latin}, "files": {"b.py": "B = 1\n"}}
    first = parse(await backend.generate(asked(P.CODING, **about))).files
    assert first == {"names.py": renamed}
    change = {**about["files"], **first}
    work = AttemptState(
        phase=P.CODING, base="0" * 40, change=change, seen=(digest(change),), models=("repair", "other")
    )
    second = parse(await backend.generate(asked(P.CODING, **about, work=work))).files
    assert second == {"b.py": "B = 2\n", "names.py": latin}


async def test_a_search_that_ran_out_of_time_is_begun_anew_when_there_is_more_and_only_then() -> None:
    solver = TinySolver(slow_s=0.1)
    backend = RepairBackend(solver, budget_s=5.0)
    for _ in range(2):
        with pytest.raises(BackendUnfit, match=r"within 0\.05 s"):
            await backend.generate(asked(within_s=0.05))
    assert len(solver.problems) == 1
    assert (await backend.generate(asked())).text
    assert [problem.budget_s for problem in solver.problems] == [0.05, 5.0]


async def test_a_search_that_looked_at_everything_is_not_begun_anew_however_much_time_there_is() -> None:
    solver = TinySolver()
    backend = RepairBackend(solver)
    for within_s in (5.0, None):
        with pytest.raises(BackendUnfit, match="none of 2 swaps") as caught:
            await backend.generate(
                asked(tests=STRICT, files={"add.py": "def add(a, b):\n    return a - b\n"}, within_s=within_s)
            )
        assert caught.value.tried == 2
    assert len(solver.problems) == 1


async def test_a_whole_attempt_is_walked_by_the_engine_alone() -> None:
    backend = RepairBackend(TinySolver())

    @dataclass
    class Straight:
        """The backend called directly, without the gateway."""

        phases: list[Phase] = field(default_factory=list)

        async def complete(self, request: ModelRequest) -> Completion:
            self.phases.append(request.phase)
            return await backend.generate(request)

    model = Straight()
    bench = Bench(model, suite=PlainSuite())  # type: ignore[arg-type] # another model than the scripted one
    work = await bench.run(case_for("Mend add", tests=TESTS, files={"add.py": BUGGY}))
    assert work.phase is P.COMMIT
    assert work.change == {"add.py": MENDED}
    assert model.phases == [P.PLANNING, P.CODING]
    assert work.models == ("repair",)
    assert (work.spent.model_calls, work.spent.tokens) == (0, 0)
    messages = [event.message for event in bench.events if event.kind is Kind.REPAIR_PROGRESS]
    assert messages[:2] == ["repair: trying add.py", "repair: found after 1 candidates: replaces `-` by `+`"]


# Tests of requests that the engine declines.


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"phase": P.REVIEW}, "cannot answer in REVIEW"),
        ({"phase": P.CODING, "call_no": 1}, "would send the same reply again"),
        ({"phase": P.CODING, "escalation": 1}, "needs another model"),
        ({"tests": {}}, "has no tests"),
        ({"language": "javascript", "tests": {"a.test.mjs": "x"}}, "repairs only Python"),
        ({"files": {}}, "no Python code"),
    ],
)
async def test_what_it_cannot_do_it_says_at_once_and_plainly(more: dict[str, Any], why: str) -> None:
    solver = TinySolver()
    with pytest.raises(BackendUnfit, match=why):
        await RepairBackend(solver).generate(asked(**{"phase": P.PLANNING, **more}))
    assert solver.problems == []


@pytest.mark.parametrize(
    ("error", "becomes"),
    [(SandboxError("no sandbox"), ModelUnavailable), (KeyError("a bug"), ModelRefused)],
)
async def test_a_fault_of_its_own_is_a_fault_and_names_itself(error: Exception, becomes: type[ModelError]) -> None:
    with pytest.raises(becomes) as caught:
        await RepairBackend(failing(error)).generate(asked())
    assert not isinstance(caught.value, BackendUnfit)
    assert str(error) in str(caught.value)


async def test_a_search_that_does_not_keep_its_time_is_ended_and_not_begun_again() -> None:
    solver = TinySolver(slow_s=30.0)
    hurried: list[float] = []

    async def solve(problem: Problem, tell: OnProgress) -> Finding:
        hurried.append(problem.budget_s)
        return await solver(replace(problem, budget_s=60.0), tell)

    backend = RepairBackend(solve, grace_s=0.05)
    for _ in range(2):
        with pytest.raises(BackendUnfit, match=r"did not end within 0\.05 s"):
            await backend.generate(asked(within_s=0.05))
    assert hurried == [0.05]


# Tests of the reports of progress.


def test_progress_is_told_now_and_then_with_a_sign_of_life_each_time() -> None:
    events, signs = list[Event](), list[str]()
    reporter = backend.Reporter(asked(emit=events, within_s=9.0), signs.append)
    for tried in range(50):
        reporter.progress(Progress(tried=tried, estimated=400, best=1, text="editing conditions"))
    assert events == []
    reporter._reported_at_s -= backend.REPORT_EVERY_S
    reporter.progress(Progress(tried=1234, estimated=4000, best=2, text="editing conditions"))
    reporter.progress(Progress(tried=1235, estimated=4000, best=2, text="editing conditions"))
    (event,) = events
    assert event.message == "repair: editing conditions"
    assert (event.kind, event.level, event.task_id, event.phase) == (Kind.REPAIR_PROGRESS, Level.INFO, 7, P.PLANNING)
    assert event.data == {"tried": 1234, "estimated": 4000, "best": 2, "step_no": 0}
    assert signs == [""] * 52


# Texts of files that a reply must carry unchanged.

TEXTS = st.text(st.characters(codec="ascii", exclude_characters="\r\x00"), max_size=80) | st.sampled_from(
    ["```\nx\n```\n", "````md\n```python path=b.py\n````\n", '"""\n```\n"""\n', "<<<<<< \n", ""]
)


@given(st.dictionaries(st.sampled_from(["add.py", "pkg/mod.py", "my data/x.py", "a/b.txt"]), TEXTS, min_size=1))
def test_files_come_out_of_the_reply_as_they_went_in(files: dict[str, str]) -> None:
    texts = {path: text if text.endswith("\n") or not text else text + "\n" for path, text in files.items()}
    reply = backend.coding_text(Finding(description="x", kind="swap"), texts)
    assert parse(Completion(text=reply, backend="repair", model="repair")).files == texts
