"""Test doubles for the agent's tests: a scripted model, a suite that really runs the tests, and a memory."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightshift.agent.machine import FIRST, PHASES, Machine
from nightshift.agent.services import AgentServices, AgentSettings, Runner
from nightshift.agent.view import View
from nightshift.core.code.tree import FileTree
from nightshift.core.dialogue import Completion, Finish, ModelRequest
from nightshift.core.events import Emitter, Event
from nightshift.core.gauge import Gauge, ModelProfile
from nightshift.core.ports import ChangeCheck
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Failure, Label, Result, SuiteJob, Trial, Verdict
from nightshift.verdict.languages.authoring import CodeReader

REFLECTION = json.dumps({"error_pattern": "off by one", "root_cause": "the bound", "suggested_fix": "mend the bound"})


class ScriptedModel:
    """Answers each phase from that phase's list of replies.

    With `forever`, the last reply of a list is repeated; otherwise a request beyond the end of a list fails.
    """

    def __init__(self, replies: Mapping[Phase, Sequence[str | Completion]], *, forever: bool = False) -> None:
        self.replies = {phase: list(texts) for phase, texts in replies.items()}
        self.forever = forever
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> Completion:
        self.requests.append(request)
        waiting = self.replies.get(request.phase, [])
        assert waiting, f"no reply is left for {request.phase}"
        reply = waiting[0] if self.forever and len(waiting) == 1 else waiting.pop(0)
        if isinstance(reply, Completion):
            return reply
        return Completion(text=reply, backend="scripted", model="scripted-1", tokens_in=10, tokens_out=5, latency_s=0.5)

    @property
    def phases(self) -> list[Phase]:
        return [request.phase for request in self.requests]

    def prompt(self, at: int) -> str:
        return "\n".join(message.text for message in self.requests[at].messages)


def cut(text: str) -> Completion:
    """Return a reply that the length limit cut off."""
    return Completion(text=text, backend="scripted", model="scripted-1", finish=Finish.LENGTH)


_RUN = """
import importlib.util, json, sys, traceback
sys.path.insert(0, '.')
results = {}
for path in sys.argv[1:]:
    try:
        spec = importlib.util.spec_from_file_location(path.replace('/', '_')[:-3], path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except BaseException as error:
        results[path] = ['collection ' + type(error).__name__, str(error)]
        continue
    for name, function in list(vars(module).items()):
        if name.startswith('test') and callable(function):
            try:
                function()
                results[f'{path}::{name}'] = None
            except BaseException as error:
                line = traceback.extract_tb(error.__traceback__)[-1].line
                results[f'{path}::{name}'] = [type(error).__name__, str(error) or line]
print(json.dumps(results))
"""


@dataclass
class PlainSuite:
    """A suite that runs the test functions in a child process and judges by their results.

    It isolates nothing, so it is for code from these tests only.
    """

    jobs: list[SuiteJob] = field(default_factory=list)

    async def judge(self, job: SuiteJob) -> Verdict:
        self.jobs.append(job)
        tests = {**job.given, **job.own}
        results = await self._run(job, job.change, tests)
        changed = dict(job.change) != dict(job.start)
        before = await self._run(job, job.start, dict(job.own)) if job.own and changed else {}
        weak = tuple(sorted(test for test, fault in before.items() if fault is None))
        cases = tuple(
            CaseResult(id=test, result=Result.FAILED if fault or test in weak else Result.PASSED)
            for test, fault in results.items()
        )
        failures = tuple(Failure(id=test, kind=fault[0], message=fault[1]) for test, fault in results.items() if fault)
        bad = sum(case.result is not Result.PASSED for case in cases)
        reason = f"{bad} of {len(cases)} tests failed" if bad or not cases else ""
        evidence = Evidence(tree="t", sandbox="process", label=Label.SELF_TESTED if job.own else Label.TESTS_PASSED)
        return Verdict(
            passed=not reason,
            reason=reason,
            evidence=evidence,
            results=cases,
            failures=failures,
            weak=weak,
            duration_s=0.1,
        )

    async def try_out(self, job: SuiteJob) -> Trial:
        tests = {**job.given, **job.held.shown, **job.own}
        chosen = {path: text for path, text in tests.items() if not job.only or path in job.only}
        verdict = await self.judge(replace(job, given=chosen, own={}))
        return Trial(reason=verdict.reason, results=verdict.results, failures=verdict.failures, duration_s=0.1)

    async def run_base(self, job: SuiteJob) -> Trial:
        return await self.try_out(replace(job, change=job.start))

    async def _run(self, job: SuiteJob, change: Mapping[str, str | None], tests: Mapping[str, str]) -> dict[str, Any]:
        view = View(job.base, {**change, **tests})
        with tempfile.TemporaryDirectory() as folder:
            _stage(view, Path(folder))
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-B", "-c", _RUN, *tests), cwd=folder, stdout=asyncio.subprocess.PIPE
            )
            out, _ = await process.communicate()
        results: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
        return results


def _stage(view: View, folder: Path) -> None:
    for path in view.paths():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(view.text(path) or "")


@dataclass
class ListMemory:
    """A memory that keeps its lessons, the remembered attempt states and the received queries in lists."""

    lessons: list[Lesson] = field(default_factory=list)
    remembered: list[AttemptState] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def recall(self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1) -> Sequence[Lesson]:
        self.asked.append(query)
        return self.lessons[:limit]

    async def remember(self, work: AttemptState, task_id: int, description: str) -> None:
        self.remembered.append(work)

    async def conclude(self, work: AttemptState, task_id: int, solved: bool) -> None:
        self.remembered.clear()


def case_for(description: str = "Write `add` in add.py", **fields: Any) -> AttemptContext:
    """Return an attempt's context as the worker creates it. `fields` are fields of the context or of the task."""
    own = {name: fields.pop(name) for name in list(fields) if name in AttemptContext.__dataclass_fields__}
    spec = parse_spec({"description": description, **fields})
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return AttemptContext(task=Task(id=7, spec=spec, status=Status.RUNNING, created_at=at, attempt=1), **own)


@dataclass
class Walk:
    """Runs an attempt through the phase table and passes each finished step to `keep`."""

    services: AgentServices
    keep: Callable[[Step], Awaitable[None]]
    phases: Mapping[Phase, Runner] = field(default_factory=lambda: PHASES)

    async def run(self, context: AttemptContext, state: AttemptState) -> AttemptState:
        async for step in Machine(self.services, self.phases).steps(context, state):
            await self.keep(step)
            state = step.state
        return state


@dataclass
class Bench:
    """One attempt with its services, and records of its steps and events."""

    model: ScriptedModel
    suite: Any = field(default_factory=PlainSuite)
    memory: ListMemory = field(default_factory=ListMemory)
    base: Mapping[str, str] = field(default_factory=dict)
    settings: AgentSettings = field(default_factory=AgentSettings)
    events: list[Event] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    change_checks: Sequence[ChangeCheck] = ()
    wrote: Collection[str] = ()
    profile: ModelProfile = field(default_factory=ModelProfile)
    forms: list[bool] = field(default_factory=list)
    """For each reply of CODING: True if it was usable."""

    @property
    def tools(self) -> AgentServices:
        return AgentServices(
            model=self.model,
            suite=self.suite,
            memory=self.memory,
            tree=FileTree(self.base),
            events=Emitter(self.events.append),
            settings=self.settings,
            change_checks=self.change_checks,
            wrote=lambda path: path in self.wrote,
            languages=CodeReader(),
            gauge=lambda _phase, _escalation: Gauge(profile=self.profile),
            count_form=lambda _reply, is_usable: self.forms.append(is_usable),
        )

    async def keep(self, step: Step) -> None:
        self.steps.append(step)

    def start(self, case: AttemptContext) -> AttemptState:
        return AttemptState(phase=FIRST, base="0" * 40, change=dict(case.task.spec.files))

    async def run(self, case: AttemptContext, work: AttemptState | None = None) -> AttemptState:
        return await Walk(self.tools, self.keep).run(case, work or self.start(case))

    async def go_on(self, case: AttemptContext, held: AttemptState, answer: str = "") -> AttemptState:
        """Continue an attempt after the owner's answer. An empty `answer` means that the owner consents."""
        (subject,) = (ask.subject for ask in held.asks)
        yes, no = (frozenset({subject} if is_granted else ()) for is_granted in (answer, not answer))
        decided = replace(case, granted=yes, denied=no, answers={subject: answer} if answer else {})
        return await self.run(decided, replace(held, phase=held.held_in or held.phase, held_in=None, asks=()))

    @property
    def walk(self) -> list[Phase]:
        return [step.phase for step in self.steps]


def block(path: str, text: str) -> str:
    """Return a file as a fenced code block with its path, which is the form that prompts ask the model for."""
    return f"```python path={path}\n{text}```\n"


TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
"""Tests of the task that `case_for` describes."""
RIGHT = block("add.py", "def add(a, b):\n    return a + b\n")
WRONG = block("add.py", "def add(a, b):\n    return a - b\n")
"""Replies to it that pass and that fail these tests."""


def model_for(*codings: str | Completion, forever: bool = False, **others: Sequence[str]) -> ScriptedModel:
    """Return a model with these CODING replies and simple default replies for planning and reflecting.

    `others` maps the names of other phases to their replies.
    """
    replies: dict[Phase, Sequence[str | Completion]] = {
        Phase.PLANNING: ["1. Write add.py."] * 9,
        Phase.CODING: list(codings),
        Phase.REFLECTING: [REFLECTION] * 40,
        Phase.TESTING: [],
    }
    return ScriptedModel({**replies, **{Phase[name]: texts for name, texts in others.items()}}, forever=forever)
