"""The command line as a script meets it: processes, pipes, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.home import ROOT, Home


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Home:
    return Home(path=tmp_path, capture=capsys)


def test_a_task_added_without_a_daemon_waits_in_the_queue(home: Home) -> None:
    result = home.run("Create a health check")
    assert (result.code, result.out) == (0, "task 1 queued\n")
    assert result.err == "the daemon is not running; the task waits in the queue until it starts\n"


def test_the_status_without_a_daemon_comes_from_the_database_with_exit_code_3(home: Home) -> None:
    home.run("Create a health check")
    result = home.run("--status")
    assert result.code == 3
    assert result.out.startswith("state       stopped\nqueue       1 queued\n")
    assert "note: daemon stopped, as of 20" in result.out


def test_alone_in_a_pipe_it_reads_nothing_and_shows_its_help(home: Home) -> None:
    result = home.run(stdin="Delete everything\n")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("Usage: cli.py [OPTIONS] [TASK]")
    assert not (home.path / "db").exists()


def test_help_groups_the_options_and_gives_examples_and_exit_codes(home: Home) -> None:
    result = home.run("--help")
    assert result.code == 0
    headings = [line for line in result.out.splitlines() if line.endswith(":") and line == line.lstrip()]
    assert headings == [
        *("New task:", "More about a new task:", "Looking:", "What was learned:", "Steering:"),
        *("The daemon itself:", "Output:"),
    ]
    assert 'cli.py --run "Write fizzbuzz" && echo it passed' in result.out
    assert "5 refused" in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_names_the_program(home: Home, shell: str) -> None:
    result = home.run("--completion", shell)
    assert result.code == 0
    assert "_CLI_PY_COMPLETE" in result.out


def test_the_shell_is_given_the_options_that_fit(home: Home) -> None:
    result = home.run(_CLI_PY_COMPLETE="bash_complete", COMP_WORDS="cli.py --st", COMP_CWORD="1")
    assert result.out.split() == ["plain,--status"]


def test_a_reader_that_goes_away_ends_it_without_an_error(home: Home) -> None:
    home.run("task one")
    script = f"timeout 10 {sys.executable} {ROOT / 'cli.py'} --logs --follow | head -1"
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path)}
    argv = ["bash", "-c", f"set -o pipefail; {script}"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "Traceback" not in done.stderr


def test_a_pipe_of_another_encoding_gets_escapes_instead_of_an_error(home: Home) -> None:
    home.run("größer → kleiner")
    result = home.run("--history", PYTHONIOENCODING="ascii")
    assert result.code == 0
    assert result.out.endswith("gr\\xf6\\xdfer \\u2192 kleiner\n")


def test_it_finds_its_own_environment_from_any_python(home: Home) -> None:
    other = Path(sys.base_prefix) / "bin" / "python3"
    own = ROOT / ".venv" / "bin" / "python"
    if not own.exists() or Path(sys.prefix) != own.parent.parent:
        pytest.skip("this checkout has no environment of its own")
    done = subprocess.run([other, "-S", ROOT / "cli.py", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == "Nightshift 0.1.0\n", done.stderr


def test_wrong_settings_are_named_and_exit_with_2(home: Home) -> None:
    result = home.run("--status", FLASK_PORT="many", WORKER_COUNT="0")
    assert result.code == 2
    assert "FLASK_PORT" in result.err
    assert "WORKER_COUNT" in result.err
    assert "Traceback" not in result.err


def test_a_damaged_database_is_reported_without_a_traceback(home: Home) -> None:
    (home.path / "db").mkdir()
    (home.path / "db" / "agent_logs.sqlite").write_bytes(b"not a database" * 100)
    result = home.run("--status", "--json")
    assert (result.code, result.out) == (1, "")
    assert "damaged" in json.loads(result.err)["error"]
