"""The runs of a verdict: how many there are, what each is sent, and how a long suite is divided among them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from nightshift.core.isolation import RunLimits, SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.sandbox.trees import SENT_FILES
from nightshift.verdict.runner import SuiteRunner
from tests.support.recording import Recording
from tests.support.sandboxes import runtime
from tests.support.trees import TextTree


@pytest.fixture
def box(sandbox: Sandbox) -> Recording:
    return Recording(sandbox)


async def judge_change(box: Recording, folder: Path, change: dict[str, str], given: dict[str, str]) -> Verdict:
    runner = SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
    return await runner.judge(SuiteJob(base=TextTree(), change=change, given=given, limits=RunLimits(cpu_s=10)))


RIGHT = {"solution.py": "def add(a, b):\n    return a + b\n"}
GIVEN = {"tests/test_given.py": "from solution import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}


async def test_copies_have_a_sandbox_of_their_own_and_the_same_names(box: Recording, folder: Path) -> None:
    verdict = await judge_change(box, folder, RIGHT, GIVEN)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.twins == 1
    native, *others = box.requests
    assert any(request["session"]["words"] == native["session"]["words"] for request in others)


async def test_copies_say_nothing_where_a_test_fails(box: Recording, folder: Path) -> None:
    verdict = await judge_change(box, folder, {"solution.py": "def add(a, b):\n    return 0\n"}, GIVEN)
    assert not verdict.passed
    assert len(box.jobs) == 1


LARGE = {
    **{f"data/part{n}.txt": str(n) for n in range(SENT_FILES)},
    "solution.py": "def one():\n    return 0\n\n\ndef add(a, b):\n    return 0\n",
    "tests/test_old.py": "from solution import one\n\n\ndef test_one():\n    assert one() in {0, 1}\n",
}
ONE = "def one():\n    return 1\n\n\ndef add(a, b):\n    return a + b\n"
COUNTS = (
    "import os\n\nfrom solution import add\n\n\ndef test_sum():\n    assert add(len(os.listdir('data')), 1) == {}\n"
)
TAMPERS = "import os\n\nos.chmod('tests/test_old.py', 0o644)\nopen('tests/test_old.py', 'a').write('#')\n\n\n"


@pytest.mark.parametrize(
    ("change", "count", "passes"),
    [
        ({"solution.py": ONE, "data/part7.txt": None}, SENT_FILES - 1, True),
        ({"solution.py": TAMPERS + ONE}, SENT_FILES, False),
    ],
    ids=["file removed", "writes to a test of the base"],
)
async def test_a_large_tree_is_judged_where_it_lies(
    box: Recording, folder: Path, change: dict[str, str | None], count: int, passes: bool
) -> None:
    runner = SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
    base = TextTree(LARGE)
    given = {"tests/test_given.py": COUNTS.format(count + 1)}
    job = SuiteJob(
        base=base, change=change, given=given, regression=("tests/test_old.py",), whole_tree=True,
        limits=RunLimits(cpu_s=10),
    )  # fmt: skip
    verdict = await runner.judge(job)
    assert (verdict.passed and not verdict.doubt) == passes, verdict.reason
    assert all(job.layers and job.layers[0].host.name == base.commit for job in box.jobs)
    assert all(len(request["files"]) < 10 for request in box.requests)
    host = box.jobs[0].layers[0].host
    assert {str(path.relative_to(host)): path.read_text() for path in host.rglob("*") if path.is_file()} == base.files


@dataclass
class Deadly(Recording):
    """The real sandbox, whose first `deaths` runs lose their test processes.

    It kills the children of the trusted parents, as the kernel does when memory is short.
    """

    deaths: int = 1

    async def run(self, job: SandboxJob) -> SandboxResult:
        before = {process.pid for process in psutil.Process().children(recursive=True)}
        running = asyncio.create_task(super().run(job))
        if len(self.jobs) < self.deaths:
            await asyncio.sleep(2)  # the test is sleeping now
            for process in psutil.Process().children(recursive=True):
                if process.pid not in before and not process.children() and process.ppid() not in before:
                    process.kill()
        return await running


SLOW = {"tests/test_slow.py": "import time\nfrom solution import add\n\n\ndef test_a():\n    time.sleep(3)\n"
        "    assert add(2, 3) == 5\n"}  # fmt: skip
DYING = {"tests/test_dying.py": "import os, signal\nfrom solution import add\n\n\ndef test_a():\n"
         "    assert add(2, 3) == 5\n    os.kill(os.getpid(), signal.SIGKILL)\n"}  # fmt: skip


@pytest.mark.parametrize(
    ("deaths", "given", "passes", "runs"),
    [(1, SLOW, True, 3), (0, DYING, False, 2)],
    ids=["killed once", "kills itself"],
)
async def test_a_run_of_which_a_process_was_killed_runs_once_more(
    sandbox: Sandbox, folder: Path, deaths: int, given: dict[str, str], passes: bool, runs: int
) -> None:
    box = Deadly(sandbox, deaths=deaths)
    verdict = await judge_change(box, folder, RIGHT, given)
    assert verdict.passed == passes, verdict.reason
    assert len(box.jobs) == runs


# The tests below judge a suite that exceeds the time limit of one run.

APP = "def one():\n    return 1\n"
WORK = (
    "import time\n\n\ndef work():\n    until = time.process_time() + 0.5\n"
    "    while time.process_time() < until:\n        pass\n"
)
CONFTEST = "import pytest\n\n\n@pytest.fixture(scope='session')\ndef one():\n    yield 1\n"
FILES = tuple(f"tests/{folder}/test_{folder}{name}.py" for folder in ("x", "y") for name in ("a", "b", "c"))
LONG = {
    "app.py": APP,
    "work.py": WORK,
    "tests/conftest.py": CONFTEST,
    **{
        path: f"import app\nfrom work import work\n\n\ndef test_{n}(one):\n    work()\n    assert app.one() == one\n"
        "\n\ndef test_more(one):\n    assert one == 1\n"
        for n, path in enumerate(FILES)
    },
}
LONG_GIVEN = {"test_given.py": "import app\n\n\ndef test_two(capsys):\n    assert app.two() == 2\n"}
LONG_RIGHT = APP + "\n\ndef two():\n    return 2\n"


async def judge_long(box: Recording, folder: Path, app: str, base: dict[str, str] | None = None) -> Verdict:
    runner = SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
    job = SuiteJob(
        base=TextTree({**LONG, **(base or {})}), change={"app.py": app}, given=LONG_GIVEN, regression=FILES,
        limits=RunLimits(cpu_s=2.5),
    )  # fmt: skip
    return await runner.judge(job)


async def test_what_one_run_has_no_time_for_runs_in_further_ones(box: Recording, folder: Path) -> None:
    verdict = await judge_long(box, folder, LONG_RIGHT)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert verdict.reason == "13 tests passed"
    assert len(verdict.results) == len({case.id for case in verdict.results}) == 13
    assert set(verdict.evidence.suites) == {*FILES, *LONG_GIVEN}
    # The runs with and without the change are made at the same time, so their order says nothing.
    runs = {frozenset(LONG.keys() & request["session"]["files"]) for request in box.requests} - {frozenset()}
    ordered = sorted(runs, key=len, reverse=True)
    assert ordered[0] == set(FILES)
    assert len(ordered) > 1
    assert all(later < earlier for earlier, later in pairwise(ordered))


async def test_a_failure_in_a_later_run_is_found(box: Recording, folder: Path) -> None:
    last = LONG[FILES[-1]].replace("one == 1", "not hasattr(__import__('app'), 'two')")
    verdict = await judge_long(box, folder, LONG_RIGHT, {FILES[-1]: last})
    assert verdict.failing == {f"{FILES[-1]}::test_more"}
    assert verdict.reason == "1 failed of 13 tests"


async def test_a_baseline_takes_as_many_runs_as_it_needs(box: Recording, folder: Path) -> None:
    old = {path: LONG[path].replace("assert one == 1", "assert one == 7") for path in FILES}
    verdict = await judge_long(box, folder, LONG_RIGHT, old)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert verdict.before == tuple(f"{path}::test_more" for path in FILES)
