"""Services in real runs: they start anew for each part of a run, are ready before its tests, and end with the part."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import SandboxError, ServiceFailed
from nightshift.core.isolation import Ended, RunLimits
from nightshift.core.shell import ShellJob
from nightshift.core.tasks.held_out import HeldOut, ValueCase
from nightshift.core.tasks.verdicts import Label, SuiteJob, Verdict
from nightshift.sandbox.nested import NestedSandbox
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.shell import ShellRunner
from tests.support.sandboxes import ISOLATIONS, bubblewrap, open_it, runtime
from tests.support.service_files import CLIENT, PATH, PORT, counter, declare, environments, python
from tests.support.trees import TextTree

LIMITS = RunLimits(cpu_s=30, memory_mb=256, pids=64)
TESTS = {"test_client.py": "from client import ask\n\n\ndef test_first():\n    assert ask('a') == '1'\n"}


class Runs:
    """Runs suites and commands on a tree with services, in one sandbox."""

    def __init__(self, sandbox: Any, folder: Path) -> None:
        self.environments: Environments = environments(folder)
        staging = folder / "staging"
        self.runner = SuiteRunner(
            sandbox, runtime(), emit=lambda _: None, staging_dir=staging, environments=self.environments
        )
        self.shell = ShellRunner(sandbox, runtime(), staging, environments=self.environments)

    async def judged(self, base: Mapping[str, str], tests: Mapping[str, str] = TESTS, **more: Any) -> Verdict:
        tree = TextTree(base)
        digest = (await self.environments.of(tree)).digest
        job_fields = {"change": {}, "limits": LIMITS, **more}
        return await self.runner.judge(SuiteJob(base=tree, given=tests, environment=digest, **job_fields))

    async def failure(self, **service: Any) -> str:
        """Return the error message that a service with these settings causes; it must not start."""
        with pytest.raises(ServiceFailed) as raised:
            await self.judged({"client.py": CLIENT, **declare({"counter": counter(**service)})})
        return str(raised.value)


@pytest.fixture
async def runs(folder: Path) -> AsyncIterator[Runs]:
    box = NestedSandbox(bubblewrap(), runtime())
    yield Runs(box, folder)
    await box.aclose()


@pytest.mark.parametrize("isolation", [name for name in ISOLATIONS if name != "process"])
async def test_each_part_of_a_run_has_services_of_its_own(isolation: str, folder: Path) -> None:
    (jobs := folder / "jobs").mkdir(mode=0o755)
    async with open_it(isolation, jobs) as box:
        runs = Runs(box, folder)
        base = {"client.py": CLIENT, **declare()}
        for _ in range(2):  # each part (split run, run, must-fail copies) has a fresh counter
            verdict = await runs.judged(base)
            assert verdict.passed, (verdict.reason, verdict.failures)
            assert verdict.evidence.twins == 1
        again = {"test_client.py": TESTS["test_client.py"].replace("'1'", "'2'")}
        assert not (await runs.judged(base, again)).passed
        digest = (await runs.environments.of(TextTree(base))).digest
        command = "python -c 'import client; print(client.ask(1), client.ask(2))'"
        result = await runs.shell.execute(
            ShellJob(command=command, base=TextTree(base), environment=digest, limits=LIMITS)
        )
        assert (result.output, result.exit_code, result.ended, result.files) == ("1 2\n", 0, Ended.EXITED, {})


async def test_the_process_isolation_says_that_it_has_no_services(folder: Path) -> None:
    (jobs := folder / "jobs").mkdir(mode=0o755)
    async with open_it("process", jobs) as box:
        with pytest.raises(ServiceFailed, match="the isolation `process` has no network of its own"):
            await Runs(box, folder).judged({"client.py": CLIENT, **declare()})


async def test_held_out_calls_have_services(runs: Runs) -> None:
    case = ValueCase(call="client:ask", args="('a',)", expect="'1'", explicit=True)
    verdict = await runs.judged({"client.py": CLIENT, **declare()}, held=HeldOut(cases=(case,), sources=("cases",)))
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.label is Label.VERIFIED


@pytest.mark.parametrize(
    "ready",
    [
        {"port": PORT},
        {"output": "it listens"},
        {"command": python(f"import socket; socket.create_connection(('127.0.0.1', {PORT}))")},
    ],
)
async def test_each_way_of_being_ready_is_waited_for(runs: Runs, ready: Mapping[str, Any]) -> None:
    slow = counter(ready=ready)
    slow["start"] = f"sleep 0.5; {slow['start']}"
    verdict = await runs.judged({"client.py": CLIENT, **declare({"counter": slow})})
    assert verdict.passed, (verdict.reason, verdict.failures)


async def test_what_is_prepared_is_there_and_variables_are_the_services_own(runs: Runs) -> None:
    service = counter(
        prepare='printf "$FIRST" > "$DATA/lines"; test "$HOME" = "$DATA"', environment={"FIRST": "one\\ntwo\\n"}
    )
    tests = {"test_client.py": "import os\nfrom client import ask\n\n\ndef test_third():\n    assert ask('a') == '3'\n"
                               "    assert 'FIRST' not in os.environ\n"}  # fmt: skip
    verdict = await runs.judged({"client.py": CLIENT, **declare({"counter": service})}, tests)
    assert verdict.passed, (verdict.reason, verdict.failures)


async def test_a_service_that_does_not_come_up_is_named_with_its_last_words(runs: Runs) -> None:
    late = await runs.failure(start="echo not today; sleep 60", start_s=1)
    assert late == "the service counter did not start: it was not ready within 1 s; it printed: not today"
    ended = await runs.failure(start="echo no disk >&2; exit 3")
    assert ended.startswith("the service counter did not start: it ended with exit status 3 before it was ready")
    assert ended.endswith("it printed: no disk")
    left = await runs.failure(start="sleep 60 & exit 0")
    assert "exit status 0 before it was ready; it has to stay in the foreground" in left
    unprepared = await runs.failure(prepare="echo no room; exit 1")
    assert unprepared.endswith("its preparation ended with exit status 1; it printed: no room")
    assert "its preparation took longer than 1 s" in await runs.failure(prepare="sleep 60", prepare_s=1)


async def test_no_service_is_taken_for_another(runs: Runs) -> None:
    first = counter(ready={"output": "it listens"}, exports={})
    second = {"start": "sleep 60", "ready": {"port": PORT}}
    with pytest.raises(ServiceFailed, match=f"service second did not start: port {PORT} is taken by something else"):
        await runs.judged({"client.py": CLIENT, **declare({"first": first, "second": second})})


async def test_what_a_service_prints_holds_nothing_up(runs: Runs) -> None:
    loud = counter()
    loud["start"] = loud["start"].replace("log.seek(0)", "os.write(1, bytes(1 << 19)); log.seek(0)")
    verdict = await runs.judged({"client.py": CLIENT, **declare({"counter": loud})}, limits=replace(LIMITS, cpu_s=5))
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert len(await runs.failure(start="yes flood", start_s=1)) < 2000


async def test_what_a_change_declares_starts_nothing(runs: Runs) -> None:
    change = declare({"counter": counter(start="exit 1")})
    verdict = await runs.judged({"client.py": CLIENT, **declare()}, change=change)
    assert verdict.passed, (verdict.reason, verdict.failures)
    without = await runs.judged({"client.py": CLIENT}, change=declare())
    assert not without.passed


async def test_a_file_with_faults_is_a_part_that_cannot_be_made(runs: Runs) -> None:
    assert not (await runs.environments.of(TextTree({PATH: "packages: [redis]\n"}))).digest
    tree = TextTree({PATH: "services:\n  db:\n    start: x\n"})
    environment = await runs.environments.of(tree)
    with pytest.raises(SandboxError, match=re.escape("services.db.ready: Field required")):
        await runs.environments.make(tree, environment)
