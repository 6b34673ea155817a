"""Files submitted with a task are rejected if they cannot be parsed."""

from __future__ import annotations

import pytest

from nightshift.core.code.given_files import unreadable
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Language

BROKEN = "def test_a(:\n    pass\n"


def refuse(**task: object) -> dict[str, str]:
    with pytest.raises(InvalidTask) as caught:
        parse_spec({"description": "Write a", **task})
    return dict(caught.value.fields)


def test_a_test_with_a_syntax_error_is_refused_with_its_path_and_line() -> None:
    faults = refuse(tests={"tests/test_a.py": "def test_ok():\n    assert 1\n", "tests/test_b.py": "\n" + BROKEN})
    assert faults == {"tests.tests/test_b.py": "line 2: invalid syntax"}


@pytest.mark.parametrize("text", ["x = '\0'\n", "(" * 5000, "print 'old'\n"])
def test_whatever_python_cannot_read_is_refused(text: str) -> None:
    assert list(refuse(tests={"test_a.py": text})) == ["tests.test_a.py"]


@pytest.mark.parametrize("text", ["\ufeffdef test_a():\n    assert 1\n", "# -*- coding: latin-1 -*-\n", ""])
def test_what_python_reads_is_taken(text: str) -> None:
    assert parse_spec({"description": "a", "tests": {"test_a.py": text}}).tests == {"test_a.py": text}


def test_a_broken_start_file_is_refused_unless_the_task_is_about_it() -> None:
    why = refuse(files={"app.py": BROKEN})["files.app.py"]
    assert why.startswith("line 1: invalid syntax; correct it, or say")
    assert parse_spec({"description": "Mend the syntax error in app.py", "files": {"app.py": BROKEN}}).files


def test_what_steers_a_run_is_read_in_its_language() -> None:
    files = {"package.json": '{"type": "module",}', "pyproject.toml": "[tool", "a.py": BROKEN, "data.json": "{"}
    assert list(unreadable(Language.JAVASCRIPT, {}, files, "Write a")) == ["files.package.json"]
    assert sorted(unreadable(Language.PYTHON, {}, files, "Write a")) == ["files.a.py", "files.pyproject.toml"]
