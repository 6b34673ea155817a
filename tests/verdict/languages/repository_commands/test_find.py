"""Commands found in the files of a tree, with their locations and their order."""

from __future__ import annotations

import pytest

from nightshift.core.code.repository_commands import Found, Linter, Purpose
from nightshift.verdict.languages.repository_commands.find import find
from tests.support.trees import TextTree

TEST, LINT, TYPES = Purpose.TEST, Purpose.LINT, Purpose.TYPES
AGENTS = """Run `uv run pytest -q tests/unit` before you commit; one test with `pytest tests/unit/test_a.py::test_a`.

```bash
cd web && npm run lint   # not ours
make typecheck
```

```python
pytest = "no shell"
```
"""
PYPROJECT = """[project.optional-dependencies]
dev = ["mypy==1.11.2", "pytest"]
[tool.pytest.ini_options]
testpaths = ["tests/unit", "tests/api/"]
[tool.ruff]
[tool.ruff.lint]
[tool.mypy]
[tool.poe.tasks]
test = "pytest --cov"
types = { cmd = "mypy src" }
[tool.pdm.scripts]
lint = { composite = ["x"], shell = "ruff check src" }
[tool.hatch.envs.dev.scripts]
unit = ["python -m unittest {args:discover}"]
"""
TOX = """[testenv]
commands =
    coverage run -m pytest {posargs:tests}
[testenv:style]
commands = flake8 shop
    mypy {envsitepackagesdir}
[flake8]
"""
NOX = """@nox.session(python=["3.11"])
def tests(session):
    session.install(".")
    session.run("pytest", "-x", *session.posargs)
def helper(session):
    session.run("mypy", ".")
raise SystemExit('was executed')
"""
MAKEFILE = """check: lint test
.PHONY: check test
lint typecheck: build
\truff check .
test := no target
test:
\tpytest
"""
PACKAGE = """{
  "test": "not here",
  "scripts": {
    "build": "tsc -p .",
    "test": "vitest run",
    "lint": "eslint . && prettier --check ."
  }
}
"""
WORKFLOW = """jobs:
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
      - id: ruff-format
  - repo: https://github.com/pre-commit/mirrors-mypy
    rev: abcdef0
    hooks: [{id: mypy}]
"""


def in_tree(files: dict[str, str]) -> Found:
    return find(TextTree(files))


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("AGENTS.md", AGENTS, [(TEST, "pytest -q tests/unit", 1), (TYPES, "make typecheck", 5)]),
        ("pyproject.toml", PYPROJECT,
         [(TEST, "pytest --cov", 9), (TYPES, "mypy src", 10), (LINT, "ruff check src", 12),
          (TEST, "python -m unittest", 14)]),
        ("tox.ini", TOX, [(TEST, "coverage run -m pytest tests", 3), (LINT, "flake8 shop", 5)]),
        ("noxfile.py", NOX, [(TEST, "pytest -x", 4)]),
        ("Makefile", MAKEFILE,
         [(TEST, "make test", 6), (TEST, "make check", 1), (LINT, "make lint", 3), (TYPES, "make typecheck", 3)]),
        ("package.json", PACKAGE, [(TEST, "vitest run", 5)]),
        (".github/workflows/ci.yml", WORKFLOW,
         [(TEST, "python -m pytest --color=yes", 9), (TYPES, "tsc --noEmit", 11)]),
        (".gitlab-ci.yml", "test:\n  script:\n    - cargo test --all\n", [(TEST, "cargo test --all", 3)]),
        ("go.mod", "module shop\n", [(TEST, "go test ./...", 1)]),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)  # fmt: skip
def test_the_commands_of_a_file_are_found_with_their_lines(
    path: str, text: str, expected: list[tuple[Purpose, str, int]]
) -> None:
    got = [(each.purpose, " ".join(each.words), each.line) for each in in_tree({path: text}).commands]
    assert [command for command in got if not command[1].startswith("sh -c ")] == expected


def test_a_line_of_several_commands_is_run_by_a_shell() -> None:
    for files in ({"AGENTS.md": AGENTS}, {"package.json": PACKAGE}):
        command = in_tree(files).command(LINT)
        assert command is not None
        assert command.words[:2] == ("sh", "-c")
        assert "&&" in command.words[2]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pyproject.toml": PYPROJECT},
         [(Linter.RUFF, "pyproject.toml:5", ""), (Linter.MYPY, "pyproject.toml:7", "1.11.2")]),
        ({"tox.ini": TOX}, [(Linter.FLAKE8, "tox.ini:7", "")]),
        ({".pre-commit-config.yaml": HOOKS, "pyproject.toml": "[tool.ruff]\n"},
         [(Linter.RUFF, "pyproject.toml:1", "0.6.9"), (Linter.MYPY, ".pre-commit-config.yaml:9", "")]),
    ],
)  # fmt: skip
def test_linters_are_found_with_their_versions(files: dict[str, str], expected: list[tuple[Linter, str, str]]) -> None:
    assert [(each.linter, each.location, each.version) for each in in_tree(files).linters] == expected


def test_the_paths_of_tests_are_found_in_the_settings_of_pytest() -> None:
    paths = in_tree({"pyproject.toml": PYPROJECT}).test_paths
    assert paths is not None
    assert (paths.paths, paths.location) == (("tests/unit", "tests/api"), "pyproject.toml:4")


def test_test_paths_that_lead_out_or_hold_patterns_are_not_taken() -> None:
    for value in ("../x", "/etc", "t*", ".", "a/../../b"):
        assert in_tree({"pytest.ini": f"[pytest]\ntestpaths = tests {value}\n"}).test_paths is None, value
    test_paths = in_tree({"pytest.ini": "[pytest]\ntestpaths = ./tests/ unit\n"}).test_paths
    assert test_paths is not None
    assert test_paths.paths == ("tests", "unit")


ORDER = [
    ("AGENTS.md", "`pytest agents`\n"), ("pyproject.toml", "[tool.poe.tasks]\ntest = 'pytest poe'\n"),
    ("package.json", '{"scripts": {"test": "vitest package"}}'), ("Makefile", "test:\n\tpytest\n"),
    ("tox.ini", "[testenv]\ncommands = pytest tox\n"), ("noxfile.py", NOX), (".github/workflows/ci.yml", WORKFLOW),
    (".gitlab-ci.yml", "a: {script: pytest gitlab}\n"), ("Cargo.toml", "[package]\n"),
]  # fmt: skip


def test_the_first_of_the_files_in_order_counts() -> None:
    for left in range(len(ORDER)):
        command = in_tree(dict(ORDER[left:])).command(TEST)
        assert command is not None
        assert command.path == ORDER[left][0]


@pytest.mark.parametrize("line", [
    "pytest --version", "ruff format .", "echo pytest", "pytest path/to/x", "npm run build", "ruff check --fix .",
    "pytest 'unclosed", "x" * 3000 + "; pytest", "make <target>",
])  # fmt: skip
def test_what_is_no_command_for_a_purpose_is_left_out(line: str) -> None:
    assert in_tree({"AGENTS.md": f"```\n{line}\n```\n"}).commands == ()


@pytest.mark.parametrize(("line", "words"), [
    ("poetry run pytest -q", ("pytest", "-q")),
    ("uv run --extra dev --frozen python -m pytest", ("python", "-m", "pytest")),
    ("pdm run test", ("pdm", "run", "test")),
    ("CI=1 pytest", ("env", "CI=1", "pytest")),
    ("pip install -e . && pytest", ("pytest",)),
    ("$ python3 manage.py test shop", ("python3", "manage.py", "test", "shop")),
    ("pytest -q | tail -5", ("sh", "-c", "pytest -q | tail -5")),
    ("npm run test:unit -- --ci", None),
])  # fmt: skip
def test_a_command_comes_without_what_makes_an_environment_for_it(line: str, words: tuple[str, ...] | None) -> None:
    got = in_tree({"AGENTS.md": f"```sh\n{line}\n```\n"}).command(TEST)
    assert (got.words if got else None) == words


def test_a_long_file_and_a_folder_below_say_nothing() -> None:
    long = "`pytest`\n" + "x" * 300_000
    assert in_tree({"AGENTS.md": long, "sub/Makefile": "test:\n\tx\n"}).commands == ()
