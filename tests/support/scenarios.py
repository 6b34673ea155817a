"""Scenarios of tasks for the tests that kill the daemon: the model's replies, the owner's actions and the end.

The model's replies depend on the prompt alone. A request that is repeated after a death gets the same reply, so two
runs can be compared whatever happened in between.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from nightshift.agent.tools import specs
from nightshift.core.tool_text import block
from nightshift.core.tools import ToolCall
from tests.support.answers import PLAN, RIGHT, TESTS, WRONG
from tests.support.git_repo import git, make_repo
from tests.support.supervised import SupervisedDaemon


def reflection(n: int, *, replan: bool = False) -> str:
    """Return a reflection that contains `number N`, by which the scripted model recognises it in a later prompt."""
    fields = {
        "pattern": "AssertionError: wrong sum", "root_cause": f"off by one in number {n}",
        "hypothesis": "the comparison lets the boundary through", "suggested_fix": f"compare strictly, number {n}",
        "replan": replan,
    }  # fmt: skip
    return f"```json\n{json.dumps(fields)}\n```"


@dataclass(kw_only=True)
class Scenario:
    """The course of a task.

    In the base scenario, the model's code is wrong at first, and correct after a reflection. The task works in the
    daemon's own workspace.
    """

    name: str = "own"
    settings: dict[str, str] = field(default_factory=dict)
    exact: bool = True
    """True if two undisturbed runs leave exactly the same traces; False if only their ends are the same."""
    workers: int = 1
    right_first: bool = False
    recorded: int = 6
    """Number of recorded runs. The first runs fill the memory; the last two must be alike."""

    def prepare(self, folder: Path) -> None:
        """Create what the scenario needs, before the daemon starts."""

    def repo(self, supervised: SupervisedDaemon) -> Path:
        """Return the repository that gets the commits."""
        return supervised.home / "workspace"

    def reply(self, phase: str, messages: list[dict[str, str]]) -> str:
        """Return the model's reply."""
        text = "\n".join(message["content"] for message in messages)
        return self.say(phase, self.number(messages), text)

    @staticmethod
    def number(messages: list[dict[str, str]]) -> int:
        """Return the number of the task that a prompt is about."""
        texts = (messages[-1]["content"], *(message["content"] for message in messages))
        match = next(filter(None, (re.search(r"job_(\d+)", text) for text in texts)), None)
        assert match, messages
        return int(match[1])

    def say(self, phase: str, n: int, text: str) -> str:
        if phase == "CODING":
            return self.code(n, RIGHT if f"number {n}" in text or self.right_first else WRONG)
        if phase == "REFLECTING":
            return reflection(n)
        return PLAN

    @staticmethod
    def code(n: int, code: str) -> str:
        return f"Summary: Sum what is above {n}\n\n```python path=job_{n}.py\n{code.format(n=n)}```"

    def task(self, n: int, **more: object) -> dict[str, object]:
        tests = {f"test_job_{n}.py": TESTS.format(n=n)}
        return {"description": f"Write total() in job_{n}.py", "tests": tests, "key": f"{self.name}-{n}", **more}

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        """Run the scenario once, even if the daemon dies meanwhile. Return the ids of the scenario's ended tasks."""
        id_ = supervised.submit(**self.task(n))
        supervised.ended(id_)
        return [id_]


@dataclass(kw_only=True)
class GivesUp(Scenario):
    """A task that gives up: unreadable replies, and a reflection without a request. A dependent task never begins."""

    name: str = "gives-up"
    recorded: int = 3

    def say(self, phase: str, n: int, text: str) -> str:
        return "I would rather talk about the weather." if phase == "CODING" else PLAN

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        first = supervised.submit(**self.task(n, limits={"iterations": 2}))
        second = supervised.submit(**self.task(n, key=f"later-{n}", depends_on=[first]))
        supervised.ended(first, second)
        return [first, second]


@dataclass(kw_only=True)
class Asks(Scenario):
    """A task that writes its own tests, asks the owner for permission, and continues when the permission is given.

    A dependent task is cancelled.
    """

    name: str = "asks"
    recorded: int = 3

    def say(self, phase: str, n: int, text: str) -> str:
        if phase == "TESTING":
            return f"```python path=test_job_{n}.py\n{TESTS.format(n=n)}```"
        if phase == "CODING":
            return self.code(
                n, f"import subprocess\n\n\ndef version():\n    return subprocess.run(['ls'])\n\n\n{RIGHT}"
            )
        return super().say(phase, n, text)

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        id_ = supervised.submit(**self.task(n, tests={}))
        after = supervised.submit(**self.task(1000 + n, tests={}, depends_on=[id_]))
        if supervised.until(id_, "waiting", "done", "failed")["status"] == "waiting":
            for (approval,) in supervised.rows("SELECT id FROM approvals WHERE task_id = ? AND granted IS NULL", id_):
                supervised.ask("POST", f"/api/approvals/{approval}", {"granted": True})
        supervised.ended(id_)
        if supervised.until(after, "waiting", "done", "failed", "cancelled")["status"] == "waiting":
            supervised.ask("POST", f"/api/task/{after}/cancel")
        supervised.ended(after)
        return [id_, after]


@dataclass(kw_only=True)
class Owners(Scenario):
    """A task in a repository of the owner, integrated into a branch that is not checked out, and pushed."""

    name: str = "owners"
    recorded: int = 3
    right_first: bool = True
    integrate: bool = True
    folder: Path = Path()
    settings: dict[str, str] = field(default_factory=lambda: {"GIT_AUTO_PUSH": "true"})

    def prepare(self, folder: Path) -> None:
        self.folder = make_repo(folder / "theirs")
        git(folder, "init", "-q", "--bare", "remote.git")
        git(self.folder, "remote", "add", "origin", str(folder / "remote.git"))
        git(self.folder, "branch", "nightly")

    def repo(self, supervised: SupervisedDaemon) -> Path:
        return self.folder

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        more = {"repo": str(self.folder), "base": "nightly", "integrate": self.integrate}
        id_ = supervised.submit(**self.task(n, **more))
        supervised.ended(id_)
        return [id_]


@dataclass(kw_only=True)
class Parks(Scenario):
    """A task that is parked for a while, because the model is rate-limited for longer than `MODEL_MAX_WAIT_S`."""

    name: str = "parks"
    recorded: int = 3
    right_first: bool = True
    settings: dict[str, str] = field(default_factory=lambda: {"MODEL_MAX_WAIT_S": "0.2", "RETRY_BASE_S": "0.1"})

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        supervised.server.fail_next("429", 1, phase="PLANNING", retry_after=1)
        id_ = supervised.submit(**self.task(n))
        supervised.ended(id_)
        return [id_]


@dataclass(kw_only=True)
class Late(Scenario):
    """A task whose tests never end. Each attempt reaches its time limit, in a phase that cannot be predicted."""

    name: str = "late"
    recorded: int = 3
    exact: bool = False
    right_first: bool = True
    settings: dict[str, str] = field(default_factory=lambda: {"RETRY_BASE_S": "0.1"})

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        endless = {
            f"test_job_{n}.py": "import time\n\n\ndef test_total():\n    time.sleep(600)\n    assert 1 + 1 == 2\n"
        }
        id_ = supervised.submit(**self.task(n, tests=endless, limits={"wall_s": 3.0, "attempts": 2}))
        supervised.ended(id_)
        return [id_]


@dataclass(kw_only=True)
class Hand(Scenario):
    """Tasks that never begin.

    The owner cancels tasks that wait for a worker, a time or another task, and retries some of them.
    """

    name: str = "hand"
    recorded: int = 3

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        supervised.ask("POST", "/api/pause", {"reason": "the owner looks"})
        first = supervised.submit(**self.task(n))
        later = supervised.submit(**self.task(n, key=f"later-{n}", not_before="2099-01-01T00:00:00Z"))
        needs = supervised.submit(**self.task(n, key=f"needs-{n}", depends_on=[first]))
        again = supervised.submit(**self.task(n, key=f"again-{n}", depends_on=[later]))
        for id_ in (needs, later, first):
            self._press(supervised, id_, "cancel", "cancelled")
        for id_, status in ((later, "queued"), (needs, "cancelled"), (again, "blocked")):
            if status != "cancelled":
                self._press(supervised, id_, "retry", status)
        self._press(supervised, later, "cancel", "cancelled")
        supervised.ask("POST", "/api/resume", {})
        supervised.ended(first, later, needs, again)
        return [first, later, needs, again]

    @staticmethod
    def _press(supervised: SupervisedDaemon, task_id: int, button: str, status: str) -> None:
        """Send an owner's action until the task has this status.

        The task may have the status already, if the action took effect before the daemon died.
        """
        for _ in range(3):
            if supervised.task(task_id)["status"] == status:
                return
            supervised.ask("POST", f"/api/task/{task_id}/{button}")
        raise AssertionError(f"task {task_id} is {supervised.task(task_id)['status']}, not {status}, after {button}")


@dataclass(kw_only=True)
class Crowd(Scenario):
    """Four tasks and three workers; two of the tasks write to the same file, so one of them has to start over."""

    name: str = "crowd"
    recorded: int = 3
    exact: bool = False
    workers: int = 3

    def say(self, phase: str, n: int, text: str) -> str:
        shared = re.search(rf"Write (left|right)\(\) in job_{n}", text)
        if phase != "CODING" or shared is None:
            return super().say(phase, n, text)
        sides = [side for side in ("left", "right") if side == shared[1] or f"def {side}" in text]
        code = "\n\n".join(f"def {side}():\n    return {n}\n" for side in sides)
        return f"```python path=job_{n}_shared.py\n{code}```"

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        ids = [supervised.submit(**self._side(n, side)) for side in ("left", "right")]
        ids += [supervised.submit(**self.task(n)), supervised.submit(**self.task(1000 + n))]
        supervised.ended(*ids)
        return ids

    def _side(self, n: int, side: str) -> dict[str, object]:
        test = f"from job_{n}_shared import {side}\n\n\ndef test_it():\n    assert {side}() == {n}\n"
        about = f"Write {side}() in job_{n}_shared.py"
        return {"description": about, "tests": {f"test_{side}_{n}.py": test}, "key": f"{side}-{n}"}


@dataclass(kw_only=True)
class Splits(Scenario):
    """A task whose plan splits it into two subtasks, one after the other. Their results are judged together."""

    name: str = "splits"
    recorded: int = 3
    right_first: bool = True

    def say(self, phase: str, n: int, text: str) -> str:
        if phase == "PLANNING" and "# Splitting the task" in text:
            more = {**self._part(n, "more", f"job_{n}_more"), "depends_on": [1]}
            return json.dumps({"subtasks": [self._part(n, "total", f"job_{n}"), more]})
        if phase == "CODING" and f"Write more() in job_{n}_more.py" in text:
            return f"```python path=job_{n}_more.py\n{RIGHT.format(n=n).replace('total', 'more')}```"
        return super().say(phase, n, text)

    @staticmethod
    def _part(n: int, name: str, module: str) -> dict[str, object]:
        about = f"Write {name}() in {module}.py, which returns the sum of all numbers above {n}."
        return {"description": about, "files": [f"{module}.py"], "tests": [f"test_{module}.py"]}

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        text = TESTS.format(n=n)
        more = text.replace(f"job_{n}", f"job_{n}_more").replace("total", "more")
        tests = {f"test_job_{n}.py": text, f"test_job_{n}_more.py": more}
        parent = supervised.submit(**self.task(n, tests=tests, split=True))
        supervised.ended(parent)
        parts = [
            id_ for (id_,) in supervised.rows("SELECT id FROM tasks WHERE key LIKE ? ORDER BY id", f"split:{parent}:%")
        ]
        supervised.ended(*parts)
        return [parent, *parts]


@dataclass(kw_only=True)
class Read(Scenario):
    """A task that asks a question and is then sent back by its reviewer and by its auditor.

    The auditor's last reply is unreadable.
    """

    name: str = "read"
    settings: dict[str, str] = field(default_factory=lambda: {"PHASE_MODELS": '{"AUDIT": "tiny-coder"}'})
    """The auditor has its own model, so auditor and reviewer each make a request of their own."""
    recorded: int = 3
    wanted: dict[str, bool] = field(default_factory=lambda: {"review": True, "audit": True, "clarify": True})

    def say(self, phase: str, n: int, text: str) -> str:
        if phase == "CLARIFYING":
            question = {"question": "Shall the sum be rounded?", "default": "no"}
            return json.dumps({"goal": f"total() in job_{n}.py sums", "questions": [question]})
        if phase == "REVIEW":
            return self._list_findings(n, f"reviewed {n}: the boundary is counted" if f"x >= {n}" in text else "")
        if phase == "AUDIT":
            return self._list_findings(n, f"audited {n}: it is open") if "a door" in text else "A nice day for a walk."
        if phase == "CODING":
            door = "" if f"audited {n}:" in text else "# a door\n"
            return self.code(n, door + RIGHT if f"reviewed {n}:" in text or not door else WRONG)
        return super().say(phase, n, text)

    @staticmethod
    def _list_findings(n: int, reason: str) -> str:
        finding = {"file": f"job_{n}.py", "line": 1, "severity": "high", "reason": reason}
        return json.dumps({"findings": [finding] if reason else []})

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        id_ = supervised.submit(**self.task(n, **self.wanted))
        while supervised.until(id_, "waiting", "done", "failed")["status"] == "waiting":
            open_ones = "SELECT id, kind FROM approvals WHERE task_id = ? AND granted IS NULL"
            for approval, kind in supervised.rows(open_ones, id_):
                if kind == "question":
                    supervised.ask("POST", f"/api/approvals/{approval}/answer", {"answer": "to whole numbers"})
                else:
                    supervised.ask("POST", f"/api/approvals/{approval}", {"granted": True})
        supervised.ended(id_)
        return [id_]


@dataclass(kw_only=True)
class Insists(Read):
    """A task whose only reader, the reviewer, reports a critical finding, which the owner accepts."""

    name: str = "insists"
    settings: dict[str, str] = field(default_factory=lambda: {"REVIEW_ROUNDS": "0"})
    right_first: bool = True
    wanted: dict[str, bool] = field(default_factory=lambda: {"review": True})

    def say(self, phase: str, n: int, text: str) -> str:
        if phase == "REVIEW":
            finding = {"file": f"job_{n}.py", "line": 1, "severity": "critical", "reason": "it sums what is not there"}
            return json.dumps({"findings": [finding]})
        return Scenario.say(self, phase, n, text)


@dataclass(kw_only=True)
class Explores(Scenario):
    """A task that works with tools: it writes, asks the owner, then searches, edits, runs the tests and ends.

    The number of the model's own messages in the prompt decides which tool calls come next.
    """

    name: str = "explores"
    recorded: int = 3
    settings: dict[str, str] = field(default_factory=lambda: {"EXPLORE": "on"})

    def reply(self, phase: str, messages: list[dict[str, str]]) -> str:
        if phase != "CODING":
            return super().reply(phase, messages)
        n, turn = self.number(messages), sum(message["role"] == "assistant" for message in messages)
        return f"Turn {turn}.\n\n" + "\n\n".join(
            block(call, specs.find_tool(call.name)) for call in self.calls(n)[turn]
        )

    def calls(self, n: int) -> list[list[ToolCall]]:
        """Return the tool calls of each reply of the model, in order."""
        path, wrong, right = f"job_{n}.py", WRONG.format(n=n), RIGHT.format(n=n)
        return [
            [call("write_file", path=path, content=wrong)],
            [call("ask", question=f"Is what equals {n} above it in {path}?", default="no")],
            [call("search", pattern="def total", path=path), call("read_file", path=path)],
            [call("edit", path=path, old=wrong, new=right)],
            [call("run", command=f"python -m pytest -q test_{path}")],
            [call("done", summary=f"Sum what is above in {path}")],
        ]

    def run(self, supervised: SupervisedDaemon, n: int) -> list[int]:
        id_ = supervised.submit(**self.task(n))
        while supervised.until(id_, "waiting", "done", "failed")["status"] == "waiting":
            for (approval,) in supervised.rows("SELECT id FROM approvals WHERE task_id = ? AND granted IS NULL", id_):
                self.decide(supervised, approval)
        supervised.ended(id_)
        return [id_]

    def decide(self, supervised: SupervisedDaemon, approval: int) -> None:
        """Answer the task's question as the owner would."""
        supervised.ask("POST", f"/api/approvals/{approval}/answer", {"answer": "no"})


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


@dataclass(kw_only=True)
class Refuses(Explores):
    """A task whose coder says, after a search, that it cannot be done. The owner accepts that."""

    name: str = "refuses"

    def calls(self, n: int) -> list[list[ToolCall]]:
        path = f"job_{n}.py"
        return [[call("search", pattern="total", path=path)], [call("cannot", reason=f"{path} has no numbers")]]

    def decide(self, supervised: SupervisedDaemon, approval: int) -> None:
        supervised.ask("POST", f"/api/approvals/{approval}", {"granted": False})


@dataclass(kw_only=True)
class Declines(Explores):
    """A task whose planner refuses twice, and plans after the owner has insisted on the task."""

    name: str = "declines"
    settings: dict[str, str] = field(default_factory=dict)
    right_first: bool = True

    def reply(self, phase: str, messages: list[dict[str, str]]) -> str:
        if phase == "PLANNING" and "Do it all the same." not in messages[1]["content"]:
            return f"I cannot do that with job_{self.number(messages)}."
        return Scenario.reply(self, phase, messages)

    def decide(self, supervised: SupervisedDaemon, approval: int) -> None:
        supervised.ask("POST", f"/api/approvals/{approval}/answer", {"answer": "Do it all the same."})


@dataclass(kw_only=True)
class Misses(Scenario):
    """A task with a new plan, whose change then passes the tests twice but does not do what the words say."""

    name: str = "misses"
    recorded: int = 3

    def say(self, phase: str, n: int, text: str) -> str:
        return reflection(n, replan=True) if phase == "REFLECTING" else super().say(phase, n, text)

    def task(self, n: int, **more: object) -> dict[str, object]:
        return super().task(n, description=f"Write total() in job_{n}.py; total([1, 5]) == 7", **more)


SCENARIOS = (
    Scenario, GivesUp, Asks, Owners, Parks, Late, Hand, Splits, Read, Insists, Explores, Refuses, Declines, Misses,
)  # fmt: skip
