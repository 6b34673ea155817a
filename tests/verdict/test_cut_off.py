"""What limits of time cut off: who is to blame, what runs again, and that no limit makes a pass."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.isolation import RunLimits, SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import Result, SuiteJob, Verdict
from nightshift.verdict import time_limits
from nightshift.verdict.judging import LIMIT
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import ISOLATIONS, opened, runtime
from tests.support.trees import TextTree

RIGHT = "def add(a, b):\n    return a + b\n"
WORK = """import time


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""
GIVEN = {
    "test_given.py": "from solution import add\n\n\n"
    + "\n\n".join(f"def test_{name}(capsys):\n    assert add({n}, 3) == {n + 3}\n" for n, name in enumerate("abcd"))
}
APART = {path: text.replace("(capsys)", "()") for path, text in GIVEN.items()}
A, B, C, D = (f"test_given.py::test_{name}" for name in "abcd")
ENDLESS = "def add(a, b):\n    while a == 2:\n        pass\n    return a + b\n"


@dataclass
class Noted:
    """A real sandbox, with a note of what each run in it was told, and whether it was to be alone."""

    sandbox: Sandbox
    told: list[tuple[list[str], float, bool]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.sandbox.name

    async def run(self, job: SandboxJob) -> SandboxResult:
        length, _, rest = job.stdin.partition(b"\n")
        told = json.loads(rest[: int(length)])
        self.told.append((told["session"]["files"], told["cpu_s"], job.alone))
        return await self.sandbox.run(job)


@pytest.fixture
def box(sandbox: Sandbox) -> Noted:
    return Noted(sandbox)


def runner(box: Sandbox, folder: Path) -> SuiteRunner:
    return SuiteRunner(
        box, runtime(), emit=lambda _: None, staging_dir=folder / "staging", times=folder / "suite_times.json"
    )


def job(code: str, given: dict[str, str] | None = None, *, cpu_s: float, **more: Any) -> SuiteJob:
    change = {"solution.py": code}
    told = {"change": change, "given": GIVEN if given is None else given, "limits": RunLimits(cpu_s=cpu_s), **more}
    return SuiteJob(base=TextTree(), **told)


def results(verdict: Verdict) -> dict[str, Result]:
    return {case.id: case.result for case in verdict.results}


@contextlib.contextmanager
def busy_machine() -> Iterator[None]:
    """Three programs for each core that never rest."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.full
async def test_a_busy_machine_fails_no_suite(box: Noted, folder: Path) -> None:
    code = f"{WORK}\n\ndef add(a, b):\n    work(0.3)\n    return a + b\n"
    with busy_machine():
        verdict = await runner(box, folder).judge(job(code, cpu_s=3))
    assert verdict.passed, verdict.reason
    assert not any(alone for _, _, alone in box.told)


async def test_a_suite_that_waits_longer_than_its_limit_passes_if_it_does_something_now_and_then(
    box: Noted, folder: Path
) -> None:
    code = f"{WORK}\n\ndef add(a, b):\n    time.sleep(0.5)\n    work(0.1)\n    return a + b\n"
    verdict = await runner(box, folder).judge(job(code, cpu_s=1.2))
    assert verdict.passed, verdict.reason


async def test_an_endless_test_is_run_again_alone_and_the_others_are_not_charged(box: Noted, folder: Path) -> None:
    verdict = await runner(box, folder).judge(job(ENDLESS, cpu_s=1))
    assert not verdict.passed
    assert verdict.reason == (
        f"the tests were cut off after 1 s of processor time ({LIMIT}); it was in {C}, which was cut off alone as well"
        "; 1 of 4 tests were not reached"
    )
    assert results(verdict) == {A: Result.PASSED, B: Result.PASSED, C: Result.ERROR, D: Result.NOT_REACHED}
    assert verdict.failing == {C}
    assert [(failure.id, failure.kind) for failure in verdict.failures] == [(C, "Timeout")]
    *_, again = box.told
    assert again[0][0].partition("::")[2], "the test alone"
    assert [alone for _, _, alone in box.told] == [False] * (len(box.told) - 1) + [True]


async def test_a_test_that_is_endless_with_some_code_is_known_the_next_time_and_looked_at_anew_with_other_code(
    box: Noted, folder: Path
) -> None:
    judge = runner(box, folder)
    await judge.judge(job(ENDLESS, cpu_s=1))
    count = len(box.told)
    verdict = await judge.judge(job(ENDLESS, cpu_s=1))
    assert "cut off alone as well, after 1 s of processor time" in verdict.reason
    assert "in an earlier run of the same files" in verdict.reason
    assert not any(alone for _, _, alone in box.told[count:])
    count = len(box.told)
    await judge.judge(job(ENDLESS + "# changed\n", cpu_s=1))
    assert any(alone for _, _, alone in box.told[count:])


async def test_a_test_that_waits_for_ever_is_named_with_what_was_seen(box: Noted, folder: Path) -> None:
    code = "import time\n\n\ndef add(a, b):\n    print('waits', flush=True)\n    time.sleep(1000 * (a == 1))\n"
    code += "    return a + b\n"
    verdict = await runner(box, folder).judge(job(code, APART, cpu_s=1))
    assert f"cut off after 1 s in which they used no processor time ({LIMIT}); it was in {B}" in verdict.reason
    assert verdict.failing == {B}
    assert verdict.failures[0].output == "waits"


FORKS = """import os


def add(a, b):
    for _ in range(6):
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
    os.wait()
"""


@pytest.mark.parametrize("name", ISOLATIONS)
async def test_time_that_children_burn_counts_in_every_isolation(name: str, folder: Path) -> None:
    async with opened(name, folder) as box:
        verdict = await runner(box, folder).judge(job(FORKS, cpu_s=1))
    assert not verdict.passed
    assert "cut off after 1 s of processor time" in verdict.reason
    assert verdict.failing == {A}
    assert verdict.not_reached == {B, C, D}


async def test_tests_that_take_too_long_together_are_not_charged_one_by_one(box: Noted, folder: Path) -> None:
    code = f"{WORK}\n\ndef add(a, b):\n    work(0.7)\n    return a + b\n"
    verdict = await runner(box, folder).judge(job(code, cpu_s=1.6))
    assert not verdict.passed
    assert "which comes to its end alone: together the tests take too long" in verdict.reason
    assert not verdict.failing
    assert Result.NOT_REACHED in results(verdict).values()
    assert {C, D} & verdict.not_reached
    assert [failure.id for failure in verdict.failures] == ["test_given.py"]


async def test_a_failure_behind_a_cut_off_is_found_by_the_run_alone(
    box: Noted, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limits, "FIRST_S", 0.5)
    code = f"{WORK}\n\ndef add(a, b):\n    work(1.0 * (a == 0))\n    return a + b + (a == 3)\n"
    verdict = await runner(box, folder).judge(job(code, cpu_s=20))
    assert verdict.reason == "1 failed of 4 tests"
    assert verdict.failing == {D}


async def test_a_slow_honest_suite_passes_and_has_a_limit_of_its_own_the_next_time(
    box: Noted, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limits, "FIRST_S", 0.5)
    code = f"{WORK}\n\ndef add(a, b):\n    work(1.0 * (a == 0))\n    return a + b\n"
    verdict = await runner(box, folder).judge(job(code, cpu_s=30))
    assert verdict.passed, verdict.reason
    limits = [cpu_s for _, cpu_s, _ in box.told]
    assert limits[0] == 0.5
    assert set(limits) == {0.5, 30}
    assert all(alone is (cpu_s == 30) for _, cpu_s, alone in box.told)
    box.told.clear()
    verdict = await runner(box, folder).judge(job(code, cpu_s=30))
    assert verdict.passed, verdict.reason
    assert not any(alone for _, _, alone in box.told), "one look was enough"


async def test_a_limit_that_was_learned_is_named_as_such_and_the_whole_one_decides(
    box: Noted, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limits, "SHORTEST_S", 1.0)
    judge = runner(box, folder)
    assert (await judge.judge(job(RIGHT, cpu_s=2))).passed
    verdict = await judge.judge(job(ENDLESS, cpu_s=2))
    assert "cut off after 1 s of processor time (earlier passing runs took at most 0." in verdict.reason
    assert f"cut off alone as well, after 2 s of processor time ({LIMIT})" in verdict.reason


async def test_a_module_whose_import_never_ends_is_no_tests_fault(box: Noted, folder: Path) -> None:
    verdict = await runner(box, folder).judge(job("while True:\n    pass\n", cpu_s=1))
    assert "it was collecting the tests" in verdict.reason
    assert verdict.not_reached == {A, B, C, D}


async def test_a_command_that_is_cut_off_runs_again_alone(box: Noted, folder: Path) -> None:
    command = ("python", "-c", "while True: pass")
    verdict = await runner(box, folder).judge(job(RIGHT, {}, cpu_s=1, command=command))
    assert f"the tests were cut off after 1 s of processor time ({LIMIT})" in verdict.reason
    assert [alone for _, _, alone in box.told] == [False, True]


async def test_javascript_is_cut_off_by_processor_time_as_well(box: Noted, folder: Path) -> None:
    tests = "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport {add} from '../add.mjs';\n"
    tests += "".join(
        f"test('{name}', () => {{ assert.equal(add({n}, 1), {n + 1}); }});\n" for n, name in enumerate("ab")
    )
    code = "export function add(a, b) { while (a === 1); return a + b; }\n"
    verdict = await runner(box, folder).judge(
        SuiteJob(
            base=TextTree(), change={"add.mjs": code}, given={"test/a.test.mjs": tests}, language=Language.JAVASCRIPT,
            limits=RunLimits(cpu_s=2),
        )
    )  # fmt: skip
    assert f"cut off after 2 s of processor time ({LIMIT}); it was in test/a.test.mjs::b" in verdict.reason
    assert [failure.id for failure in verdict.failures] == ["test/a.test.mjs::b"]
