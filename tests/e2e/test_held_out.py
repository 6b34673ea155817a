"""Held-out cases end to end: a table of the shown results fails, and a general rule ends in a verified commit."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer

WORDS = ("owl", "badger", "fox", "hedgehog", "marten", "lynx", "otter", "stoat")


def task(name: str) -> dict[str, object]:
    checks = "".join(f"    assert twice({word!r}) == {f'{word}-{word}'!r}\n" for word in WORDS)
    tests = f"from {name} import twice\n\n\ndef test_twice():\n{checks}"
    words = f"Write twice() in {name}.py: the text two times, with a hyphen between."
    return {"description": words, "tests": {f"test_{name}.py": tests}, "limits": {"iterations": 2, "attempts": 1}}


class Model:
    """A model that answers `table` tasks with a table of the shown results, and `rule` tasks with a rule.

    `prompts` lists the prompts that it got.
    """

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        prompt = "\n".join(message["content"] for message in messages)
        with self._lock:
            self.prompts.append(prompt)
        if phase != "CODING":
            return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]
        if "rule.py" in prompt:
            return '```python path=rule.py\ndef twice(text):\n    return f"{text}-{text}"\n```'
        pairs = dict(re.findall(r"twice\('(\w+)'\) == '([\w-]+)'", prompt))
        return f"```python path=table.py\nKNOWN = {pairs!r}\n\n\ndef twice(text):\n    return KNOWN.get(text)\n```"


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def daemon(tmp_path: Path, model: Model) -> Iterator[Daemon]:
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server)) as running:
        yield running


def never_told(model: Model, file: str) -> set[str]:
    """Among the tests' words, return those that no prompt about this file contains."""
    text = "\n".join(prompt for prompt in model.prompts if file in prompt)
    return {word for word in WORDS if word not in text}


def test_a_table_is_never_committed_and_a_rule_is_verified(daemon: Daemon, model: Model) -> None:
    table, rule = daemon.wait(daemon.submit(**task("table")), daemon.submit(**task("rule")))
    assert (table["status"], table["commit"]) == ("failed", None)
    assert "held-out case of `twice` gives a value of the wrong type" in table["reason"]
    assert (rule["status"], rule["ending"], rule["iteration_count"]) == ("done", "committed", 1)
    hidden = never_told(model, "rule.py")
    assert len(hidden) == len(never_told(model, "table.py")) == 2  # a quarter of the words
    workspace = daemon.home / "workspace"
    assert "Verdict: verified" in git(workspace, "log", "-1", "--format=%B", rule["commit"])
    committed = git(workspace, "show", f"{rule['commit']}:test_rule.py")
    assert all(word in committed for word in WORDS)
    note = json.loads(git(workspace, "notes", "--ref=nightshift", "show", rule["commit"]))
    assert (note["evidence"]["label"], note["evidence"]["held_out"]) == ("verified", 2)
    assert {word for word in WORDS for case in note["held"]["cases"] if word in case["args"]} == hidden
    again = daemon.cli("verify", rule["commit"])
    assert again.returncode == 0, again.stdout
    assert "2 cases that no prompt showed gave the right value" in again.stdout
