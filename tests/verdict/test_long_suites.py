"""A suite that exceeds the time limit of one run is judged in several runs, the tests nearest to the change first."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from nightshift.core.isolation import RunLimits
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.verdict.runner import SuiteRunner
from tests.support.recording import Recording
from tests.support.sandboxes import runtime
from tests.support.trees import TextTree

APP = "def one():\n    return 1\n"
WORK = (
    "import time\n\n\ndef work():\n    until = time.process_time() + 0.5\n"
    "    while time.process_time() < until:\n        pass\n"
)
CONFTEST = "import pytest\n\n\n@pytest.fixture(scope='session')\ndef one():\n    yield 1\n"
FILES = tuple(f"tests/{folder}/test_{folder}{name}.py" for folder in ("x", "y") for name in ("a", "b", "c"))
BASE = {
    "app.py": APP,
    "work.py": WORK,
    "tests/conftest.py": CONFTEST,
    **{
        path: f"import app\nfrom work import work\n\n\ndef test_{n}(one):\n    work()\n    assert app.one() == one\n"
        "\n\ndef test_more(one):\n    assert one == 1\n"
        for n, path in enumerate(FILES)
    },
}
GIVEN = {"test_given.py": "import app\n\n\ndef test_two(capsys):\n    assert app.two() == 2\n"}
RIGHT = APP + "\n\ndef two():\n    return 2\n"


@pytest.fixture
def box(sandbox: Sandbox) -> Recording:
    return Recording(sandbox)


async def judge_change(box: Recording, folder: Path, app: str, base: dict[str, str] | None = None) -> Verdict:
    runner = SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
    job = SuiteJob(
        base=TextTree({**BASE, **(base or {})}), change={"app.py": app}, given=GIVEN, regression=FILES,
        limits=RunLimits(cpu_s=2.5),
    )  # fmt: skip
    return await runner.judge(job)


async def test_what_one_run_has_no_time_for_runs_in_further_ones(box: Recording, folder: Path) -> None:
    verdict = await judge_change(box, folder, RIGHT)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert verdict.reason == "13 tests passed"
    assert len(verdict.results) == len({case.id for case in verdict.results}) == 13
    assert set(verdict.evidence.suites) == {*FILES, *GIVEN}
    runs = ([path for path in request["session"]["files"] if path in BASE] for request in box.requests)
    of_base = [files for files in runs if files]
    assert of_base[0] == list(FILES)
    assert len(of_base) > 1
    assert all(set(later) < set(earlier) for earlier, later in pairwise(of_base))


async def test_a_failure_in_a_later_run_is_found(box: Recording, folder: Path) -> None:
    last = BASE[FILES[-1]].replace("one == 1", "not hasattr(__import__('app'), 'two')")
    verdict = await judge_change(box, folder, RIGHT, {FILES[-1]: last})
    assert verdict.failing == {f"{FILES[-1]}::test_more"}
    assert verdict.reason == "1 failed of 13 tests"


async def test_a_baseline_takes_as_many_runs_as_it_needs(box: Recording, folder: Path) -> None:
    old = {path: BASE[path].replace("assert one == 1", "assert one == 7") for path in FILES}
    verdict = await judge_change(box, folder, RIGHT, old)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert verdict.before == tuple(f"{path}::test_more" for path in FILES)
