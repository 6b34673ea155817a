"""Readers of command files accept any text.

They neither fail nor run the text, finish quickly, and report only commands on lines of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.repository_commands import FoundCommand, FoundLinter
from nightshift.verdict.languages.repository_commands import lines, readers

Reader = Callable[[str, str], Iterable[FoundCommand | FoundLinter]]
READERS: dict[Reader, str] = {
    readers.markdown: "AGENTS.md", readers.makefile: "Makefile", readers.tox: "tox.ini", readers.nox: "noxfile.py",
    readers.package_json: "package.json", readers.project_tasks: "pyproject.toml", readers.pipelines: "ci.yml",
    readers.hooks: ".pre-commit-config.yaml", readers.project_linters: "pyproject.toml",
    readers.ini_linters: "setup.cfg",
}  # fmt: skip
PIECES = st.sampled_from([
    "pytest", "`pytest -q`", "```sh\n", "```\n", "~~~", "[testenv]\n", "[testenv:x]\n", "commands =",
    "commands = pytest\n", "[tool.poe.tasks]\n", "[tool.ruff]\n", "test = ", '"pytest"', "'", '"', "test:", "\n", "\t",
    "  ", "- ", "run: ", "run: |\n", "repos:\n", "hooks:", "id: mypy", "&a ", "*a", "{", "}", "[", "]", ":",
    "@nox.session\n", "def t(session):\n", "    session.run('pytest', '-q')\n", '{"scripts": {"test": "jest"}}',
    "!!python/object/apply:os.system ['true']", "\0", "\ud800", "\udcff", "%", "é", "\\\n", "#", "&& ", "<<: *a",
    "---\n", "testpaths", "=", "{posargs:tests}", "\r\n",
])  # fmt: skip
TEXTS = st.one_of(st.lists(PIECES, max_size=40).map("".join), st.text(max_size=300))


@given(TEXTS)
def test_any_text_is_read_or_left_and_lines_are_its_own(text: str) -> None:
    for reader, path in READERS.items():
        for command in reader(text, path):
            assert 1 <= command.line <= text.count("\n") + len(text.splitlines()) + 1
            assert command.path == path


@given(st.text(max_size=200))
def test_any_line_is_split_into_words_or_left(text: str) -> None:
    for command in lines.commands(text, "AGENTS.md", 1):
        assert command.words
        assert all(command.words)


BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(12)
)


@pytest.mark.parametrize("text", [
    BOMB + "run: pytest\n", "[" * 30_000,
    "&a [*a]", "!!python/object/apply:os.system ['touch /tmp/x']",
])  # fmt: skip
def test_hostile_yaml_ends_and_makes_nothing(text: str) -> None:
    list(readers.hooks(text, "h.yaml"))
    assert len(list(readers.pipelines(text, "ci.yml"))) <= 1


@pytest.mark.parametrize("text", [
    "a = " + "[" * 50_000, "a." * 20_000 + "b = 1", "[tool]\npoe = 'x'\nhatch = []\n",
    "[tool.hatch.envs]\nx = 1\n[tool.mypy]\n[[tool.ruff]]\n",
])  # fmt: skip
def test_hostile_toml_is_left(text: str) -> None:
    assert list(readers.project_tasks(text, "pyproject.toml")) == []
    assert {each.linter.value for each in readers.project_linters(text, "pyproject.toml")} <= {"mypy"}


@pytest.mark.parametrize(
    "text", ["{" * 50_000, '{"scripts": [1]}', '{"scripts": {"test": 5}}', "[]", '{"scripts"', "1e999"]
)
def test_hostile_json_is_left(text: str) -> None:
    assert list(readers.package_json(text, "package.json")) == []


@pytest.mark.parametrize("text", [
    "  x\n[testenv]\n", "[testenv]\ncommands = %(x)s {[other]commands}\n",
    "[DEFAULT]\ncommands = pytest\n", "[a]\n" * 5_000,
])  # fmt: skip
def test_hostile_ini_is_left(text: str) -> None:
    assert list(readers.tox(text, "tox.ini")) == []
