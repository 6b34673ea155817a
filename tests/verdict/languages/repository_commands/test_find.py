"""Commands found in the files of a tree, with their locations and their order."""

from __future__ import annotations

import pytest

from nightshift.core.code.repository_commands import Found, FoundCommand, Linter, Purpose
from nightshift.verdict.languages.repository_commands.find import find
from tests.support.trees import TextTree

AGENTS = """# For agents

Run the tests with `uv run pytest -q tests/unit` before you commit; one test with `pytest tests/unit/test_a.py::test_a`.

```bash
cd web && npm run lint   # not ours
make typecheck
```

```python
pytest = "no shell"
```
"""
PYPROJECT = """[project]
name = "shop"

[project.optional-dependencies]
dev = ["mypy==1.11.2", "pytest"]

[tool.pytest.ini_options]
testpaths = ["tests/unit", "tests/api/"]

[tool.ruff]
line-length = 100

[tool.ruff.lint]
select = ["E"]

[tool.mypy]
strict = true

[tool.poe.tasks]
test = "pytest --cov"
types = { cmd = "mypy src" }

[tool.pdm.scripts]
lint = { composite = ["x"], shell = "ruff check src" }

[tool.hatch.envs.dev.scripts]
unit = ["python -m unittest {args:discover}"]
"""
TOX = """[tox]
env_list = py311

[testenv]
commands =
    coverage run -m pytest {posargs:tests}

[testenv:style]
commands = flake8 shop
    mypy {envsitepackagesdir}

[flake8]
max-line-length = 100
"""
NOX = """import nox

@nox.session(python=["3.11"])
def tests(session):
    session.install(".")
    session.run("pytest", "-x", *session.posargs)

@nox.session
def style(session):
    session.run("ruff", "check", ".")

def helper(session):
    session.run("mypy", ".")
"""
MAKEFILE = """PYTHON ?= python
check: lint test
.PHONY: check test
lint typecheck: build
\truff check .
test := no target
test:
\tpytest
"""
PACKAGE = """{
  "name": "shop",
  "test": "not here",
  "scripts": {
    "build": "tsc -p .",
    "test": "vitest run",
    "lint": "eslint . && prettier --check ."
  }
}
"""
WORKFLOW = """on: push
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e .
      - name: test
        run: |
          echo begin
          python -m pytest --color=yes
      - run: ruff check ${{ matrix.folder }}
      - run: npx tsc --noEmit
"""
HOOKS = """repos:
  - repo: https://github.com/astral-sh/ruff-pre-commit
    rev: v0.6.9
    hooks:
      - id: ruff
        args: [--fix]
      - id: ruff-format
  - repo: https://github.com/pre-commit/mirrors-mypy
    rev: abcdef0
    hooks: [{id: mypy}]
"""
GITLAB = """test:
  script:
    - cargo test --all
"""


def first(tree: Found, purpose: Purpose) -> tuple[tuple[str, ...], str]:
    command = tree.command(purpose)
    assert command is not None
    return command.words, command.location


def in_tree(files: dict[str, str]) -> Found:
    return find(TextTree(files))


def test_agents_md_names_commands_in_back_ticks_and_blocks_of_shell() -> None:
    got = in_tree({"AGENTS.md": AGENTS})
    assert [(each.purpose, each.words, each.line) for each in got.commands] == [
        (Purpose.TEST, ("pytest", "-q", "tests/unit"), 3),
        (Purpose.LINT, ("sh", "-c", "cd web && npm run lint"), 6),
        (Purpose.TYPES, ("make", "typecheck"), 7),
    ]


def test_pyproject_names_tasks_linters_versions_and_test_paths_with_their_lines() -> None:
    got = in_tree({"pyproject.toml": PYPROJECT})
    assert [(each.purpose, each.words, each.line) for each in got.commands] == [
        (Purpose.TEST, ("pytest", "--cov"), 20),
        (Purpose.TYPES, ("mypy", "src"), 21),
        (Purpose.LINT, ("ruff", "check", "src"), 24),
        (Purpose.TEST, ("python", "-m", "unittest"), 27),
    ]
    assert [(each.linter, each.line, each.version) for each in got.linters] == [
        (Linter.RUFF, 10, ""), (Linter.MYPY, 16, "1.11.2"),
    ]  # fmt: skip
    assert got.test_paths is not None
    assert (got.test_paths.paths, got.test_paths.location) == (("tests/unit", "tests/api"), "pyproject.toml:8")


def test_tox_names_what_its_environments_run_without_its_own_words() -> None:
    got = in_tree({"tox.ini": TOX})
    assert [(each.purpose, each.words, each.line) for each in got.commands] == [
        (Purpose.TEST, ("coverage", "run", "-m", "pytest", "tests"), 6),
        (Purpose.LINT, ("flake8", "shop"), 9),
    ]
    assert [(each.linter, each.line) for each in got.linters] == [(Linter.FLAKE8, 12)]


def test_a_noxfile_is_read_as_text_and_only_its_sessions_count() -> None:
    got = in_tree({"noxfile.py": NOX + "\nraise SystemExit('was executed')\n"})
    assert [(each.purpose, each.words, each.line) for each in got.commands] == [
        (Purpose.TEST, ("pytest", "-x"), 6), (Purpose.LINT, ("ruff", "check", "."), 10),
    ]  # fmt: skip


def test_in_a_makefile_test_goes_before_check() -> None:
    got = in_tree({"Makefile": MAKEFILE})
    assert first(got, Purpose.TEST) == (("make", "test"), "Makefile:7")
    assert first(got, Purpose.LINT) == (("make", "lint"), "Makefile:4")
    assert first(got, Purpose.TYPES) == (("make", "typecheck"), "Makefile:4")
    assert ("make", "check") in [each.words for each in got.commands]


def test_scripts_of_package_json_are_given_as_their_text() -> None:
    got = in_tree({"package.json": PACKAGE})
    assert first(got, Purpose.TEST) == (("vitest", "run"), "package.json:6")
    assert first(got, Purpose.LINT) == (("sh", "-c", "eslint . && prettier --check ."), "package.json:7")


def test_the_pipeline_names_its_run_lines() -> None:
    got = in_tree({".github/workflows/ci.yml": WORKFLOW, ".gitlab-ci.yml": GITLAB})
    assert [(each.purpose, each.words, each.location) for each in got.commands] == [
        (Purpose.TEST, ("python", "-m", "pytest", "--color=yes"), ".github/workflows/ci.yml:10"),
        (Purpose.TYPES, ("tsc", "--noEmit"), ".github/workflows/ci.yml:12"),
        (Purpose.TEST, ("cargo", "test", "--all"), ".gitlab-ci.yml:3"),
    ]


def test_hooks_tell_linters_and_their_versions() -> None:
    got = in_tree({".pre-commit-config.yaml": HOOKS, "pyproject.toml": "[tool.ruff]\n"})
    assert [(each.linter, each.location, each.version) for each in got.linters] == [
        (Linter.RUFF, "pyproject.toml:1", "0.6.9"), (Linter.MYPY, ".pre-commit-config.yaml:10", ""),
    ]  # fmt: skip


def test_a_go_module_has_tests_and_two_linters_without_a_word() -> None:
    got = in_tree({"go.mod": "module shop\n", "a.go": "package a\n"})
    assert first(got, Purpose.TEST) == (("go", "test", "./..."), "go.mod:1")
    assert {each.linter for each in got.linters} == {Linter.GOVET, Linter.GOFMT}


ORDER = [
    ("AGENTS.md", "`pytest agents`\n"), ("pyproject.toml", "[tool.poe.tasks]\ntest = 'pytest poe'\n"),
    ("package.json", '{"scripts": {"test": "vitest package"}}'), ("Makefile", "test:\n\tpytest\n"),
    ("tox.ini", "[testenv]\ncommands = pytest tox\n"),
    ("noxfile.py", "@nox.session\ndef t(session):\n    session.run('pytest', 'nox')\n"),
    (".github/workflows/ci.yml", "jobs: {a: {steps: [{run: pytest actions}]}}\n"),
    (".gitlab-ci.yml", "a: {script: pytest gitlab}\n"), ("Cargo.toml", "[package]\n"),
]  # fmt: skip


@pytest.mark.parametrize("left", range(len(ORDER)))
def test_the_first_of_the_files_in_order_counts(left: int) -> None:
    got = find(TextTree(dict(ORDER[left:])))
    assert first(got, Purpose.TEST)[1].partition(":")[0] == ORDER[left][0]


@pytest.mark.parametrize("line", [
    "pytest --version", "pre-commit install", "ruff format .", "echo pytest", "pip install pytest", "pytest path/to/x",
    "npm run build", "ruff check --fix .", "pytest 'unclosed", "x" * 3000 + "; pytest", "make <target>", "tests", "",
])  # fmt: skip
def test_what_is_no_command_for_a_purpose_is_left_out(line: str) -> None:
    assert in_tree({"AGENTS.md": f"```\n{line}\n```\n"}).commands == ()


@pytest.mark.parametrize(("line", "words"), [
    ("poetry run pytest -q", ("pytest", "-q")),
    ("uv run --extra dev --frozen python -m pytest", ("python", "-m", "pytest")),
    ("pdm run test", ("pdm", "run", "test")),
    ("CI=1 pytest", ("env", "CI=1", "pytest")),
    ("npx --yes vitest run", ("vitest", "run")),
    ("pip install -e . && pytest", ("pytest",)),
    ("$ python3 manage.py test shop", ("python3", "manage.py", "test", "shop")),
    ("./mvnw -q verify", ("./mvnw", "-q", "verify")),
    ("pytest -q | tail -5", ("sh", "-c", "pytest -q | tail -5")),
    ("npm run test:unit -- --ci", None),
])  # fmt: skip
def test_a_command_comes_without_what_makes_an_environment_for_it(line: str, words: tuple[str, ...] | None) -> None:
    got = in_tree({"AGENTS.md": f"```sh\n{line}\n```\n"}).command(Purpose.TEST)
    assert (got.words if got else None) == words


def test_a_long_file_and_a_folder_below_say_nothing() -> None:
    long = "`pytest`\n" + "x" * 300_000
    assert in_tree({"AGENTS.md": long, "sub/Makefile": "test:\n\tx\n"}).commands == ()


def test_bytes_of_no_encoding_are_read_past() -> None:
    got = find(TextTree({"AGENTS.md": "\udcff\udcfe `pytest`\n"}))
    assert got.commands == (FoundCommand(purpose=Purpose.TEST, words=("pytest",), path="AGENTS.md", line=1),)
