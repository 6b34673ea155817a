"""Services that attack the run, and tested code that attacks its services; no attack may decide a verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from nightshift.core.errors import ServiceFailed
from nightshift.sandbox.nested import NestedSandbox
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.service_files import CLIENT, PORT, declare, python
from tests.verdict.environments.test_services import Runs

SEES = {
    "a file of the workspace": "answer = open('/work/client.py').read()",
    "what others have below /tmp": "import os; answer = os.listdir('/tmp')",
    "writing it": "open('/work/client.py', 'a'); answer = 'written'",
}
"""Attempts of a service to reach the files of a run."""
OTHERS = """
import os, signal
me, found = os.getpid(), []
for pid in (int(name) for name in os.listdir('/proc') if name.isdigit()):
    for what in ('mem', 'environ', 'fd/0', 'fd/1', 'cwd'):
        try:
            path = f'/proc/{pid}/{what}'
            os.readlink(path) if what == 'cwd' else os.close(os.open(path, os.O_RDONLY))
            found += [] if pid == me else [(pid, what)]
        except OSError:
            pass
    try:
        os.kill(pid, 0)
        found += [] if pid == me else [(pid, 'signal')]
    except OSError:
        pass
answer = found
"""
HELD = """
import os
links = [f'/proc/self/fd/{name}' for name in os.listdir('/proc/self/fd')]
held = [os.readlink(link) for link in links if os.path.lexists(link)]
own = os.environ['DATA'] + '/lines', '/dev/null'
answer = sorted({one.partition(':')[0] for one in held if one not in own})
"""
DENIED = {"PermissionError", "FileNotFoundError", "[]"}
"""The service's answers after a denied attempt. In the split run, some of the files do not even exist."""


@pytest.fixture
async def runs(folder: Path) -> AsyncIterator[Runs]:
    box = NestedSandbox(bubblewrap(), runtime())
    yield Runs(box, folder)
    await box.aclose()


def asking(statement: str, allowed: set[str]) -> Mapping[str, str]:
    """Return a test that passes if the service answers this statement with one of the allowed answers."""
    line = "do " + statement.strip().replace("\n", "\\n")
    return {
        "test_it.py": f"from client import ask\n\n\ndef test_it():\n    assert ask({line!r}) in {sorted(allowed)!r}\n"
    }


@pytest.mark.parametrize("what", SEES)
async def test_a_service_has_no_files_of_the_run(runs: Runs, what: str) -> None:
    base = {"client.py": CLIENT, **declare()}
    verdict = await runs.judged(base, asking(SEES[what], DENIED))
    assert verdict.passed, (verdict.reason, verdict.failures)
    # Control: the tests themselves may do the same, which shows that the files exist.
    control = f"def test_it():\n    found = {{}}\n    exec({SEES[what]!r}, found)\n    assert found['answer'] != 12\n"
    assert (await runs.judged(base, {"test_it.py": control})).results[0].result.value == "passed"


async def test_a_service_reaches_no_other_process_and_no_channel(runs: Runs) -> None:
    base = {"client.py": CLIENT, **declare()}
    verdict = await runs.judged(base, asking(OTHERS, DENIED))
    assert verdict.passed, (verdict.reason, verdict.failures)
    verdict = await runs.judged(base, asking(HELD, {"['pipe', 'socket']"}))
    assert verdict.passed, (verdict.reason, verdict.failures)


KILLER = CLIENT + """

def quit():
    import signal
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            if b"socket.create_server" in open(f"/proc/{pid}/cmdline", "rb").read():
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def fake():
    quit()
    if os.fork() == 0:
        while True:
            try:
                listening = socket.create_server(("127.0.0.1", PORT))
                break
            except OSError:
                continue
        while True:
            asking, _ = listening.accept()
            asking.recv(100)
            asking.sendall(b"42\\n")
            asking.close()
    while True:
        try:
            return ask("a")
        except OSError:
            continue
""".replace("PORT", str(PORT))  # fmt: skip


async def test_a_service_that_tested_code_ends_proves_nothing(runs: Runs) -> None:
    base = {"client.py": KILLER, **declare()}
    tests = {"test_it.py": "from client import quit\n\n\ndef test_it():\n    assert quit() is None\n"}
    verdict = await runs.judged(base, tests)
    assert not verdict.passed
    assert "the service counter ended while the tests ran" in verdict.reason
    command = await runs.judged(base, {}, command=("python3", "-c", "import client; client.quit()"))
    assert not command.passed
    assert "the service counter ended while the tests ran" in command.reason


async def test_tested_code_that_takes_a_services_place_proves_nothing(runs: Runs) -> None:
    tests = {"test_it.py": "from client import fake\n\n\ndef test_it():\n    assert fake() == '42'\n"}
    verdict = await runs.judged({"client.py": KILLER, **declare()}, tests)
    assert not verdict.passed
    assert "the service counter ended while the tests ran" in verdict.reason


async def test_what_the_split_run_leaves_is_no_service_of_the_next_one(runs: Runs) -> None:
    left = CLIENT + (
        "\n\ndef leave():\n    for _ in range(3):\n        if os.fork() == 0:\n            os.setsid()\n"
        "            while True:\n                try:\n"
        f"                    listening = socket.create_server(('127.0.0.1', {PORT}))\n"
        "                    while True:\n                        asking, _ = listening.accept()\n"
        "                        asking.sendall(b'forged\\n')\n                except OSError:\n"
        "                    continue\n    return ask('a')\n"
    )
    tests = {"test_it.py": "from client import leave\n\n\ndef test_it():\n    assert leave() == '1'\n"}
    verdict = await runs.judged({"client.py": left, **declare()}, tests)
    assert verdict.passed, (verdict.reason, verdict.failures)


async def test_a_service_that_forks_without_end_ends_with_its_run(runs: Runs) -> None:
    bomb = python("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    with pytest.raises(ServiceFailed, match="it was not ready within 2 s"):
        await runs.judged(declare({"bomb": {"start": bomb, "ready": {"output": "never"}, "start_s": 2}}))
    verdict = await runs.judged({"client.py": CLIENT, **declare()})
    assert verdict.passed, (verdict.reason, verdict.failures)
