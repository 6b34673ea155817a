from __future__ import annotations

import pytest

from nightshift.verdict.languages.test_config import MAX_FILE_BYTES, list_settings, sift

BASE = {
    "app.py": "", "conftest.py": "x = 1\n", "setup.cfg": "[metadata]\nname = a\n", "tests/test_old.py": "",
    "pyproject.toml": "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q'\n", "calendar.py": "",
    "pkg/ab_test.py": '"""Test groups."""\n\n\ndef group(): pass\n',
}  # fmt: skip
GIVEN = {"tests/test_given.py": "def test_a(): pass\n"}


def reason(path: str, text: str | None = "", given: dict[str, str] | None = None) -> str | None:
    sifted = sift({path: text}, base=BASE.get, given=GIVEN if given is None else given)
    assert (path in sifted.staged) + (path in sifted.dropped) <= 1
    return sifted.dropped.get(path)


@pytest.mark.parametrize(
    "path",
    [
        "new.py", "pkg/__init__.py", "data/a.json", "README.md", "src/pkg/json.py", "pkg/conf.py", "docs/test/notes.md",
        "requirements.txt", "calendar.py", ".gitignore", "html/page.html", "testsuite.py",
        "pkg/ab_test.py", "code/split.py", "src/profile/feed.py", "packaging/debian.py",
    ],
)  # fmt: skip
def test_sources_are_kept(path: str) -> None:
    assert reason(path) is None


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("pkg/conftest.py", "steers"), ("sitecustomize.py", "steers"), ("evil.pth", "steers"),
        ("x.dist-info/entry_points.txt", "belongs to an installation"),
        ("venv/bin/python", "belongs to an installation"), ("packaging/__init__.py", "test library"),
        ("json.py", "standard module"), ("src/code/__init__.py", "standard module"),
        ("pkg/thing_test.py", "tests come from"), ("tests/solution.py", "folder of the given tests"),
        ("tests/test_given.py", "one of the task's tests"), (".git/hooks/pre-commit", "not allowed"),
    ],
)  # fmt: skip
def test_what_could_steer_the_tests_is_dropped_with_its_reason(path: str, why: str) -> None:
    assert why in (reason(path, "changed") or "")


def test_a_module_of_the_product_takes_no_tests() -> None:
    example = '"""\n>>> group()\n"""\n'
    for text in (
        "def test_a(): pass\n",
        "assert group()\n",
        "globals()[f'test_{1}'] = 1\n",
        example,
        "def (",
        "from t import *\n",
    ):
        assert "tests come from" in (reason("pkg/ab_test.py", text) or ""), text


def test_the_same_text_as_before_is_no_fault() -> None:
    assert reason("conftest.py", BASE["conftest.py"]) is None
    assert reason("tests/test_given.py", GIVEN["tests/test_given.py"]) is None
    assert reason("conftest.py", None) == "steers how tests are run", "removing one steers as well"


def test_project_files_are_kept_unless_their_part_for_pytest_differs() -> None:
    same = BASE["pyproject.toml"].replace("'a'", "'b'")
    assert reason("pyproject.toml", same) is None
    assert reason("pyproject.toml", same.replace("-q", "--collect-only")) == "changes pytest's settings"
    assert reason("setup.cfg", BASE["setup.cfg"] + "[tool:pytest]\naddopts = -x\n") == "changes pytest's settings"
    assert reason("tox.ini", "[tox]\nenvlist = py\n") is None


def test_settings_of_the_runner_are_staged_where_that_is_allowed() -> None:
    paths = "tests/conftest.py pytest.ini tox.ini sitecustomize.py a.pth ../pytest.ini"
    change = dict.fromkeys(paths.split(), "")
    sifted = sift({**change, "pyproject.toml": "[tool.pytest]\n"}, base=BASE.get, given=GIVEN, allows=lambda *_: True)
    assert set(sifted.dropped) == {"sitecustomize.py", "a.pth", "../pytest.ini"}
    coverage = {"pyproject.toml": BASE["pyproject.toml"] + "[tool.coverage.run]\n", ".coveragerc": "[run]\n"}
    more = {"tox.ini": "[coverage:run]\na = 1\n", "pytest.ini": "", "setup.cfg": BASE["setup.cfg"] + "x = 1\n"}
    assert set(list_settings({**coverage, **more}, BASE.get)) == {*coverage, "tox.ini", "pytest.ini"}


def test_tests_beside_the_code_do_not_close_its_folder() -> None:
    assert reason("pkg/helper.py", "", {"pkg/test_helper.py": ""}) is None
    assert reason("helper.py", "", {"test_helper.py": ""}) is None


def test_too_much_is_dropped() -> None:
    assert "too large" in (reason("big.txt", "x" * (MAX_FILE_BYTES + 1)) or "")
    many = sift({f"{n}.txt": "x" * (1 << 20) for n in range(20)}, base=BASE.get, given={})
    assert len(many.staged) == 16
