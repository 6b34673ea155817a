"""The loop as a library: the caller's own functions replace a model."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nightshift.agent.library import solve
from nightshift.core.errors import InvalidTask
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import Files, Limits, TaskSpec
from tests.support.agent_parts import TESTS, PlainSuite, block

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "library.md"
WRONG = {"add.py": "def add(a, b):\n    return a - b\n"}
RIGHT = {"add.py": "def add(a, b):\n    return a + b\n"}


async def test_functions_may_be_coroutines_and_answer_with_text() -> None:
    async def generate(task: TaskSpec) -> str:
        return "no files at all"

    async def fix(task: TaskSpec, files: Files, feedback: str) -> str:
        assert "holds no file" in feedback
        return block("add.py", RIGHT["add.py"])

    solved = await solve("Write `add`", TESTS, generate, fix, PlainSuite())
    assert solved.passed
    assert solved.files == RIGHT


async def test_who_never_gets_it_right_is_told_why_it_ended() -> None:
    events: list[Event] = []
    solved = await solve(
        "Write `add`", TESTS, lambda task: WRONG, lambda task, files, feedback: WRONG, PlainSuite(), emit=events.append
    )
    assert not solved.passed
    assert solved.ending is Ending.STUCK
    assert "test_add.py::test_add" in solved.reason
    assert Kind.STUCK in {event.kind for event in events}
    limited = await solve(
        "Write `add`", TESTS, lambda task: WRONG, lambda *_: WRONG, PlainSuite(), limits=Limits(iterations=1)
    )
    assert limited.ending is Ending.GAVE_UP


async def test_a_task_without_tests_and_an_answer_of_a_wrong_type_are_refused() -> None:
    with pytest.raises(InvalidTask):
        await solve("Write `add`", {}, lambda task: RIGHT, lambda *_: RIGHT, PlainSuite())

    def wrong(task: TaskSpec) -> Mapping[str, str]:
        return None  # type: ignore[return-value]

    with pytest.raises(TypeError, match="NoneType"):
        await solve("Write `add`", TESTS, wrong, lambda *_: RIGHT, PlainSuite())


def test_the_example_of_the_page_runs_in_the_real_sandbox(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python example\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    here = example.replace('Path("state")', f"Path({str(tmp_path / 'state')!r})")
    assert here != example
    ran = subprocess.run(
        [sys.executable, "-c", here], cwd=PAGE.parents[2], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    match = re.search(r"It prints .*?```\n(.*?)```", text, flags=re.DOTALL)
    assert match is not None
    feedback, _, steps = ran.stdout.partition("\npassed\n")
    assert "AssertionError" in feedback
    assert all(_matches(*pair) for pair in zip(match[1].splitlines(), steps.splitlines(), strict=True)), ran.stdout


def _matches(wanted: str, line: str) -> bool:
    """Check whether a printed line equals a line of the documentation. A final ellipsis there stands for any text."""
    return line.startswith(wanted.removesuffix("…")) if wanted.endswith("…") else line == wanted
