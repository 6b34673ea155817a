from __future__ import annotations

import pytest

from languages.python import pytest_settings
from languages.python.pytest_settings import PytestSettings


def read(**files: str) -> PytestSettings:
    named = {name.replace("__", "."): text for name, text in files.items()}
    return pytest_settings.read(named.get)


def test_without_settings_the_usual_ones_hold() -> None:
    assert read() == read(pyproject__toml="[project]\n") == PytestSettings()


@pytest.mark.parametrize(
    "files",
    [
        {"pytest__ini": "[pytest]\npython_files = check_*.py\naddopts = -p one -ptwo -p no:three -x --cov=%s\n"},
        {"tox__ini": "[tox]\n[pytest]\npython_files = check_*.py\naddopts = -p one -ptwo\n"},
        {"setup__cfg": "[tool:pytest]\npython_files =\n    check_*.py\naddopts = -p one -ptwo\n"},
        {"pyproject__toml": "[tool.pytest.ini_options]\npython_files = 'check_*.py'\naddopts = '-p one -ptwo'\n"},
        {"pyproject__toml": "[tool.pytest]\npython_files = ['check_*.py']\naddopts = '-p one -ptwo'\n"},
        {"pytest__toml": "[pytest]\npython_files = ['check_*.py']\naddopts = ['-p', 'one', '-ptwo']\n"},
    ],
)
def test_every_kind_of_file_is_read(files: dict[str, str]) -> None:
    found = read(**files)
    assert found.config == next(iter(files)).replace("__", ".")
    assert found.files == ("check_*.py",)
    assert found.plugins == ("one", "two")


def test_the_first_file_counts_even_when_it_says_nothing() -> None:
    found = read(pytest__ini="", pyproject__toml="[tool.pytest.ini_options]\npython_files = 'x.py'\n")
    assert (found.config, found.files) == ("pytest.ini", PytestSettings().files)


def test_a_broken_file_says_nothing() -> None:
    assert read(pyproject__toml="[tool.pytest", tox__ini="nonsense").config is None


def test_names_are_matched_as_pytest_does() -> None:
    found = PytestSettings(functions=("test", "*_spec"), classes=("Test", "*Suite"), files=("test_*.py", "checks/*.py"))
    assert [found.is_function(n) for n in ("test_a", "testing", "it_works_spec", "check")] == [True, True, True, False]
    assert [found.is_class(n) for n in ("TestA", "AddSuite", "Helper")] == [True, True, False]
    assert [found.is_suite(p) for p in ("a/test_b.py", "checks/x.py", "a/b.py")] == [True, True, False]


def test_import_paths_and_mode_are_taken_over() -> None:
    found = read(pytest__ini="[pytest]\npythonpath = src lib\naddopts = --import-mode=importlib\n")
    assert (found.paths, found.import_mode) == (("src", "lib"), "importlib")
