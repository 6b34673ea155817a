"""The agent loop through the class names of the owner's original sketch: it generates, tests, fixes and stops."""

from __future__ import annotations

import pytest

from nightshift.app.coder import AutonomousCoder, CodeExecutor
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import Files, TaskSpec

TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
WRONG, RIGHT = ({"add.py": f"def add(a, b):\n    return a {sign} b\n"} for sign in "-+")


@pytest.mark.parametrize(
    ("fixed", "most", "calls", "passed", "ending"),
    [
        (RIGHT, 3, 1, True, None),
        ({"add.py": "def add(a, b):\n    return b\n"}, 2, 1, False, Ending.GAVE_UP),
        (RIGHT, 1, 0, False, Ending.GAVE_UP),
    ],
    ids=["fixed", "not fixed", "one try"],
)
def test_the_loop_goes_on_until_the_tests_pass_or_the_limit(
    fixed: Files, most: int, calls: int, passed: bool, ending: Ending | None
) -> None:
    feedbacks = list[str]()

    def fix(_task: TaskSpec, _files: Files, feedback: str) -> Files:
        feedbacks.append(feedback)
        return fixed

    solved = AutonomousCoder(lambda _task: WRONG, fix, max_iterations=most).solve("Write add in add.py", TESTS)
    assert (solved.passed, solved.ending, len(feedbacks)) == (passed, ending, calls)
    assert all("test_add" in feedback for feedback in feedbacks)


def test_an_executor_counts_tests_and_runs_code() -> None:
    executor = CodeExecutor()
    wrong, right = (executor.run_tests(files, TESTS) for files in (WRONG, RIGHT))
    assert (wrong.passed, wrong.num_passed, wrong.num_failed) == (False, 0, 1)
    assert "test_add" in wrong.output
    assert (right.passed, right.num_passed, right.num_failed) == (True, 1, 0)
    assert executor.run("print(6 * 7)").stdout == "42\n"
