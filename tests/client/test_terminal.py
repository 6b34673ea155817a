"""A person's terminal: colours, tables, the prompt."""

from __future__ import annotations

import re
import sys
import time

from tests.support.home import ROOT, Home
from tests.support.terminal import Terminal


def terminal(home: Home, *arguments: str, **environment: str) -> Terminal:
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path), **environment}
    return Terminal([sys.executable, str(ROOT / "cli.py"), *arguments], env)


def test_a_terminal_gets_colours_and_a_table(home: Home) -> None:
    home.cli("do it")
    home.cli("--cancel", "1")
    with terminal(home, "--history") as shown:
        code, text = shown.rest()
    assert code == 0
    assert "\x1b[2mcancelled" in text
    assert "─" in text


def test_a_long_description_is_cut_to_the_terminal_and_whole_in_a_pipe(home: Home) -> None:
    home.cli("word " * 100)
    with terminal(home, "--history") as shown:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.rest()[1]).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[-1].rstrip().endswith("word wo…")
    assert home.run("--history").out.count("word") == 100


def test_the_prompt_takes_tasks_and_commands_until_ctrl_d(home: Home) -> None:
    with terminal(home) as shown:
        shown.expect("nightshift> ")
        for line, answer in (
            ("do it", "task 1 queued"),
            ("/history", "do it"),
            ("/cancel 1", "task 1 cancelled"),
            ("/cancel 1", "error: task 1 is cancelled"),
            ("/show", "Missing argument 'NAME'"),
            ("/cancel x", "'x' is not a whole number"),
            ("/logs 0", "'0' is not a whole number"),
            ("/status 3", "unexpected extra argument"),
            ("/show 7", "error: there is no task 7"),
            ("/logs 1", "task_moved"),
            ("/pause", "paused"),
            ("/resume", "not paused"),
            ("/answer 9", "the answer is empty"),
            ("/answer 9 use port 80", "error: there is no approval 9"),
            ("/answer use port 80", "'use' is not a whole number"),
            ("/flush", "/flush is not a command"),
            ("/help", "cancel, retry ID"),
        ):
            shown.type(line + "\n")
            shown.expect(answer)
            shown.expect("nightshift> ")
        shown.type("\x04")
        assert shown.rest()[0] == 0


def test_following_the_log_goes_on_until_ctrl_c(home: Home) -> None:
    home.cli("add", "first")
    with terminal(home, "--logs", "-f") as shown:
        shown.expect("first")
        home.cli("add", "second")
        shown.expect("second")
        with home.daemon() as context:
            time.sleep(0.5)
            context.queue.cancel(1).result()
            shown.expect("task_moved")
        home.cli("add", "third")
        shown.expect("third")
        shown.interrupt()
        assert shown.rest()[0] == 130
