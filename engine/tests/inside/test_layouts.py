from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from engine.tests.support import trying
from nightshift_engine.evaluation import Candidate, EvaluationJob, EvaluationLimits, RunStatus
from nightshift_engine.evaluator import SandboxEvaluator
from tests.support.sandboxes import open_folder
from tests.support.trees import TextTree

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = EvaluationLimits(wall_s=9.0, steps=100_000)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[SandboxEvaluator]:
    with open_folder() as folder:
        async with trying.evaluator("nested", folder) as evaluator:
            yield evaluator


async def test_classes_of_tests_and_unittest_are_known_by_their_owners_names(runner: SandboxEvaluator) -> None:
    tests = (
        "import unittest\nimport pytest\nimport small\n\n\nclass TestTotal:\n    @pytest.fixture(autouse=True)\n"
        "    def five(self):\n        self.five = [5]\n\n    def test_five(self):\n"
        "        assert small.total(self.five) == 5\n\n\n"
        "class Totals(unittest.TestCase):\n    def setUp(self):\n        self.pile = small.Pile()\n\n"
        "    def test_sums(self):\n        for number in (1, 2):\n            with self.subTest(number=number):\n"
        "                self.assertEqual(small.total([number]), number)\n\n"
        "    def test_nothing(self):\n        self.assertIsNone(small.total([]))\n"
    )
    observation = await runner.observe(trying.job(tests=tests))
    assert {test.id: test.how for test in observation.tests} == {
        "test_small.py::TestTotal::test_five": RunStatus.FAILED,
        "test_small.py::Totals::test_sums": RunStatus.FAILED,
        "test_small.py::Totals::test_nothing": RunStatus.PASSED,
    }
    order = [
        test.id
        for test in (*observation.failing, *observation.tests)
        if not test.passed or test not in observation.failing
    ]
    wrong = trying.of_total("+ 1", "+ 2")
    tried = [wrong, trying.MENDED, wrong, wrong] * 6
    outcomes = await runner.evaluate(trying.job(tests=tests, cpus=1.0), tried, order, PATIENCE)
    assert [each.how for each in outcomes] == [
        RunStatus.PASSED if c is trying.MENDED else RunStatus.FAILED for c in tried
    ]


async def test_packages_below_src_with_relative_imports(runner: SandboxEvaluator) -> None:
    base = TextTree(
        {
            "src/kit/__init__.py": "from .sums import Base, twice\n",
            "src/kit/sums.py": (
                "from __future__ import annotations\n\nfrom .more import one\n\n\n"
                "def twice(number: Unknown) -> int:\n    return number + one()\n\n\n"
                "class Base:\n    def __init__(self):\n        self.number = 1\n\n    @property\n"
                "    def shown(self):\n        return self.number\n\n    @shown.setter\n    def shown(self, new):\n"
                "        self.number = -new\n\n\nclass More(Base):\n    def __init__(self):\n"
                "        super().__init__()\n        self.number += 2\n"
            ),
            "src/kit/more.py": "def one():\n    return 1\n",
            "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
        }
    )
    tests = {
        "tests/test_kit.py": "from kit import twice\n\n\ndef test_twice():\n    assert twice(4) == 8\n",
        "tests/test_more.py": (
            "from kit.sums import More\n\n\nclass TestMore:\n    def test_more(self):\n        more = More()\n"
            "        more.shown = more.number + 1\n        assert more.shown == 3\n"
        ),
    }
    job = EvaluationJob(base=base, change={}, tests=tests, wall_s=20.0)
    observation = await runner.observe(job)
    assert {test.id for test in observation.failing} == {
        "tests/test_kit.py::test_twice", "tests/test_more.py::TestMore::test_more",
    }  # fmt: skip
    assert observation.tests[0].lines.keys() == {"src/kit/sums.py", "src/kit/more.py"}
    path = "src/kit/sums.py"
    tried = [
        Candidate(path=path, scope="twice", text="def twice(number: Unknown) -> int:\n    return number * 2"),
        Candidate(path=path, scope="twice", text="def twice(number: Unknown) -> int:\n    return number * 3"),
    ]
    outcomes = await runner.evaluate(job, tried, ["tests/test_kit.py::test_twice"], PATIENCE)
    assert [each.how for each in outcomes] == [RunStatus.PASSED, RunStatus.FAILED]
    setter = "@shown.setter\ndef shown(self, new):\n    self.number = new"
    init = "def __init__(self):\n    super().__init__()\n    self.number += 1"
    tried = [
        Candidate(path=path, scope="Base.shown", text=setter),
        Candidate(path=path, scope="Base.shown", text=setter.replace("= new", "= new - 1")),
        Candidate(path=path, scope="More.__init__", text=init),
        Candidate(path=path, scope="Base.shown", text="@property\ndef shown(self):\n    return -self.number - 1"),
    ]
    outcomes = await runner.evaluate(job, tried, ["tests/test_more.py::TestMore::test_more"], PATIENCE)
    assert [each.how for each in outcomes] == [RunStatus.FAILED, RunStatus.PASSED, RunStatus.FAILED, RunStatus.PASSED]


async def test_tests_with_hypothesis_fail_without_being_made_smaller(runner: SandboxEvaluator) -> None:
    tests = (
        "from hypothesis import given, strategies as st\nfrom small import total\n\n\n"
        "@given(st.lists(st.integers(0, 9), min_size=1))\n"
        "def test_sum(numbers):\n    assert total(numbers) == sum(numbers)\n"
    )
    wrong = trying.of_total("+ 1", "+ 2")
    observation = await runner.observe(trying.job(tests=tests))
    assert [test.how for test in observation.tests] == [RunStatus.FAILED]
    assert any(call.scope == "total" for call in observation.calls)
    outcomes = await runner.evaluate(
        trying.job(tests=tests), [wrong, trying.MENDED, wrong], ["test_small.py::test_sum"], PATIENCE
    )
    assert [each.how for each in outcomes] == [RunStatus.FAILED, RunStatus.PASSED, RunStatus.FAILED]
