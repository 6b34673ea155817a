"""The command line as a script uses it: processes, pipes, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.client.command import commands
from nightshift.core.version import VERSION
from tests.support.home import ROOT, Home


def test_the_status_without_a_daemon_comes_from_the_database_with_exit_code_3(home: Home) -> None:
    home.run("Create a health check")
    result = home.run("--status")
    assert result.code == 3
    assert result.out.startswith("state       Offline\nqueue       1 queued\n")
    assert "note: daemon stopped, as of 20" in result.out


def test_alone_in_a_pipe_it_reads_nothing_and_shows_its_help(home: Home) -> None:
    result = home.run(stdin="Delete everything\n")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("Usage: ./cli.py COMMAND")
    assert not (home.path / "db").exists()


def test_the_help_lists_every_command_on_one_screen(home: Home) -> None:
    result = home.run("help")
    lines = result.out.splitlines()
    assert (result.code, len(lines) <= 40, max(map(len, lines)) <= 80) == (0, True, True), result.out
    words = set(result.out.replace(",", " ").split())
    assert {name for name, command in commands().commands.items() if not command.hidden} <= words
    heads = [line for line in lines[1:] if line == line.lstrip()][:-2]
    assert heads == ["Tasks", "See what happens", "Decide", "Commits", "The daemon"]


def test_the_help_of_each_command_fits_eighty_columns(home: Home) -> None:
    for name in commands().commands:
        result = home.cli("help", name)
        assert (result.code, result.err) == (0, "")
        assert max(map(len, result.out.splitlines())) <= 80, result.out


def test_the_completion_script_names_the_program(home: Home) -> None:
    for result in (home.run("completion", "bash"), home.run("--completion", "bash")):
        assert result.code == 0
        assert "_NIGHTSHIFT_COMPLETE" in result.out
        assert "cli.py" in result.out


def complete(home: Home, line: str) -> list[str]:
    """List the completions that bash gets at the end of a line."""
    word_index = str(line.count(" "))
    result = home.run(_NIGHTSHIFT_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=word_index)
    return [offer.partition(",")[2] for offer in result.out.split()]


def test_a_shell_is_offered_commands_options_and_the_numbers_of_tasks(home: Home) -> None:
    home.cli("Create a health check")
    home.cli("add", "another")
    assert complete(home, "cli.py sta") == ["status"]
    assert complete(home, "cli.py --st") == ["--status"]
    assert complete(home, "cli.py memory ex") == ["export"]
    assert complete(home, "cli.py logs --le") == ["--level"]
    assert complete(home, "cli.py logs --level e") == ["error"]
    assert complete(home, "cli.py show ") == ["2", "1"]
    assert complete(home, "cli.py retry 1 ") == ["2", "1"]


def test_a_shell_is_offered_nothing_where_there_is_no_database(home: Home) -> None:
    assert complete(home, "cli.py show ") == []
    assert not (home.path / "db").exists()


def test_a_reader_that_goes_away_ends_it_without_an_error(home: Home) -> None:
    home.run("task one")
    script = f"timeout 60 {sys.executable} {ROOT / 'cli.py'} --logs --follow | head -1"
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path)}
    argv = ["bash", "-c", f"set -o pipefail; {script}"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "Traceback" not in done.stderr


def test_it_finds_its_own_environment_from_any_python(home: Home) -> None:
    other = Path(sys.base_prefix) / "bin" / "python3"
    own = ROOT / ".venv" / "bin" / "python"
    if not own.exists() or Path(sys.prefix) != own.parent.parent:
        pytest.skip("this checkout has no environment of its own")
    done = subprocess.run([other, "-S", ROOT / "cli.py", "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == f"Nightshift {VERSION}\n", done.stderr


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
