"""A scripted model for end-to-end tests. It knows small tasks, and can answer each task wrongly at first."""

from __future__ import annotations

import collections
import json
import re
import threading

PLAN = "1. Read the tests.\n2. Write the function."
REFLECTION = json.dumps(
    {
        "pattern": "AssertionError: wrong sum",
        "root_cause": "the boundary is off by one",
        "hypothesis": "the comparison lets the boundary through",
        "suggested_fix": "compare strictly",
        "replan": False,
    }
)
TESTS = """from job_{n} import total


def test_empty():
    assert total([]) == 0


def test_boundary_and_above():
    assert total([{n}, {n} + 1]) == {n} + 1
"""
RIGHT = "def total(numbers):\n    return sum(x for x in numbers if x > {n})\n"
WRONG = "def total(numbers):\n    return sum(x for x in numbers if x >= {n})\n"


class Answers:
    """Answers the tasks “job_<n>”; the first `wrong_first` CODING replies of each are `wrong`.

    `counts` maps (n, phase) to the number of requests.
    """

    def __init__(self, wrong_first: int = 0, wrong: str = WRONG) -> None:
        self.wrong_first, self.wrong = wrong_first, wrong
        self.counts: collections.Counter[tuple[int, str]] = collections.Counter()
        self._lock = threading.Lock()

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        """Return the reply to one request."""
        match = re.search(r"job_(\d+)", "\n".join(message["content"] for message in messages))
        assert match, messages
        n = int(match[1])
        with self._lock:
            self.counts[n, phase] += 1
            count = self.counts[n, phase]
        if phase == "CODING":
            code = (self.wrong if count <= self.wrong_first_of(n) else RIGHT).format(n=n)
            return f"Summary: Sum what is above {n}\n\n```python path=job_{n}.py\n{code}```"
        if phase == "TESTING":
            return f"```python path=test_job_{n}.py\n{TESTS.format(n=n)}```"
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]

    def wrong_first_of(self, n: int) -> int:
        """Return how many CODING replies to this task are wrong."""
        return self.wrong_first


def job(n: int) -> dict[str, object]:
    """Return the task with number `n`, which the scripted model knows, in the form that the API accepts."""
    return {"description": f"Write total() in job_{n}.py", "tests": {f"test_job_{n}.py": TESTS.format(n=n)}}
