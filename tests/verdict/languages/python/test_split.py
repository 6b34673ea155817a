"""Which files are run with the tested code in another process, and which of their tests are judged by that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from nightshift.core.tasks.task import Files
from nightshift.verdict.languages.plan import Role, SplitPlan, SuiteFile
from nightshift.verdict.languages.python import split, suite
from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.python.split import Surroundings

PATH = "tests/test_given.py"
HEAD = "from solution import f\n"
TREE = ("solution.py", "shop/__init__.py", "shop/cart.py", "src/lib/core.py", "tools/run.py")


def prepared(tests: Files, role: Role = Role.GIVEN) -> list[SuiteFile]:
    around = suite.Surroundings(settings=PytestSettings(), texts="\n".join(tests.values()), paths=(*TREE, *tests))
    return list(suite.prepare(role, tests, around))


def planned(
    tests: Files, files: list[SuiteFile] | None = None, *, conftests: Mapping[str, str] | None = None, **more: Any
) -> SplitPlan | None:
    around: dict[str, Any] = {
        "tests": tests, "present": (*TREE, *tests), "roots": ("", "src/"), "settings": PytestSettings(),
        "settings_text": "", "conftests": conftests or {}, **more,
    }  # fmt: skip
    return split.plan(prepared(tests) if files is None else files, Surroundings(**around))


def judged(text: str, helpers: Files | None = None, **more: Any) -> set[str] | None:
    """The tests of a file that a split run judges, by their owner's names; None where it is not fit for one."""
    tests = {PATH: text, **(helpers or {})}
    files = prepared(tests)
    found = planned(tests, files, **more)
    if found is None:
        return None
    (file,) = [file for file in files if file.path == PATH]
    return {file.names[name.partition("::")[2]] for name in found.judged}


def a_test(*lines: str, arguments: str = "") -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"\n\ndef test_one({arguments}):\n{body}"


FIT = {
    "sets": HEAD + a_test("assert f('ab') == {'a', 'b'}", "assert set(f('ab')) == set('ab')"),
    "sets that are put in order": HEAD + a_test("assert sorted(f('ab')) == sorted({'a', 'b'})"),
    "a comparison": HEAD + a_test("assert f(1) == 2"),
    "a module": "import solution\n" + a_test("assert solution.f(1) == 2"),
    "a module of a package": "from shop.cart import Cart\nimport shop\n" + a_test("assert Cart().total == 2"),
    "a module below src": "import lib.core\n" + a_test("assert lib.core.f() == 2"),
    "a folder without an __init__": "import tools.run\n" + a_test("assert tools.run.f() == 2"),
    "pure modules": "import math, json, re\nfrom datetime import date\n" + a_test("assert math.pi > 3"),
    "an import in a test": a_test("from solution import f", "assert f(1) == 2"),
    "raises": f"import pytest\n{HEAD}" + a_test("with pytest.raises(ValueError, match='x'):", "    f(1)"),
    "parameters": (
        f"import pytest\n{HEAD}\n@pytest.mark.parametrize('n', [1])\ndef test_one(n):\n    assert f(n) == 1\n"
    ),
    "a fixture": (
        f"import pytest\n{HEAD}\n@pytest.fixture\ndef x():\n    return f(1)\n" + a_test("assert x", arguments="x")
    ),
    "a temporary folder": HEAD + a_test("assert f(tmp_path) == 1", arguments="tmp_path"),
    "hypothesis": f"from hypothesis import given, strategies as st\n{HEAD}\n@given(st.integers())\ndef test_one(n):\n"
    "    assert f(n) == n\n",
    "a longer path": "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent.parent))\n"
    + HEAD + a_test("assert f(1) == 2"),
    "none by identity": HEAD + a_test("assert f(1) is None", "assert f(2) is not None"),
    "truths by identity": HEAD + a_test("assert f(1) is True", "assert (f(2) == 3) is False"),
    "an enumeration's member by identity": "from shop.cart import Color\n" + a_test("assert Color('r') is Color.RED"),
    "a class by identity": "from shop.cart import Cart, make\n" + a_test("assert type(make()) is Cart"),
    "names of things": HEAD + a_test("assert f.__name__ == 'f'", "assert f.__doc__"),
}  # fmt: skip
UNFIT = {
    "a module that is not pure": "import subprocess\n" + HEAD + a_test("assert f(1) == 2"),
    "mocks": "from unittest.mock import Mock\n" + HEAD + a_test("assert f(Mock())"),
    "mocks by another name": "import unittest.mock as m\n" + HEAD + a_test("assert f(m)"),
    "chance": "import random\n" + HEAD + a_test("random.seed(1)", "assert f(1) == 2"),
    "logging": "import logging\n" + HEAD + a_test("assert f(1) == 2"),
    "threads": "import threading\n" + HEAD + a_test("assert f(1) == 2"),
    "warnings": "import warnings\n" + HEAD + a_test("assert f(1) == 2"),
    "the import system": "import importlib\n" + HEAD + a_test("assert f(1) == 2"),
    "an unknown module": "import numpy\n" + HEAD + a_test("assert f(1) == 2"),
    "an import of a relative": "from .solution import f\n" + a_test("assert f(1) == 2"),
    "an import of another test": "from test_other import x\n" + HEAD + a_test("assert f(1) == x"),
    "a pure module below another": "import os.path\n" + HEAD + a_test("assert f(1) == 2"),
    "a file at the top": f"TEXT = open('data.txt').read()\n{HEAD}" + a_test("assert f(TEXT) == 2"),
    "a folder at the top": f"import os\nos.chdir('..')\n{HEAD}" + a_test("assert f(1) == 2"),
    "its own path": f"from pathlib import Path\nDATA = Path(__file__).parent\n{HEAD}" + a_test("assert f(DATA) == 2"),
    "an environment in a fixture": f"import pytest\n{HEAD}\n@pytest.fixture\ndef x(monkeypatch):\n"
    "    monkeypatch.setenv('A', 'b')\n" + a_test("assert f(1) == 2", arguments="x"),
    "a mark for all tests": f"import pytest\n{HEAD}pytestmark = pytest.mark.usefixtures('capsys')\n"
    + a_test("assert f(1) == 2"),
    "a helper that looks at its callers": f"import sys\n{HEAD}\ndef line():\n    return sys._getframe(1)\n"
    + a_test("assert f(1) == 2"),
    "a helper that awaits": f"{HEAD}\nasync def both():\n    return f(1)\n" + a_test("assert f(1) == 2"),
    "a method of the import system's": f"{HEAD}\nX = f.__code__\n" + a_test("assert f(1) == 2"),
    "no Python": "def test_one(:\n",
    "no tests": HEAD,
}  # fmt: skip
NOT_JUDGED = {
    "output": HEAD + a_test("f(1)", "assert capsys.readouterr().out == ''", arguments="capsys"),
    "a patch": HEAD + a_test("monkeypatch.setattr('solution.x', 1)", "assert f(1) == 2", arguments="monkeypatch"),
    "a patch of pytest's own": f"import pytest\n{HEAD}"
    + a_test("with pytest.MonkeyPatch.context() as patch:", "    patch.setenv('A', 'b')", "    assert f(1) == 2"),
    "logs": HEAD + a_test("f(1)", "assert caplog.text", arguments="caplog"),
    "its name": HEAD + a_test("assert request.node.name == f(1)", arguments="request"),
    "a file": HEAD + a_test("assert f(open('data.txt')) == 2"),
    "a folder": "import os\n" + HEAD + a_test("assert f(1) == os.getcwd()"),
    "the environment": "import os\n" + HEAD + a_test("os.environ['A'] = 'b'", "assert f(1) == 'b'"),
    "the modules": "import sys\n" + HEAD + a_test("assert 'solution' in sys.modules", "assert f(1)"),
    "identity of results": HEAD + a_test("assert f(1) is f(1)"),
    "identity with a name": HEAD + a_test("x = [1]", "assert f(x) is x"),
    "identity by unittest": f"import unittest\n{HEAD}\nclass TestF(unittest.TestCase):\n    def test_one(self):\n"
    "        self.assertIs(f(1), f(1))\n",
    "numbers of objects": HEAD + a_test("assert id(f(1)) == id(f(1))"),
    "sets in order": HEAD + a_test("assert f('ab') == list(set('ab'))"),
    "joined sets in order": HEAD + a_test("assert f('ab') == ''.join({'a', 'b'} | {'c'})"),
    "hashes of texts": HEAD + a_test("assert f('a') == hash('a')"),
    "warnings by pytest": f"import pytest\n{HEAD}" + a_test("with pytest.warns(UserWarning):", "    f(1)"),
    "text that is run": HEAD + a_test("assert eval('f(1)') == 2"),
    "a dunder by a text": HEAD + a_test("assert hasattr(f(1), '__len__')"),
    "a dunder by its name": HEAD + a_test("assert f.__wrapped__"),
    "a coroutine": f"{HEAD}\nasync def test_one():\n    assert f(1) == 2\n",
    "a condition": f"import sys\n{HEAD}\nif f(1):\n    def test_one():\n        assert f(1) == 2\n",
    "a used fixture": (
        f"import pytest\n{HEAD}\n@pytest.mark.usefixtures('capsys')\ndef test_one():\n    assert f(1) == 2\n"
    ),
}  # fmt: skip
OTHER = "\n\ndef test_two():\n    assert f(2) == 3\n"


@pytest.mark.parametrize("name", FIT)
def test_what_is_the_same_from_another_process_is_judged_there(name: str) -> None:
    assert judged(FIT[name]) == {"test_one"}


@pytest.mark.parametrize("name", UNFIT)
def test_a_file_that_would_behave_otherwise_has_no_split_run(name: str) -> None:
    assert judged(UNFIT[name]) is None


@pytest.mark.parametrize("name", NOT_JUDGED)
def test_a_test_that_would_behave_otherwise_runs_along_and_is_not_judged(name: str) -> None:
    assert judged(NOT_JUDGED[name]) is None
    assert judged(NOT_JUDGED[name] + OTHER) in ({"test_two"}, None)


GUARDED = (
    "from os import environ", "import os as o", "from sys import modules", "import sys as s",
    "from os import path", "from pathlib import Path as P", "from pathlib import PosixPath", "import pathlib as p",
)  # fmt: skip


@pytest.mark.parametrize("words", GUARDED)
def test_a_module_that_is_there_for_paths_alone_may_not_come_by_another_name(words: str) -> None:
    assert judged(f"{words}\n{HEAD}" + a_test("assert f(1) == 2")) is None


HELPER = "def double(n):\n    return 2 * n\n"
USES = "from helper import double\n" + HEAD + a_test("assert f(1) == double(1)")


def test_helpers_of_the_tests_are_hidden_from_the_code_and_known_to_the_tests() -> None:
    tests = {PATH: USES, "tests/helper.py": HELPER, "tests/data.json": "{}"}
    files = prepared(tests)
    found = planned(tests, files)
    assert found
    assert found.hidden == ("tests/helper.py",)
    assert found.texts == {
        "tests/helper.py": HELPER, files[0].staged: files[0].text, files[0].must_fail_path: files[0].must_fail_text,
    }  # fmt: skip
    assert found.suites == (files[0].staged, files[0].must_fail_path)


@pytest.mark.parametrize(
    "helper",
    ["import subprocess\n", "from unittest import mock\nm = mock.Mock()\n", "def broken(:\n", "import numpy\n"],
)
def test_a_helper_that_is_not_fit_spoils_all_files(helper: str) -> None:
    tests = {PATH: USES, "tests/helper.py": HELPER + helper, "tests/test_other.py": FIT["a comparison"]}
    assert planned(tests) is None


def test_conftests_in_force_are_helpers_too() -> None:
    conftest = "import pytest\nfrom solution import f\n\n\n@pytest.fixture\ndef x():\n    return f(1)\n"
    text = HEAD + a_test("assert x == 2", arguments="x")
    assert judged(text, conftests={"conftest.py": conftest}) == {"test_one"}
    assert judged(text, conftests={"conftest.py": "import os\nos.environ['A'] = 'b'\n"}) is None
    assert judged(text, conftests={"conftest.py": conftest.replace("x()", "x(monkeypatch)")}) is None


def test_settings_that_load_plugins_leave_no_split_run() -> None:
    assert judged(FIT["a comparison"], settings=PytestSettings(plugins=("xdist",))) is None


def test_the_settings_file_goes_along() -> None:
    text = "[pytest]\nxfail_strict = true\n"
    found = planned({PATH: FIT["a comparison"]}, settings=PytestSettings(config="pytest.ini"), settings_text=text)
    assert found
    assert found.settings == {"pytest.ini": text}


def test_tests_in_a_package_have_no_split_run() -> None:
    assert judged(FIT["a comparison"], {"tests/__init__.py": ""}) is None


def test_old_tests_of_the_base_have_no_split_run() -> None:
    tests = {PATH: FIT["a comparison"]}
    files = [SuiteFile(role=Role.REGRESSION, path=PATH, staged=PATH, text=tests[PATH], original=tests[PATH])]
    assert planned(tests, files) is None
    assert planned(tests, prepared(tests, Role.REGRESSION)) is None


def test_own_tests_have_one() -> None:
    tests = {PATH: FIT["a comparison"]}
    found = planned(tests, prepared(tests, Role.OWN))
    assert found
    assert found.whole


def test_a_run_is_whole_only_if_every_test_of_every_file_is_judged() -> None:
    fit, mixed = (
        FIT["a comparison"],
        FIT["a comparison"] + NOT_JUDGED["output"].removeprefix(HEAD).replace("_one", "_x"),
    )
    for texts, whole in (((fit,), True), ((fit, fit), True), ((mixed,), False), ((fit, UNFIT["chance"]), False)):
        found = planned({f"tests/test_{number}.py": text for number, text in enumerate(texts)})
        assert found
        assert found.whole is whole


def test_a_file_that_may_make_tests_is_never_the_whole() -> None:
    made = FIT["a comparison"] + "\n\nfor name in ['a']:\n    def test_more():\n        assert f(1) == 2\n"
    found = planned({PATH: made})
    assert found is None or not found.whole


@pytest.mark.parametrize(
    ("text", "is_simple"),
    [
        (FIT["a comparison"], True), (FIT["an import in a test"], True), (FIT["raises"], False),
        (FIT["parameters"], False), (FIT["a temporary folder"], False), (FIT["hypothesis"], False),
        (FIT["a comparison"] + "\n\ndef setup_module():\n    pass\n", False),
        (f"{HEAD}\nclass TestF:\n    def test_one(self):\n        assert f(1) == 2\n", False),
    ],
)  # fmt: skip
def test_only_functions_that_can_be_called_as_they_are_do_without_pytest(text: str, is_simple: bool) -> None:
    tests = {PATH: text}
    files = prepared(tests)
    found = planned(tests, files)
    assert found
    names = tuple(files[0].names)
    assert found.simple == ({files[0].staged: names, files[0].must_fail_path: names} if is_simple else {})
    assert not (conftested := planned(tests, files, conftests={"conftest.py": ""})) or not conftested.simple
