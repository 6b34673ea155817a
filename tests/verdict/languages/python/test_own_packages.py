"""Which packages of a tree the test libraries have as well."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nightshift.verdict.languages.python.own_packages import NAMES, found_in, why_not_judged
from nightshift.verdict.languages.test_config import SEALED_NAMES
from tests.support.sandboxes import runtime

PROJECT = '[project]\nname = "My.Own-Package"\nversion = "1"\n'


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"src/packaging/__init__.py": "", "src/packaging/version.py": ""}, {"packaging": "src"}),
        ({"iniconfig/__init__.py": "", "testing/test_it.py": ""}, {"iniconfig": "."}),
        ({"py.py": ""}, {"py": "."}),
        ({"pyproject.toml": '[tool.setuptools]\npackage-dir = {"" = "lib"}\n', "lib/tomli.py": ""}, {"tomli": "lib"}),
        ({"pyproject.toml": PROJECT, "my_own_package/__init__.py": ""}, {"my_own_package": "."}),
        ({"src/_pytest/__init__.py": "", "src/pytest/__init__.py": ""}, {"_pytest": "src", "pytest": "src"}),
        # what lies elsewhere is imported from nowhere, and a folder hides no package of its name
        ({"docs/packaging/__init__.py": "", "src/app/packaging/__init__.py": ""}, {}),
        ({"packaging/build.py": "", "packaging/debian/rules": "", "app.py": ""}, {}),
        ({"packaging/__init__.py": "", "src/app/__init__.py": ""}, {}),
        ({"packaging/__init__.py": "", "src/main.js": ""}, {"packaging": "."}),
        ({"packaging.js": "", "version.py": "", "pyproject.toml": PROJECT}, {}),
    ],
)
def test_packages_are_found_where_they_are_imported_from(files: Mapping[str, str], found: Mapping[str, str]) -> None:
    assert found_in(files, files.get) == found


def test_folders_that_the_settings_of_pytest_name_are_looked_at_too() -> None:
    files = {"python/pygments/__init__.py": ""}
    assert found_in(files, files.get) == {}
    assert found_in(files, files.get, ["python"]) == {"pygments": "python"}


def test_only_what_the_runner_consists_of_is_not_judged_and_the_owner_is_told_where_it_lies() -> None:
    assert why_not_judged({"packaging": "src", "pygments": "."}) == ""
    said = why_not_judged({"packaging": "src", "pluggy": "src", "hypothesis": "."})
    assert "`hypothesis` (hypothesis) and `pluggy` (src/pluggy)" in said
    assert "packaging" not in said


def test_every_module_of_the_test_libraries_is_known_by_its_name() -> None:
    folder = next(mount.host for mount in runtime().mounts if mount.inside in runtime().libraries)
    there = {path.name.partition(".")[0] for path in folder.iterdir() if path.suffix in {"", ".py"}}
    assert SEALED_NAMES - there == {"nightshift_inside"}
    assert {name for name in there if not name.startswith("_hypothesis")} - {"bin", "__pycache__"} <= NAMES
