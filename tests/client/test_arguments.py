"""The arguments of a command line select the intended command, and a misspelt command never becomes a task."""

from __future__ import annotations

import io
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.client.arguments import ALIASES, INSTEAD, Arguments, Unclear
from nightshift.client.command import commands
from tests.support.home import ROOT, Home
from tests.support.terminal import Terminal

ARGUMENTS = Arguments(commands())

# Each pair has a command in the form of the owner's documents, and the same command in the current syntax.
DOCUMENTED = [
    (["Create a FastAPI health check endpoint"], ["add", "Create a FastAPI health check endpoint"]),
    (["--priority", "5", "Fix critical authentication bug"], ["add", "-p", "5", "Fix critical authentication bug"]),
    (["--status"], ["status"]),
    (["--logs", "50"], ["logs", "50"]),
    (["--pause"], ["pause"]),
    (["--resume"], ["resume"]),
    (["--load-tasks", "tasks.yaml"], ["load-tasks", "tasks.yaml"]),
]
TASKS_FILE = """\
tasks:
  - description: "Create a user registration API with email validation"
    priority: 2
    metadata:
      category: "api"

  - description: "Add unit tests for the payment processing module"
    priority: 1
"""


@pytest.mark.parametrize(("written", "new"), DOCUMENTED, ids=" ".join)
def test_every_command_of_the_owners_documents_works_as_written_and_in_its_new_form(
    home: Home, written: list[str], new: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.path / "tasks.yaml").write_text(TASKS_FILE)
    monkeypatch.chdir(home.path)
    with home.daemon():
        before, after = home.cli(*written), home.cli(*new)
        queued = home.cli("--history", "--json").json
    assert (before.code, after.code) == (0, 0), before.err + after.err
    texts = {task["description"]: task["priority"] for task in queued}
    if "--load-tasks" in written:
        assert texts == {
            "Create a user registration API with email validation": 2,
            "Add unit tests for the payment processing module": 1,
        }
        assert len(queued) == 2, "an entry is added once, whichever way it is asked for"
    elif "add" in new:
        assert texts == {written[-1]: 5 if "--priority" in written else 1}
        assert len(queued) == 2
    else:
        assert queued == []


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["--logs", "-f"], ["logs", "-f"]),
        (["--logs=30", "--level", "ERROR", "--follow"], ["logs", "30", "--level", "ERROR", "--follow"]),
        (["--json", "--show", "7"], ["show", "--json", "7"]),
        (["--answer", "4", "port 8080"], ["answer", "4", "port 8080"]),
        (["--retry-failed"], ["retry", "--failed"]),
        (["--fork", "7:3", "--model", "m"], ["fork", "7:3", "--model", "m"]),
        (["--json", "status"], ["status", "--json"]),
        (["--home", "/srv/n", "memory", "export", "-"], ["memory", "export", "--home", "/srv/n", "--", "-"]),
        (["do it", "-p5", "--no-review"], ["add", "-p5", "--no-review", "--", "do it"]),
        (["--", "--logs is slow"], ["add", "--", "--logs is slow"]),
        (["do it", "--help"], ["add", "--help", "--", "do it"]),
        (["retry 3 times when the request fails"], ["add", "--", "retry 3 times when the request fails"]),
    ],
)
def test_what_was_typed_becomes_a_command(typed: list[str], wanted: list[str]) -> None:
    assert ARGUMENTS.arrange(typed) == wanted


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["statsu"], ["status"]),
        (["/status"], ["status"]),
        (["lgos"], ["logs"]),
        (["shwo 7"], ["show 7"]),
        (["Retry #7"], ["retry #7"]),
        (["verify main"], ["verify main"]),
        (["fix", "the", "bug"], []),
        (["refactoring"], []),
    ],
)
def test_a_slip_is_no_task_and_tells_what_may_have_been_meant(typed: list[str], meant: list[str]) -> None:
    arrangement = ARGUMENTS.arrange(typed)
    assert isinstance(arrangement, Unclear)
    assert list(arrangement.meant) == meant


@given(st.text(min_size=1).filter(lambda word: len(word.split()) == 1 and word.strip() != "-"))
def test_no_single_word_is_a_task_before_a_person_says_so(word: str) -> None:
    for typed in ([word], ["--priority", "5", word], [word, "--json"], ["--", word]):
        try:
            arrangement = ARGUMENTS.arrange(typed)
        except click.UsageError:
            continue
        assert isinstance(arrangement, Unclear) or arrangement[0] != "add" or word.strip() == "add"


@given(st.sampled_from(sorted({*commands().commands, *ALIASES})), st.integers(1, 99_999))
def test_no_command_with_a_number_is_a_task_however_it_is_quoted(name: str, number: int) -> None:
    arrangement = ARGUMENTS.arrange([f"{name} {number}"])
    assert isinstance(arrangement, Unclear)


@pytest.mark.parametrize("word", ["statsu", "ls", "exit", *INSTEAD])
def test_a_word_alone_queues_nothing_in_a_pipe(home: Home, word: str) -> None:
    result = home.cli(word)
    assert result.code in {0, 2, 3}
    assert not (home.path / "db").exists()
    if result.code == 2:
        assert "add it as a task: ./cli.py add " in result.err.lower()


@pytest.mark.parametrize("older", [["--status"], ["--logs", "7"], ["--retry", "7"]])
def test_an_older_option_takes_no_task_beside_it(home: Home, older: list[str]) -> None:
    result = home.cli(*older, "do it now", "and this")
    assert result.code != 0
    assert not (home.path / "db").exists() or not home.cli("--history", "--json").json


def test_a_terminal_asks_before_a_word_becomes_a_task(home: Home) -> None:
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path)}
    argv = [sys.executable, str(ROOT / "cli.py"), "statsu"]
    for answer, code in (("\n", 2), ("n\n", 2), ("y\n", 0)):
        with Terminal(argv, env) as shown:
            shown.expect("Did you mean ./cli.py status?")
            shown.expect("Add “statsu” as a task? [y/N]")
            shown.type(answer)
            assert shown.rest()[0] == code
    assert [task["description"] for task in home.cli("list", "--json").json] == ["statsu"]


def test_a_task_comes_from_the_standard_input_and_from_an_editor(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"statsu\n")))
    assert home.cli("add", "-").out == "task 1 queued\n"
    assert "describe the task" in home.cli("add").err
    editor = home.path / "editor"
    editor.write_text(
        '#!/bin/sh\n{ echo "Fix the pager"; echo "# by Friday"; cat "$1"; } > "$1.new"\nmv "$1.new" "$1"\n'
    )
    editor.chmod(0o755)
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path), "EDITOR": str(editor)}
    with Terminal([sys.executable, str(ROOT / "cli.py"), "add", "--priority", "3"], env) as shown:
        assert shown.rest()[0] == 0
    env["EDITOR"] = "true"
    with Terminal([sys.executable, str(ROOT / "cli.py"), "add"], env) as shown:
        code, text = shown.rest()
    assert (code, "nothing was written" in text) == (2, True)
    tasks = [(task["description"], task["priority"]) for task in home.cli("list", "--json").json]
    assert tasks == [("Fix the pager\n# by Friday", 3), ("statsu", 1)]
