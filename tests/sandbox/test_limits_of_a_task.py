"""A task's limits apply inside the sandbox, both below and above the defaults.

They are limits of processes, cores, disk space and memory.
"""

from __future__ import annotations

import asyncio

from nightshift.core.tasks.verdicts import Verdict
from tests.support.sandboxes import Judge, hierarchy

GIVEN = {"test_given.py": "from solution import used\n\n\ndef test_used():\n    assert used() is True\n"}


def fail_by(verdict: Verdict, *words: str) -> bool:
    text = f"{verdict.reason} {verdict.failures}"
    return not verdict.passed and any(word in text for word in words)


def solution(body: str) -> dict[str, str]:
    return {
        "solution.py": "import os\nimport time\n\n\ndef used():\n"
        + "".join(f"    {line}\n" for line in body.split("\n"))
    }


FORKS = solution("for _ in range(25):\n    if os.fork() == 0:\n        time.sleep(5)\n        os._exit(0)\nreturn True")
DISK = solution("with open('big', 'wb') as file:\n    file.write(bytes(5 << 20))\nreturn True")
MEMORY = solution("return len(bytearray(700 << 20)) > 0")
BUSY = solution(
    "started, cpu = time.monotonic(), time.process_time()\n"
    "while time.monotonic() - started < 1:\n    pass\n"
    "return time.process_time() - cpu < 0.5"
)


async def test_less_than_usual_is_in_force(judge: Judge) -> None:
    forks, disk, enough = await asyncio.gather(
        judge(FORKS, GIVEN, pids=16), judge(DISK, GIVEN, work_mb=2), judge(DISK, GIVEN)
    )
    assert fail_by(forks, "BlockingIOError", "Resource temporarily unavailable"), forks
    assert fail_by(disk, "OSError", "No space left", "File too large", "SIGXFSZ", "signal 25"), disk
    assert enough.passed, enough


async def test_more_than_usual_is_granted(judge: Judge) -> None:
    usual, more = await asyncio.gather(judge(MEMORY, GIVEN), judge(MEMORY, GIVEN, memory_mb=1500))
    assert not usual.passed
    assert more.passed, more


async def test_a_share_of_one_core_is_all_that_is_given(judge: Judge) -> None:
    assert hierarchy(), "there are no control groups here: cores cannot be bounded"
    slowed = await judge(BUSY, GIVEN, cpus=0.2)
    assert slowed.passed, slowed
