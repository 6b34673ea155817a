"""Changes that only remove code: how they are recognised, and that the existing tests judge them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nightshift.agent.kinds import asks_to_take_away
from nightshift.agent.services import AgentSettings
from nightshift.agent.taking_away import adds_nothing
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Change, TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from tests.support.agent_parts import Bench, PlainSuite, block, case_for, model_for

ADD = "def add(a, b):\n    return a + b\n"
BASE = {
    "add.py": ADD,
    "old.py": "def old():\n    return 1\n",
    "tests/test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
GONE = "```python path=old.py delete\n```\n"


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        ("Delete old.py", True), ("Rename stats.py to figures.py", True),
        ("Remove the cache and add a new one", False), ("Mend add()", False),
    ],
)  # fmt: skip
def test_words_tell_whether_a_task_only_takes_away(words: str, takes: bool) -> None:
    assert asks_to_take_away(TaskSpec(description=words)) is takes


USER = "import old\n\nprint(old.old())\nprint(1)\n"


@pytest.mark.parametrize(
    ("change", "nothing"),
    [
        ({"old.py": None}, True),
        ({"old.py": None, "user.py": "print(1)\n"}, True),
        ({"old.py": None, "lib/new.py": BASE["old.py"], "user.py": USER.replace("old", "new", 1)}, False),
        ({"old.py": None, "new.py": BASE["old.py"], "user.py": "import new\n\nprint(new.old())\nprint(1)\n"}, True),
        ({"old.py": None, "new.py": "def old():\n        return 1\n"}, False),
    ],
)
def test_a_change_adds_nothing_where_every_line_was_there(change: Change, nothing: bool) -> None:
    before = {"old.py": BASE["old.py"], "user.py": USER}
    assert adds_nothing({path: before.get(path) for path in change}, change) is nothing


class Judge(PlainSuite):
    """A suite that adds the base's tests to the run if a change only removes code."""

    async def judge(self, job: SuiteJob) -> Verdict:
        there = {path: BASE[path] for path in BASE if job.takes_away and path.startswith("tests/")}
        return await super().judge(replace(job, given={**job.given, **there}))


async def test_no_tests_are_asked_for_where_a_task_only_takes_away() -> None:
    suite = Judge()
    bench = Bench(model_for(GONE), suite=suite, base=BASE, settings=AgentSettings(clear_enough=0))
    end = await bench.run(case_for("Delete old.py"))
    assert (end.phase, end.change, end.own_tests) == (Phase.COMMIT, {"old.py": None}, {})
    assert [job.takes_away for job in suite.jobs] == [True]


async def test_tests_are_asked_for_where_more_was_done() -> None:
    reply = GONE + block("add.py", ADD + "\n\nX = 1\n")
    own = block("tests/test_more.py", "from add import add\n\n\ndef test_more():\n    assert add(2, 2) == 4\n")
    suite = Judge()
    settings = AgentSettings(clear_enough=0)
    bench = Bench(model_for(reply, TESTING=[own]), suite=suite, base=BASE, settings=settings)
    await bench.run(case_for("Delete old.py", iterations=1))
    assert [(job.takes_away, len(job.own)) for job in suite.jobs] == [(False, 1)]
