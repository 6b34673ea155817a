from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.sandbox import choose
from tests.support.sandboxes import runtime

ROOT = Path(__file__).resolve().parents[2]


async def test_auto_takes_the_strongest_that_passes(folder: Path) -> None:
    choice = await choose("auto", runtime=runtime(), scratch=folder)
    assert choice.sandbox is not None, choice.report
    assert choice.sandbox.name == "bubblewrap"
    assert "FAILED" not in choice.report


async def test_the_weakest_is_taken_only_by_its_name_and_says_what_is_open(folder: Path) -> None:
    choice = await choose("process", runtime=runtime(), scratch=folder)
    assert choice.sandbox is not None
    assert choice.sandbox.name == "process"
    assert "FAILED network" in choice.report


async def test_an_unknown_name_is_an_error(folder: Path) -> None:
    with pytest.raises(KeyError):
        await choose("vault", runtime=runtime(), scratch=folder)


WITHOUT = """
import asyncio, os, pathlib, sys
os.environ['PATH'] = '/nowhere'
from nightshift.sandbox import choose
from nightshift.sandbox.runtime import open_runtime
choice = asyncio.run(choose('auto', runtime=open_runtime(pathlib.Path('.runner')), scratch=pathlib.Path('/nowhere')))
print(choice.sandbox, choice.report)
"""


async def test_without_bubblewrap_nothing_is_executed_and_the_report_says_what_to_install() -> None:
    runtime()
    argv = [sys.executable, "-c", WITHOUT]
    done = await asyncio.to_thread(subprocess.run, argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("None bubblewrap: bwrap, prlimit")
    assert "nothing is executed; to run tasks, install bubblewrap: `sudo apt-get install" in done.stdout


PLAIN_USER = """
import asyncio, pathlib, sys
from nightshift.sandbox import choose
from nightshift.sandbox.runtime import open_runtime
folder = pathlib.Path(sys.argv[1])
choice = asyncio.run(choose('auto', runtime=open_runtime(pathlib.Path('.runner')), scratch=folder))
print(choice.sandbox is not None, choice.report)
"""


async def test_a_plain_user_has_the_strong_sandbox_too(folder: Path) -> None:
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    # The shell between: root's right to open any file lasts until the first exec after it was dropped.
    become = [*drop, "/bin/sh", "-c", 'exec "$@"', "sh"] if os.geteuid() == 0 else []
    program = [*runtime().python, "-B", "-c", PLAIN_USER, str(folder)]
    env = {"PATH": "/usr/bin:/bin", "API_KEY": "a secret of the daemon's"}
    done = await asyncio.to_thread(subprocess.run, [*become, *program], cwd=ROOT, env=env, capture_output=True)
    assert done.stdout.startswith(b"True bubblewrap"), done.stderr
    assert b"FAILED" not in done.stdout
