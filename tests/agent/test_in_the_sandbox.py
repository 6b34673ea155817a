"""The loop with the daemon's real suite: cases in which the loop and the sandbox have to agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.verdicts import Label
from nightshift.sandbox import choose
from nightshift.sandbox.runtime import open_runtime
from nightshift.verdict.runner import SuiteRunner
from tests.support.agent_parts import Bench, ScriptedModel, block, case_for, model_for

P = Phase
RUNNER = Path(__file__).parents[2] / ".runner"
RIGHT = block("add.py", "def add(a, b):\n    return a + b\n")
PROPERTY = """from hypothesis import given
from hypothesis import strategies as st

from add import add


def test_add():
    assert add(2, 3) == 5
    assert add(0, 0) == 0


@given(st.integers(), st.integers())
def test_order_does_not_matter(a, b):
    assert add(a, b) == add(b, a)
    assert add(a, b) - b == a
"""


async def bench_for(model: ScriptedModel, folder: Path) -> Bench:
    runtime = open_runtime(RUNNER)
    choice = await choose("auto", runtime=runtime, scratch=folder / "scratch")
    assert choice.sandbox is not None, choice.report
    events: list[object] = []
    suite = SuiteRunner(choice.sandbox, runtime, emit=events.append, staging_dir=folder / "staging")
    return Bench(model, suite=suite)


async def test_vacuous_tests_are_blamed_and_rewritten_while_the_code_stands(tmp_path: Path) -> None:
    vacuous = block("tests/test_sum.py", "def test_add():\n    assert 1 + 1 == 2\n    assert 2 + 2 == 4\n")
    bench = await bench_for(model_for(RIGHT, TESTING=[vacuous, block("tests/test_sum.py", PROPERTY)]), tmp_path)
    work = await bench.run(case_for("Write `add` in add.py: the sum of two numbers"))
    assert (work.phase, work.iteration) == (P.COMMIT, 2), work.feedback
    assert bench.model.phases == [P.PLANNING, P.CODING, P.TESTING, P.TESTING]
    assert work.verdict is not None
    assert work.verdict.evidence.label is Label.SELF_TESTED
    assert any(" mutants killed" in note for note in work.verdict.evidence.notes)


@pytest.mark.parametrize("whole_tree", [True, False])
async def test_what_the_suite_leaves_out_is_taken_out_of_the_change(tmp_path: Path, whole_tree: bool) -> None:
    given = {"tests/test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
    sneaky = block("tests/helper.py", "x = 1\n") + block("tests/given.py", "x = 3\n")
    bench = await bench_for(model_for(RIGHT + sneaky), tmp_path)
    work = await bench.run(case_for(tests=given, files={"tests/given.py": "x = 2\n"}, whole_tree=whole_tree))
    assert work.phase is P.COMMIT, work.feedback
    assert {path: work.change[path] for path in work.change if path != "add.py"} == {"tests/given.py": "x = 2\n"}
    assert bench.model.phases == [P.PLANNING, P.CODING]
