"""Whether lessons make the second task of a family shorter: two rounds over families of similar tasks.

    .venv/bin/python bench/learning.py [--sandbox auto]

The model is scripted. It knows several approaches to a task and does not know which of them is right, so it tries them
one after the other, the right one last; it begins with the right one only when a lesson in its prompt shows it. All the
rest is real: the queue and the stores on a database, the agent with its phases and prompts, memory with hashed n-grams,
and the suite in its sandbox. Both rounds are run twice, with memory and without. The goal: with memory the second round
needs at most half of the first one's iterations, and without memory it does not; the exit status is 1 when it is
missed. No attempt draws the lot to see no lessons here, as a tenth of them does in the daemon.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from bench.false_alarms import opened
from bench.learning_families import FAMILIES, Family
from nightshift.agent.library import FileTree, NoMemory
from nightshift.agent.machine import FIRST, Machine
from nightshift.agent.services import AgentServices, AgentSettings
from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Emitter
from nightshift.core.gauge import Gauge
from nightshift.core.ports import Memory, Suite
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.step_store import StepStore
from nightshift.storage.memory.embedders import choose
from nightshift.storage.memory.store import LongTermMemory
from nightshift.verdict.languages.authoring import CodeReader
from nightshift.verdict.runner import SuiteRunner

GOAL = 0.5
_LESSONS = "## Lessons from earlier work"
_REFLECTION = json.dumps({"root_cause": "the approach does not fit", "suggested_fix": "try another approach"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The cost of a task: iterations, model calls, prompt tokens by estimate."""

    iterations: int
    calls: int
    tokens: int


class Learner:
    """The scripted model for one task (`nightshift.core.ports.Model`)."""

    def __init__(self, family: Family, turn: int) -> None:
        self._family, (self._function, self._module) = family, family.names[turn]
        self.calls = self.tokens = 0

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer a phase."""
        prompt = "\n".join(message.text for message in request.messages)
        self.calls += 1
        self.tokens += Gauge().tokens(prompt)
        text = {Phase.PLANNING: "1. Write the file.", Phase.REFLECTING: _REFLECTION}.get(request.phase)
        return Completion(text=text or self._code(prompt, request.iteration), backend="scripted", model="learner")

    def _code(self, prompt: str, iteration: int) -> str:
        wrong = self._family.wrong
        known = self._knows(prompt) or iteration > len(wrong)
        body = self._family.right if known else wrong[iteration - 1]
        head = _signature(self._family, self._function)
        return f"```python path={self._module}.py\n{head}\n    {body}\n```\n"

    def _knows(self, prompt: str) -> bool:
        """Whether a lesson shows what is right, in a line that a fix added."""
        _, _, lessons = prompt.partition(_LESSONS)
        lines = lessons.partition("\n## ")[0].split("\n")
        return any(line.startswith("+") and self._family.sign in line for line in lines)


def _signature(family: Family, function: str) -> str:
    start = family.words[0].index("`{f}(") + 4
    return f"def {function}{family.words[0][start : family.words[0].index(')', start) + 1]}:"


def spec_of(family: Family, turn: int) -> TaskSpec:
    """The task of a family in a round (0 or 1)."""
    function, module = family.names[turn]
    lines = [f"    {line.format(f=function)}" for line in family.tests]
    tests = "\n".join([f"from {module} import {function}", "", "", f"def test_{function}():", *lines, ""])
    description = family.words[turn].format(f=function, path=f"{module}.py")
    return TaskSpec(description=description, tests={f"test_{module}.py": tests})


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Real parts around the scripted model."""

    queue: QueueManager
    steps: StepStore
    events: EventLog
    memory: Memory
    suite: Suite
    recall: int

    async def solve(self, family: Family, turn: int) -> Done:
        """One task from its submission to its end."""
        await asyncio.wrap_future(self.queue.submit(spec_of(family, turn)))
        task = await asyncio.wrap_future(self.queue.claim("bench"))
        assert task is not None
        model = Learner(family, turn)
        work = await self._attempt(task, model)
        solved = work.phase is Phase.COMMIT
        await self.memory.conclude(work, task.id, solved)
        ending = Ending.COMMITTED if solved else work.ending or Ending.GAVE_UP
        await asyncio.wrap_future(self.queue.finish(task.id, task.fence, ending, reason=work.reason))
        return Done(iterations=work.iteration, calls=model.calls, tokens=model.tokens)

    async def _attempt(self, task: Task, model: Learner) -> AttemptState:
        tools = AgentServices(
            model=model,
            suite=self.suite,
            memory=self.memory,
            tree=FileTree({}),
            events=Emitter(self.events.emit),
            settings=AgentSettings(recall_limit=self.recall),
            languages=CodeReader(),
        )
        state = AttemptState(phase=FIRST, base=tools.tree.commit, attempt=task.attempt)
        async for step in Machine(tools).steps(AttemptContext(task=task, whole_tree=False), state):
            saved = self.steps.save_step(task.id, task.attempt, task.fence, step, started_at=utc_now(), duration_s=0.0)
            await asyncio.wrap_future(saved)
            state = step.state
        return state


async def rounds(
    folder: Path, suite: Suite, *, with_memory: bool, families: Sequence[Family] = FAMILIES
) -> list[list[Done]]:
    """Let the model do each family's tasks and return the cost of each task, round by round."""
    await asyncio.to_thread(folder.mkdir, parents=True)
    with Database(folder / "agent.sqlite") as db:
        events = EventLog(db)
        memory: Memory = NoMemory()
        if with_memory:
            memory = LongTermMemory(db, choose("hashed"), emit=events.emit, control_share=0.0)
        room = Room(
            queue=QueueManager(db, events),
            steps=StepStore(db, events),
            events=events,
            memory=memory,
            suite=suite,
            recall=3 if with_memory else 0,
        )
        return [[await room.solve(family, turn) for family in families] for turn in (0, 1)]


def report(without: Sequence[Sequence[Done]], with_memory: Sequence[Sequence[Done]]) -> bool:
    """Print the rounds side by side; true when the goal is met."""
    columns = [*without, *with_memory]
    print(f"{'iterations':<28}{'no memory':>20}{'with memory':>22}")
    print(f"{'family':<28}{'round 1':>11}{'round 2':>9}{'round 1':>13}{'round 2':>9}")
    for at, family in enumerate(FAMILIES):
        print(f"{family.name:<28}" + _row([column[at].iterations for column in columns]))
    for what in ("iterations", "calls", "tokens"):
        print(f"{'all, ' + what:<28}" + _row([sum(getattr(one, what) for one in column) for column in columns]))
    shares = [_share(pair) for pair in (without, with_memory)]
    print(
        f"the second round takes {shares[0]:.0%} of the first without memory, {shares[1]:.0%} with it (goal {GOAL:.0%})"
    )
    return shares[1] <= GOAL < shares[0]


def _row(numbers: Sequence[int]) -> str:
    return "".join(f"{number:>{width},}" for number, width in zip(numbers, (11, 9, 13, 9), strict=True))


def _share(pair: Sequence[Sequence[Done]]) -> float:
    first, second = (sum(one.iterations for one in column) for column in pair)
    return second / first


async def run(sandbox: str) -> bool:
    """Both rounds, without memory and with it."""
    async with opened(sandbox, 1) as (kept, runtime, folder):
        suite = SuiteRunner(kept.sandbox, runtime, emit=lambda _event: None, staging_dir=folder / "staging")
        without = await rounds(folder / "without", suite, with_memory=False)
        return report(without, await rounds(folder / "with", suite, with_memory=True))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandbox", default="auto")
    if not asyncio.run(run(parser.parse_args().sandbox)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
