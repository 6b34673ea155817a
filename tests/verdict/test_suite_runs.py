"""How many sandboxes a proof takes, what they are told, and what a second look at must-fail copies is worth."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from nightshift.core.isolation import Layer, RunLimits, SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.sandbox.trees import SENT_FILES
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.suite_runs import surely_fail_before
from tests.support.sandboxes import Judge, runtime
from tests.support.trees import TextTree

RIGHT = {"solution.py": "def add(a, b):\n    return a + b\n"}
WRONG = {"solution.py": "def add(a, b):\n    return a * b\n"}
APART = {
    "tests/test_given.py": "from solution import add\n\n\ndef test_a():\n    assert add(2, 3) == 5\n\n\n"
    "def test_b():\n    assert add(10, 20) == 30\n"
}
TOGETHER = {path: text.replace("()", "(capsys)") for path, text in APART.items()}


@dataclass
class Noted:
    """The real sandbox, with a note of what each run in it was told."""

    sandbox: Sandbox
    told: list[dict[str, Any]] = field(default_factory=list)
    layers: list[tuple[Layer, ...]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.sandbox.name

    async def run(self, job: SandboxJob) -> SandboxResult:
        length, _, rest = job.stdin.partition(b"\n")
        self.told.append(json.loads(rest[: int(length)]))
        self.layers.append(job.layers)
        return await self.sandbox.run(job)


@pytest.fixture
def box(sandbox: Sandbox) -> Noted:
    return Noted(sandbox)


async def judged(box: Noted, folder: Path, change: dict[str, str], given: dict[str, str]) -> Verdict:
    runner = SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
    return await runner.judge(SuiteJob(base=TextTree(), change=change, given=given, limits=RunLimits(cpu_s=10)))


async def test_tests_that_all_run_apart_take_one_sandbox(box: Noted, folder: Path) -> None:
    verdict = await judged(box, folder, RIGHT, APART)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.twins == 2
    assert len(box.told) == 1


async def test_tests_that_share_a_process_with_the_code_take_another_one_for_their_copies(
    box: Noted, folder: Path
) -> None:
    verdict = await judged(box, folder, RIGHT, TOGETHER)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.twins == 2
    one, two = box.told
    assert not set(one["session"]["files"]) & set(two["session"]["files"])
    names = [{path for path, _ in told["files"]} for told in (one, two)]
    assert names[0] & names[1] == {"solution.py"}


OPAQUE = """import os, sys


class Sly:
    def __init__(self, wanted):
        self.wanted = wanted

    def __eq__(self, other):
        return self.wanted


def add(a, b):
    if "pytest" not in sys.modules:
        open("/tmp/note", "w").close()
        return list(range(300_000))
    return Sly(os.path.exists("/tmp/note") or len(os.listdir("/tmp")) > 1)
"""


async def test_what_a_split_run_leaves_behind_does_not_tell_tests_from_copies(box: Noted, folder: Path) -> None:
    verdict = await judged(box, folder, {"solution.py": OPAQUE}, APART)
    assert not verdict.passed


async def test_a_run_of_copies_is_told_nothing_by_which_it_could_know_itself(box: Noted, folder: Path) -> None:
    await judged(box, folder, RIGHT, TOGETHER)
    one, two = (told["session"] for told in box.told)
    differing = {name for name in one if one[name] != two[name]}
    assert one.keys() == two.keys()
    assert differing == {"files", "token"}
    assert [len(path) for path in one["files"]] == [len(path) for path in two["files"]]


async def test_copies_say_nothing_where_a_test_fails(box: Noted, folder: Path) -> None:
    verdict = await judged(box, folder, WRONG, APART)
    assert verdict.reason == "2 failed of 2 tests"
    assert verdict.evidence.twins == 0
    assert len(box.told) == 1


TOGGLE = {"solution.py": "ON = [False]\n\n\ndef toggle():\n    ON[0] = not ON[0]\n    return ON[0]\n"}
TOGGLED = {
    "tests/test_given.py": "from solution import toggle\n\n\ndef test_a(capsys):\n    assert toggle() == True\n"
    "    toggle()\n\n\ndef test_b(capsys):\n    assert toggle() == True\n"
}


async def test_a_copy_that_passes_for_what_another_one_left_behind_is_looked_at_alone(box: Noted, folder: Path) -> None:
    verdict = await judged(box, folder, TOGGLE, TOGGLED)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.twins == 2
    assert len(box.told) == 4, "the tests, their copies, and one of each alone"
    assert [len(told["session"]["files"]) for told in box.told] == [1, 1, 1, 1]
    assert ["::" in told["session"]["files"][0] for told in box.told] == [False, False, True, True]


HELD = {
    "solution.py": "HELD = []\n\n\ndef take(x):\n    if HELD:\n        raise TypeError(HELD)\n    HELD.append(x)\n"
    "    return x\n\n\ndef give():\n    HELD.clear()\n"
}
HOLDING = {
    "tests/test_given.py": "from solution import give, take\n"
    + "".join(f"\n\ndef test_{x}(capsys):\n    assert take('{x}') == '{x}'\n    give()\n" for x in "abcd")
}


async def test_copies_that_leave_something_behind_for_one_another_are_looked_at_one_by_one(
    box: Noted, folder: Path
) -> None:
    verdict = await judged(box, folder, HELD, HOLDING)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.twins == 4
    alone = [told["session"]["files"] for told in box.told[2:]]
    assert [len(files) for files in alone] == [3, 3, 1, 1, 1, 1], "three copies are doubtful, and two once more"


async def test_a_second_look_is_taken_as_well_where_something_else_failed_before(
    folder: Path, sandbox: Sandbox
) -> None:
    red = {"tests/test_red.py": "import not_there\nfrom solution import toggle\n\n\ndef test_red():\n    toggle()\n"}
    runner = SuiteRunner(sandbox, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
    job = SuiteJob(base=TextTree(red), change=dict(TOGGLE), given=TOGGLED, regression=tuple(red))
    verdict = await runner.judge(job)
    assert verdict.passed, verdict.reason
    assert verdict.before == tuple(red)


async def test_a_copy_that_fails_by_no_check_is_told_as_such(box: Noted, folder: Path) -> None:
    odd = (
        "class Odd:\n    def __init__(self, right):\n        self.right = right\n\n    def __eq__(self, other):\n"
        "        if other != self.right:\n            raise TypeError\n        return True\n\n\n"
        "def add(a, b):\n    return Odd(a + b)\n"
    )
    verdict = await judged(box, folder, {"solution.py": odd}, TOGETHER)
    assert not verdict.passed
    assert "failed, but not by a check of its own: the result cannot be believed" in verdict.reason


SLY = """import sys


class Sly:
    def __eq__(self, other):
        frame = sys._getframe()
        while frame:
            config = frame.f_locals.get("config")
            if isinstance(config, dict) and "files" in config:
                return not any("::" in path for path in config["files"])
            frame = frame.f_back
        return True


def add(a, b):
    return 5 if (a, b) == (2, 3) else Sly()
"""


async def test_code_that_notices_a_second_look_gains_nothing(judge: Judge) -> None:
    verdict = await judge({"solution.py": SLY}, TOGETHER)
    assert not verdict.passed
    assert "test_b did not fail" in verdict.reason


@pytest.mark.parametrize(
    ("imported", "change", "present", "red"),
    [
        ("from new import f", {"new.py": ""}, set(), True),
        ("import new.deep", {"new/deep.py": ""}, set(), True),
        ("from new import f", {"src/new.py": ""}, set(), True),
        ("from app import new", {"app/new.py": ""}, {"app/old.py"}, False),
        ("from new import f", {"new.py": ""}, {"new.py"}, False),
        ("from json import f", {"json.py": ""}, set(), False),
        ("try:\n    from new import f\nexcept ImportError:\n    pass", {"new.py": ""}, set(), False),
        ("def test_a():\n    from new import f", {"new.py": ""}, set(), False),
    ],
)
def test_a_missing_module_makes_tests_surely_fail_before(
    imported: str, change: dict[str, str | None], present: set[str], red: bool
) -> None:
    assert surely_fail_before({"test_a.py": imported + "\n"}, change, present) is red


LARGE = {
    **{f"data/part{n}.txt": str(n) for n in range(SENT_FILES)},
    "solution.py": "def one():\n    return 0\n\n\ndef add(a, b):\n    return 0\n",
    "tests/test_old.py": "from solution import one\n\n\ndef test_one():\n    assert one() == 1\n",
}
ONE = "def one():\n    return 1\n\n\ndef add(a, b):\n    return a + b\n"
COUNTS = (
    "import os\n\nfrom solution import add\n\n\ndef test_sum():\n    assert add(len(os.listdir('data')), 1) == {}\n"
)
TAMPERS = "import os\n\nos.chmod('tests/test_old.py', 0o644)\nopen('tests/test_old.py', 'a').write('#')\n\n\n"


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("change", "count", "passes"),
    [
        ({"solution.py": ONE}, SENT_FILES, True),
        ({"solution.py": ONE, "data/part7.txt": None}, SENT_FILES - 1, True),
        ({"solution.py": ONE, "data/new.txt": "new"}, SENT_FILES + 1, True),
        ({"solution.py": ONE, "data/part7.txt": "other"}, SENT_FILES + 1, False),
        ({"solution.py": TAMPERS + ONE}, SENT_FILES, False),
        ({"solution.py": ONE.replace("1", "2")}, SENT_FILES, False),
    ],
    ids=["right", "file removed", "file added", "file changed", "writes to a test of the base", "breaks one"],
)
async def test_a_large_tree_is_judged_where_it_lies(
    box: Noted, folder: Path, change: dict[str, str | None], count: int, passes: bool
) -> None:
    runner = SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
    base = TextTree({**LARGE, "tests/test_old.py": LARGE["tests/test_old.py"].replace("== 1", "in {0, 1}")})
    given = {"tests/test_given.py": COUNTS.format(count + 1)}
    job = SuiteJob(
        base=base, change=change, given=given, regression=("tests/test_old.py",), whole_tree=True,
        limits=RunLimits(cpu_s=10),
    )  # fmt: skip
    verdict = await runner.judge(job)
    assert verdict.passed == passes, verdict.reason
    assert all(layers and layers[0].host.name == base.commit for layers in box.layers)
    assert all(len(told["files"]) < 10 for told in box.told)
    host = box.layers[0][0].host
    lying = {str(path.relative_to(host)): path.read_text() for path in files_in(host)}
    assert lying == base.files


@dataclass
class Deadly(Noted):
    """Kills what the trusted parents of its first runs have started, as the kernel does where memory is short."""

    deaths: int = 1

    async def run(self, job: SandboxJob) -> SandboxResult:
        before = {one.pid for one in psutil.Process().children(recursive=True)}
        running = asyncio.create_task(super().run(job))
        if len(self.told) < self.deaths:
            await asyncio.sleep(2)  # the test sleeps
            for one in psutil.Process().children(recursive=True):
                if one.pid not in before and not one.children() and one.ppid() not in before:
                    one.kill()
        return await running


SLOW = {"tests/test_slow.py": "import time\nfrom solution import add\n\n\ndef test_a():\n    time.sleep(3)\n"
        "    assert add(2, 3) == 5\n"}  # fmt: skip
DYING = {"tests/test_dying.py": "import os, signal\nfrom solution import add\n\n\ndef test_a():\n"
         "    assert add(2, 3) == 5\n    os.kill(os.getpid(), signal.SIGKILL)\n"}  # fmt: skip


@pytest.mark.parametrize(
    ("deaths", "given", "passes", "runs"),
    [(0, SLOW, True, 1), (1, SLOW, True, 2), (2, SLOW, False, 2), (0, DYING, False, 3)],
    ids=["nothing is killed", "killed once", "killed again", "kills itself, beside its copies"],
)
async def test_a_run_of_which_a_process_was_killed_runs_once_more(
    sandbox: Sandbox, folder: Path, deaths: int, given: dict[str, str], passes: bool, runs: int
) -> None:
    box = Deadly(sandbox, deaths=deaths)
    verdict = await judged(box, folder, RIGHT, given)
    assert verdict.passed == passes, verdict.reason
    assert len(box.told) == runs
