"""Scripted model server of the fault campaign: its replies fit each job's fate, and its connections fail at random."""

from __future__ import annotations

import json
import logging
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from bench.fault_tasks import Fate, Job
from tests.support.wire_dialects import Dialect
from tests.support.wire_server import Fault, Recorded, WireServer

# Faults of a request: (kind, options, weight in the random choice).
MIX: tuple[tuple[str, Mapping[str, Any], int], ...] = (
    ("500", {}, 3), ("503", {}, 2), ("429", {}, 3), ("429", {"retry_after": 1}, 2), ("429", {"retry_after": 3}, 1),
    ("hang", {}, 1), ("stall", {}, 1), ("slow", {"seconds": 1.0}, 3), ("drop", {}, 3),
    ("cut", {}, 3), ("quiet", {}, 2), ("error_event", {}, 2), ("broken", {}, 2), ("garbage", {}, 2), ("empty", {}, 2),
    ("length", {}, 2),
)  # fmt: skip
PLAN = "1. Read the tests.\n2. Write the function.\n3. Compare the boundary."


# Silence this log, because the benchmark disconnects clients in the middle of an answer on purpose.
logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)


class FaultyServer(WireServer):
    """A model server that lets requests fail with the probability `rate`.

    The server has a random generator of its own. `injected` counts the faults by kind.
    """

    def __init__(self, jobs: Sequence[Job], *, seed: int, rate: float) -> None:
        super().__init__(self._reply, chunk_words=8)
        self._jobs = {job.n: job for job in jobs}
        self._dice, self.rate = random.Random(seed), rate
        self.injected: Counter[str] = Counter()
        self.wrong_first = 0

    async def _respond(
        self, request: web.Request, dialect: Dialect, record: Recorded, fault: Fault | None
    ) -> web.StreamResponse:
        if self._dice.random() < self.rate:
            kind, options, _ = self._dice.choices(MIX, [weight for *_, weight in MIX])[0]
            record.fault = kind
            self.injected[f"{kind} with Retry-After" if "retry_after" in options else kind] += 1
            self.fail_next(kind, **options)
            fault = self._faults.pop()
        return await super()._respond(request, dialect, record, fault)

    def _reply(self, phase: str, messages: list[dict[str, str]]) -> str:
        text = "\n".join(message["content"] for message in messages)
        match = re.search(r"\(job (\d+)\)", messages[-1]["content"]) or re.search(r"\(job (\d+)\)", text)
        assert match, messages
        job = self._jobs[int(match[1])]
        if phase == "CODING":
            return self._code(job, text)
        return self._reflection(job) if phase == "REFLECTING" else PLAN

    def _code(self, job: Job, text: str) -> str:
        right = job.fate is not Fate.GAVE_UP and (job.n % 3 > 0 or f"mended in {job.n}" in text)
        self.wrong_first += not right
        return f"Summary: Write {job.name}\n\n```python path={job.file}\n{job.code(right=right)}```"

    @staticmethod
    def _reflection(job: Job) -> str:
        reflection = {
            "pattern": "AssertionError", "root_cause": f"to be mended in {job.n}: the comparison", "hypothesis": "so",
            "suggested_fix": f"turn it round; mended in {job.n}", "replan": False,
        }  # fmt: skip
        return f"```json\n{json.dumps(reflection)}\n```"
