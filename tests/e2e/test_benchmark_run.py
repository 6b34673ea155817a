"""The benchmark as its owner uses it: mined, run with two arms, killed, gone on with, and reported."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmark.store import BenchmarkStore, Mode, RunState
from config import settings_at
from settings.places import find_places
from tests.support.daemon import ROOT, Daemon, settings_for, until
from tests.support.git_repo import git, make_repo, write
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer

RATES = {"net": "total - 1", "gross": "total + 2", "half": "total // 2"}
WRONG = "gross"
"""What the model never gets right."""


def shop(folder: Path) -> Path:
    """A repository with a commit for each function, with a test of it."""
    repo = make_repo(folder, {"price.py": '"""Prices."""\n', "README.md": "# Shop\n"})
    text = '"""Prices."""\n'
    for name, rate in RATES.items():
        text += f"\n\ndef {name}(total):\n    return {rate}\n"
        tests = (
            f"from price import {name}\n\n\ndef test_{name}():\n    assert {name}(8) == {eval(rate, {'total': 8})}\n"
        )
        tests += f"    assert {name}(20) == {eval(rate, {'total': 20})}\n"
        write(repo, {"price.py": text, f"test_{name}.py": tests})
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", f"Add {name}() to price.py")
    return repo


def answer(phase: str, messages: list[dict[str, Any]]) -> str:
    """The model: right but for one function, whose test, where it writes one, believes what it wrote."""
    if phase == "REFLECTING":
        return json.dumps({
            "error_pattern": "wrong", "root_cause": "unknown", "hypothesis": "none", "suggested_fix": "try again",
        })  # fmt: skip
    words = "\n".join(message["content"] for message in messages)
    name = next((name for name in RATES if f"Add {name}()" in words), "")
    if phase == "TESTING":
        wanted = {n: n if name == WRONG else eval(RATES[name], {"total": n}) for n in (3, 8, 20)}
        checks = "".join(f"    assert {name}({n}) == {value}\n" for n, value in wanted.items())
        return f"```python path=test_{name}_own.py\nfrom price import {name}\n\n\ndef test_{name}():\n{checks}```"
    if phase != "CODING":
        return "1. Write the function."
    head, rate = '"""Prices."""', "total" if name == WRONG else RATES[name]
    body = f"\n\n\ndef {name}(total):\n    return {rate}"
    return f"```python path=price.py\n<<<<<<< SEARCH\n{head}\n=======\n{head}{body}\n>>>>>>> REPLACE\n```"


def bench(home: Daemon, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "bench", *words], env=home.environment(), cwd=home.home,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def said(process: subprocess.Popen[bytes]) -> str:
    out, _ = process.communicate(timeout=600)
    return out.decode()


@pytest.mark.parametrize("mode", list(Mode))
def test_a_run_that_is_killed_goes_on_without_a_lost_or_doubled_item(tmp_path: Path, mode: Mode) -> None:
    runtime()  # the command takes it as it is
    repo = shop(tmp_path / "shop")
    with WireServer(answer) as server:
        home = Daemon(tmp_path / "home", settings_for(server, MAX_ITERATIONS="2"))
        home.home.mkdir()
        mined = bench(home, "mine", str(repo))
        assert "3 items" in said(mined)
        path = settings_at(find_places(home.home)).benchmark_db_path
        arms = tmp_path / "arms.yaml"
        arms.write_text(
            f"- {{name: plain, model: openai={server.model}, protocol: edit}}\n"
            f"- {{name: looking, model: openai={server.model}, protocol: edit, memory: true}}\n"
        )
        words = ("run", str(repo), "--arms", str(arms), "--mode", str(mode))
        for finished in (0, 2):
            process = bench(home, *words)
            until(lambda: process.poll() is not None or results(path) > finished, 300)  # noqa: B023  called at once
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()
        text = said(bench(home, *words))
        assert "done" in text, text
        with BenchmarkStore(path, readonly=True) as store:
            found, (run,) = store.results(mode=mode), store.runs()
            assert run.state is RunState.DONE
            assert Counter((one.item, one.arm) for one in found) == Counter(
                {(item.key, arm): 1 for item in store.items() for arm in ("plain", "looking")}
            )
            subjects = {item.key: item.subject for item in store.items()}
            assert {subjects[one.item] for one in found if not one.solved} == {f"Add {WRONG}() to price.py"}
        assert not (home.home / "state" / "benchmark" / run.key).exists()
        told = json.loads(said(bench(home, "report", str(repo), "--json")))
        assert {arm["arm"]["name"]: arm["solved"] for arm in told["arms"]} == {
            name: {"part": 2, "whole": 3} for name in ("plain", "looking")
        }


def results(path: Path) -> int:
    with BenchmarkStore(path, readonly=True) as store:
        return len(store.results())
