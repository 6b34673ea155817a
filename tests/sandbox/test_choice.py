from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Ended, SandboxJob, SandboxResult
from nightshift.sandbox import choice as choice_module
from nightshift.sandbox import choose
from nightshift.sandbox.choice import remedy
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
    assert done.stdout.startswith("None bubblewrap: this sandbox needs bwrap, prlimit")
    assert "Nightshift executes nothing; to run tasks, install bubblewrap: `sudo apt-get install" in done.stdout


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
    # Only the first exec after the change of the user id takes away root's right to open any file. The shell provides
    # that exec.
    become = [*drop, "/bin/sh", "-c", 'exec "$@"', "sh"] if os.geteuid() == 0 else []
    program = [*runtime().python, "-B", "-c", PLAIN_USER, str(folder)]
    env = {"PATH": "/usr/bin:/bin", "API_KEY": "a secret of the daemon's"}
    done = await asyncio.to_thread(subprocess.run, [*become, *program], cwd=ROOT, env=env, capture_output=True)
    assert done.stdout.startswith(b"True bubblewrap"), done.stderr
    assert b"FAILED" not in done.stdout


class Answering:
    """A sandbox whose runs all end in the same way."""

    name = "answering"

    def __init__(self, ended: Ended | None) -> None:
        self.ended = ended

    async def run(self, job: SandboxJob) -> SandboxResult:
        if self.ended is None:
            raise SandboxError("no namespaces for this user")
        return SandboxResult(exit_code=1, ended=self.ended, stdout=b"", stderr=b"", duration_s=10.0)


@pytest.mark.parametrize(
    ("ended", "is_late", "text"),
    [
        (Ended.TIMEOUT, True, "the machine is too busy for the self-test; Nightshift repeats the self-test"),
        (Ended.EXITED, False, remedy()),
        (None, False, "no namespaces for this user"),
    ],
)
async def test_a_self_test_that_is_late_is_told_from_one_that_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: Ended | None, is_late: bool, text: str
) -> None:
    monkeypatch.setitem(choice_module._MAKERS, "bubblewrap", lambda _: (Answering(ended), ""))
    choice = await choose("bubblewrap", runtime=runtime(), scratch=tmp_path)
    assert (choice.sandbox, choice.is_late) == (None, is_late)
    assert text in choice.report
