"""A given test that its own text lets off is no failure; the tested code lets none off."""

from __future__ import annotations

import pytest

from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from tests.support.sandboxes import Judge
from tests.support.trees import TextTree

CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef terminal():\n    pytest.skip('there is none')\n"
BASE = {"app.py": "def one():\n    return 1\n", "tests/conftest.py": CONFTEST}
RIGHT = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
TWO = "import pytest\nimport sys\nimport unittest\n\nimport app\n\n\ndef test_two():\n    assert app.two() == 2\n\n\n"
LET_OFF = {
    "skip": "@pytest.mark.skip\ndef test_x():\n    assert app.two() == 3\n",
    "skipif": "@pytest.mark.skipif(sys.platform == 'linux', reason='r')\ndef test_x():\n    assert app.two() == 3\n",
    "a mark with a name": (
        "off = pytest.mark.skipif(True, reason='r')\n\n\n@off\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_x(n):\n    assert app.two() == 3\n"
    ),
    "xfail": "@pytest.mark.xfail\ndef test_x():\n    assert app.two() == 3\n",
    "xfail of an exception": "@pytest.mark.xfail(raises=KeyError)\ndef test_x():\n    raise KeyError(app.two())\n",
    "xfail that passes": "@pytest.mark.xfail\ndef test_x():\n    assert app.two() == 2\n",
    "xfail that does not run": "@pytest.mark.xfail(run=False)\ndef test_x():\n    assert app.two() == 3\n",
    "a class": "@pytest.mark.skip\nclass TestX:\n    def test_x(self):\n        assert app.two() == 3\n",
    "a class with a list": (
        "class TestX:\n    pytestmark = [pytest.mark.xfail]\n\n    def test_x(self):\n        assert app.two() == 3\n"
    ),
    "rows": (
        "@pytest.mark.parametrize('n', [2, pytest.param(3, marks=pytest.mark.xfail)])\n"
        "def test_x(n):\n    assert app.two() == n\n"
    ),
    "rows that are skipped": (
        "@pytest.mark.parametrize('n', [2, pytest.param(3, marks=pytest.mark.skip)])\n"
        "def test_x(n):\n    assert app.two() == n\n"
    ),
    "a call": (
        "def test_x():\n    if app.two():\n        pytest.skip(\n            'not here'\n        )\n    assert False\n"
    ),
    "a call that expects to fail": "def test_x():\n    pytest.xfail('later')\n    assert app.two() == 3\n",
    "a fixture of the file": (
        "@pytest.fixture\ndef off():\n    pytest.skip('r')\n\n\ndef test_x(off):\n    assert False\n"
    ),
    "a fixture of the base": "def test_x(terminal):\n    assert False\n",
    "a row that asks for a library": (
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_x(n):\n    if n == 2:\n        pytest.importorskip('nope')\n"
        "    assert app.two() == 2\n"
    ),
    "unittest": (
        "class TestX(unittest.TestCase):\n    @unittest.skip('r')\n    def test_x(self):\n        assert False\n\n"
        "    @unittest.expectedFailure\n    def test_y(self):\n        assert app.two() == 3\n"
    ),
}
OF_UNITTEST = {
    "skipIf": "    @unittest.skipIf(sys.platform == 'linux', 'r')\n    def test_x(self):\n        assert False\n",
    "skipUnless": "    @unittest.skipUnless(two() == 3, 'r')\n    def test_x(self):\n        assert False\n",
    "skipTest": "    def test_x(self):\n        if two() == 2:\n            self.skipTest('r')\n        assert False\n",
    "setUp": (
        "    def setUp(self):\n        raise unittest.SkipTest('r')\n\n    def test_x(self):\n        assert False\n"
    ),
}
RAISES = "import pytest\nimport unittest\n\n\ndef two():\n    raise {}('r')\n\n\ndef one():\n    return 2\n"
ONE = "import pytest\nimport unittest\nimport app\n\n\ndef test_one():\n    assert app.one() == 2\n\n\n"
FORGED = {
    "code that skips": ("pytest.skip.Exception", "def test_x():\n    assert app.two() == 3\n"),
    "code that expects to fail": ("pytest.xfail.Exception", "def test_x():\n    assert app.two() == 3\n"),
    "code that skips where a mark does not": (
        "pytest.skip.Exception",
        "@pytest.mark.skipif(False, reason='r')\ndef test_x():\n    assert app.two() == 3\n",
    ),
    "code that expects to fail where a mark does not": (
        "pytest.xfail.Exception",
        "@pytest.mark.xfail(False, reason='r')\ndef test_x():\n    assert app.two() == 3\n",
    ),
    "code that is called as a test skips": (
        "pytest.skip.Exception",
        "def test_x():\n    if app.two() == 3:\n        pytest.skip('r')\n    assert False\n",
    ),
    "code that skips what unittest calls": (
        "unittest.SkipTest",
        (
            "class TestX(unittest.TestCase):\n    @unittest.skipIf(False, 'r')\n    def test_x(self):\n"
            "        self.assertEqual(app.two(), 3)\n"
        ),
    ),
    "code that skips what unittest skips itself": (
        "unittest.SkipTest",
        (
            "class TestX(unittest.TestCase):\n    def test_x(self):\n        if app.two() == 2:\n"
            "            self.skipTest('r')\n        assert False\n"
        ),
    ),
    "code that skips where unittest prepares a class": (
        "unittest.SkipTest",
        (
            "class TestX(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
            "        cls.two = app.two()\n\n"
            "    @unittest.skipIf(False, 'r')\n    def test_x(self):\n        self.assertEqual(self.two, 3)\n"
        ),
    ),
    "code that skips in a fixture": (
        "pytest.skip.Exception",
        (
            "@pytest.fixture\ndef value():\n    return app.two()\n\n\n@pytest.mark.skipif(False, reason='r')\n"
            "def test_x(value):\n    assert value == 3\n"
        ),
    ),
}  # fmt: skip


async def judged(judge: Judge, app: str, test: str) -> Verdict:
    given = {"tests/test_given.py": test}
    return await judge.runner.judge(SuiteJob(base=TextTree(BASE), change={"app.py": app}, given=given))


@pytest.mark.parametrize("kind", LET_OFF)
async def test_a_given_test_that_its_text_lets_off_refuses_no_right_answer(judge: Judge, kind: str) -> None:
    verdict = await judged(judge, RIGHT, TWO + LET_OFF[kind])
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert "tests/test_given.py::test_two" in verdict.evidence.ids
    assert any("skipped or failed as expected" in note for note in verdict.evidence.notes)


@pytest.mark.parametrize("kind", OF_UNITTEST)
async def test_a_given_test_that_unittest_skips_by_its_text_needs_no_base_that_it_can_be_imported_with(
    judge: Judge, kind: str
) -> None:
    head = "import sys\nimport unittest\n\nfrom app import two\n\n\ndef test_two():\n    assert two() == 2\n\n\n"
    verdict = await judged(judge, RIGHT, f"{head}class TestX(unittest.TestCase):\n{OF_UNITTEST[kind]}")
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert "tests/test_given.py::test_two" in verdict.evidence.ids


async def test_a_wrong_answer_beside_tests_that_are_let_off_is_refused(judge: Judge) -> None:
    verdict = await judged(judge, RIGHT.replace("return 2", "return 5"), TWO + LET_OFF["xfail"] + LET_OFF["skip"])
    assert verdict.reason == "1 failed of 1 tests"
    assert [failure.id for failure in verdict.failures] == ["tests/test_given.py::test_two"]


@pytest.mark.parametrize("kind", FORGED)
async def test_tested_code_lets_no_given_test_off(judge: Judge, kind: str) -> None:
    raised, test = FORGED[kind]
    verdict = await judged(judge, RAISES.format(raised), ONE + test)
    assert verdict.reason == "1 skipped of 2 tests", verdict.failures


@pytest.mark.parametrize("kind", [kind for kind, (raised, _) in FORGED.items() if "unittest" not in raised])
async def test_tested_code_lets_no_test_of_the_base_off_that_it_did_not_before(judge: Judge, kind: str) -> None:
    raised, test = FORGED[kind]
    base = {**BASE, "tests/test_old.py": ONE.partition("def test_one")[0] + test}
    given = {"tests/test_given.py": ONE}
    for app, reason in ((BASE["app.py"], "1 skipped of 2 tests"), (RAISES.format(raised), "1 test passed")):
        job = SuiteJob(
            base=TextTree({**base, "app.py": app}), change={"app.py": RAISES.format(raised)}, given=given,
            regression=("tests/test_old.py",),
        )  # fmt: skip
        assert (await judge.runner.judge(job)).reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\n\npytestmark = pytest.mark.skip\n\n\ndef test_a():\n    assert False\n",
        "import pytest\n\npytest.skip('r', allow_module_level=True)\n\n\ndef test_a():\n    assert False\n",
        "import pytest\n\npytestmark = pytest.mark.xfail\n\n\ndef test_a():\n    assert False\n",
    ],
)
async def test_where_all_given_tests_are_let_off_none_ran(judge: Judge, text: str) -> None:
    verdict = await judged(judge, RIGHT, text)
    assert not verdict.passed
    assert verdict.reason == "no test ran"


async def test_a_strict_mark_keeps_its_word(judge: Judge) -> None:
    verdict = await judged(judge, RIGHT, TWO + "@pytest.mark.xfail(strict=True)\ndef test_x():\n    app.two()\n")
    assert verdict.reason == "1 failed of 2 tests"
