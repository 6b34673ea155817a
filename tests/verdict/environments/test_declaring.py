"""Package declarations in dependency files: pinned, without duplicates, and only if one file clearly applies."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest

from nightshift.verdict.environments.declaring import with_packages

PYPROJECT = '[project]\nname = "shop"\ndependencies = [{inside}]\n\n[tool.black]\nline-length = 100\n'


def add(files: Mapping[str, str], *, own: bool = False, **packages: str) -> dict[str, str]:
    named = {name.replace("_", "-"): version for name, version in packages.items()}
    return with_packages(files, named, create=own, may_pin=own)


def test_a_package_is_appended_to_requirements_with_its_version() -> None:
    assert add({"requirements.txt": "# ours\nflask>=2"}, httpx="0.27") == {
        "requirements.txt": "# ours\nflask>=2\nhttpx==0.27\n"
    }


def test_what_is_declared_is_not_declared_again_however_it_is_spelt() -> None:
    assert add({"requirements.txt": "Python_Dateutil>=2\n"}, python_dateutil="2.9") == {}
    assert add({"requirements.txt": "x\n", "requirements-dev.txt": "httpx\n"}, httpx="1") == {}


def test_a_bare_line_is_pinned_in_the_workspace_and_left_in_a_repository_of_the_owner_s() -> None:
    files = {"requirements.txt": "pytest\nhttpx\n"}
    assert add(files, own=True, httpx="0.27") == {"requirements.txt": "pytest\nhttpx==0.27\n"}
    assert add(files, httpx="0.27") == {}


def test_a_file_is_made_only_in_the_workspace() -> None:
    assert add({}, own=True, httpx="0.27") == {"requirements.txt": "httpx==0.27\n"}
    assert add({}, httpx="0.27") == {}


@pytest.mark.parametrize(
    "inside", ["", '"flask", ', '\n    "rich[x]",  # a [comment] with "quotes"\n', '\n  "flask"  # last\n', "\n"]
)
def test_the_list_of_pyproject_gets_an_entry_and_nothing_else_changes(inside: str) -> None:
    before = PYPROJECT.format(inside=inside)
    after = add({"pyproject.toml": before}, httpx="0.27")["pyproject.toml"]
    old, new = tomllib.loads(before), tomllib.loads(after)
    assert new["project"].pop("dependencies") == [*old["project"].pop("dependencies"), "httpx==0.27"]
    assert new == old
    assert all(line[line.index("#") :] in after for line in before.splitlines() if "#" in line)


def test_where_it_is_not_clear_which_file_counts_none_is_changed() -> None:
    pyproject = PYPROJECT.format(inside='"flask"')
    assert add({"pyproject.toml": pyproject, "requirements.txt": "flask\n"}, httpx="1") == {}
    assert add({"pyproject.toml": '[project]\nname = "x"\ndynamic = ["dependencies"]\n'}, httpx="1") == {}
    assert add({"pyproject.toml": "no toml ["}, httpx="1") == {}
