"""The commands in README, typed as printed, by an owner with the home and repository that README describes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import REFLECTION
from tests.support.daemon import ROOT, Daemon, git, settings_for, until
from tests.support.wire_server import WireServer

BUG = """class Cart:
    def __init__(self, items, discount=0):
        self.items, self.discount = items, discount

    def total(self):
        if len(self.items) == 1:
            return self.items[0]
        return sum(self.items) - self.discount
"""
FIX = BUG.replace("        if len(self.items) == 1:\n            return self.items[0]\n", "")
SHOP = {
    "cart.py": BUG,
    "test_cart.py": "from cart import Cart\n\n\ndef test_total():\n    assert Cart([1, 2], 1).total() == 2\n",
    "tests/test_pager.py": "from pager import pages\n\n\ndef test_pages():\n    assert pages(11, 5) == 3\n",
}
CODE = {
    "Cart.total ignores": ("cart.py", FIX),
    "off-by-one in pager.py": ("pager.py", "def pages(count, size):\n    return -(-count // size)\n"),
    "Write slugify(text)": ("slug.py", "def slugify(text):\n    return '-'.join(text.lower().split())\n"),
    "health check endpoint": ("health.py", "def health():\n    return {'status': 'ok'}\n"),
}
"""Maps a phrase of a task's description to the model's code for that task, as a pair of path and text."""
TESTS = {
    "Cart.total ignores": "from cart import Cart\n\n\ndef test_one_item():\n    assert Cart([5], 1).total() == 4\n",
    "Write slugify(text)": "from slug import slugify\n\n\ndef test_slugify():\n    assert slugify('A b') == 'a-b'\n",
    "health check endpoint": "from health import health\n\n\ndef test_it():\n    assert health()['status'] == 'ok'\n",
}
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("nightshift ")
]
REFUSED = {
    "nightshift retry 7": "task 7 is done",
    "nightshift integrate 5": "main is checked out in",
}
"""The commands that cannot succeed in this home, with the reason that they print."""


def answer(phase: str, messages: list[dict[str, str]]) -> str:
    """Answer as a model that knows the tasks in README."""
    asked = "".join(message["content"] for message in messages)
    name = next((name for name in CODE if name in asked), "")
    if phase == "REFLECTING" or not name:
        return f"```json\n{REFLECTION}\n```"
    if phase == "PLANNING":
        return "1. Write it."
    path, code = CODE[name]
    if phase == "TESTING":
        return f"```python path=test_new_{path}\n{TESTS[name]}```"
    return f"Summary: Do what was asked for\n\n```python path={path}\n{code}```"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of an owner with a repository in `~/src/shop` and `nightshift` on the `PATH`."""
    folder = tmp_path_factory.mktemp("owner")
    shop = folder / "src" / "shop"
    for path, text in SHOP.items():
        (shop / path).parent.mkdir(parents=True, exist_ok=True)
        (shop / path).write_text(text)
    git(shop, "init", "-q", "-b", "main")
    git(shop, "config", "user.name", "Owner")
    git(shop, "config", "user.email", "owner@example.org")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "First")
    program = folder / "bin" / "nightshift"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "cli.py"} "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def daemon(owner: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that has finished the four tasks of `tasks.yaml`."""
    home = tmp_path_factory.mktemp("home") / "home"
    home.mkdir()
    shutil.copy(ROOT / "tasks.yaml", home)
    with WireServer(answer) as server:
        path = f"{owner / 'bin'}:{os.environ['PATH']}"
        settings = settings_for(server, HOME=str(owner), PATH=path, MODEL_TYPE="repair,openai")
        with Daemon(home, settings) as running:
            until(lambda: len(running.get("/api/tasks")["tasks"]) == 4, 60)
            running.wait(1, 2, 3, 4)
            yield running


def goes_on(line: str) -> bool:
    """Check whether a command runs until it gets Ctrl-C."""
    return any(option in line.partition("#")[0] for option in ("--watch", "--follow"))


def run_line(daemon: Daemon, owner: Path, line: str) -> tuple[int, str]:
    """Run a line in `~/src/shop`; return its exit code and output.

    Ctrl-C ends a command that does not end on its own.
    """
    env = {**daemon.environment(), "FLASK_PORT": daemon.url.rsplit(":", 1)[1]}
    process = subprocess.Popen(
        ["bash", "-c", f"exec {line}"], env=env, cwd=owner / "src" / "shop", text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    first = process.stdout.readline() if process.stdout and goes_on(line) else ""
    if first:
        process.send_signal(signal.SIGINT)
    printed = first + process.communicate(timeout=300)[0]  # `communicate` sets the exit code
    return process.returncode, printed


def test_every_command_of_the_readme_works_as_printed(daemon: Daemon, owner: Path) -> None:
    assert [task["status"] for task in daemon.get("/api/tasks")["tasks"]] == ["done"] * 4, "as README says"
    for line in COMMANDS:
        code, printed = run_line(daemon, owner, line)
        why = next((why for command, why in REFUSED.items() if line.startswith(command)), "")
        if why:
            assert (code != 0, why in printed) == (True, True), f"{line}\n{printed}"
        else:
            assert (code, bool(printed)) == (130 if goes_on(line) else 0, True), f"{line}\n{printed}"
        if added := re.search(r"^task (\d+) queued", printed, re.MULTILINE):
            daemon.wait(int(added[1]))
    assert git(owner / "src" / "shop", "branch", "--list", "agent/5-*"), "the branch that README names"
    assert any(line.startswith("nightshift verify agent/5-") for line in COMMANDS)


def test_what_readme_says_of_names_holds(daemon: Daemon, owner: Path) -> None:
    for command in ("show agent/5-", "diff 5-cart", "review agent/5-cart", "verify 5"):
        assert run_line(daemon, owner, f"nightshift {command}")[0] == 0, command
