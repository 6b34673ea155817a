"""The loop with the daemon's real suite: cases in which the loop and the sandbox have to agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.tasks.states import Phase
from nightshift.sandbox import choose
from nightshift.sandbox.runtime import open_runtime
from nightshift.verdict.runner import SuiteRunner
from tests.support.agent_parts import RIGHT, Bench, ScriptedModel, block, case_for, model_for

P = Phase
RUNNER = Path(__file__).parents[2] / ".runner"


async def bench_for(model: ScriptedModel, folder: Path) -> Bench:
    runtime = open_runtime(RUNNER)
    choice = await choose("auto", runtime=runtime, scratch=folder / "scratch")
    assert choice.sandbox is not None, choice.report
    events: list[object] = []
    suite = SuiteRunner(choice.sandbox, runtime, emit=events.append, staging_dir=folder / "staging")
    return Bench(model, suite=suite)


@pytest.mark.parametrize("whole_tree", [True, False])
async def test_what_the_suite_leaves_out_is_taken_out_of_the_change(tmp_path: Path, whole_tree: bool) -> None:
    given = {"tests/test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
    sneaky = block("tests/helper.py", "x = 1\n") + block("tests/given.py", "x = 3\n")
    bench = await bench_for(model_for(RIGHT + sneaky), tmp_path)
    work = await bench.run(case_for(tests=given, files={"tests/given.py": "x = 2\n"}, whole_tree=whole_tree))
    assert work.phase is P.COMMIT, work.feedback
    assert {path: work.change[path] for path in work.change if path != "add.py"} == {"tests/given.py": "x = 2\n"}
    assert bench.model.phases == [P.PLANNING, P.CODING]
