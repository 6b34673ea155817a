from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import SandboxError
from core.masking import Masker
from repair.evaluation import EvaluationJob
from repair.evaluator import staged
from tests.support import sandboxes, trying
from tests.support.trees import TextTree
from verdict.suite_runs import Rounds


@pytest.fixture
def rounds(tmp_path: Path) -> Rounds:
    return Rounds(sandboxes.bubblewrap(), sandboxes.runtime(), tmp_path / "staging", mask=Masker())


async def test_ids_of_tests_go_to_the_run_and_back(rounds: Rounds) -> None:
    tests = (
        "import pytest\nfrom small import total\n\n\nclass TestTotal:\n    def test_in_a_class(self):\n"
        "        assert total([]) is None\n\n\n@pytest.mark.parametrize('text', ['a::b', '[c]'])\n"
        "def test_each(text):\n    assert text\n"
    )
    stage = await staged(trying.job(tests=tests), rounds)
    (file,) = stage.plan.files
    assert file.staged != "test_small.py"
    for test in ("TestTotal::test_in_a_class", "test_each[a::b]", "test_each[[c]]", "test_other"):
        inside = stage.staged_id(f"test_small.py::{test}")
        assert inside.startswith(f"{file.staged}::")
        assert stage.names.id(inside) == f"test_small.py::{test}"
    assert stage.staged_id("elsewhere.py::test_it") == "elsewhere.py::test_it"


async def test_a_run_of_trials_has_no_copies_and_does_not_end_at_a_failure(rounds: Rounds) -> None:
    plan = (await staged(trying.job(), rounds)).plan
    assert not any(file.twin or file.copied for file in plan.files)
    assert plan.order == tuple(file.staged for file in plan.files)
    assert plan.split is None
    assert "-x" not in plan.options


@pytest.mark.parametrize(
    ("tests", "command"),
    [({"a.test.mjs": "import test from 'node:test'"}, ()), ({}, ("make", "check")), ({}, ()), ({"data.txt": ""}, ())],
)
async def test_what_pytest_does_not_run_is_refused(
    rounds: Rounds, tests: dict[str, str], command: tuple[str, ...]
) -> None:
    job = EvaluationJob(base=TextTree({"Makefile": "check:\n"}), change={}, tests=tests, command=command)
    with pytest.raises(SandboxError, match="candidates are evaluated by"):
        await staged(job, rounds)
