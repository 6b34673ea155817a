"""The agent loop as a library: pass a generate function, a fix function and a task with tests; get files and a verdict.

The two functions replace the daemon's language model: they answer CODING requests. Everything else is the same machine:
the checks of a change and of its syntax, the detection of circles, and the limits. The functions' answers go through
the same parser, and protected files are refused in the same way.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from nightshift.agent.machine import FIRST, Machine
from nightshift.agent.services import AgentServices, AgentSettings
from nightshift.core.code.tree import FileTree
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import InvalidTask
from nightshift.core.events import Emitter, Sink
from nightshift.core.ports import Suite
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Explore, Files, Limits, Task, TaskSpec
from nightshift.core.tasks.verdicts import Verdict

Answer = Files | str
"""The answer of a function: a mapping of paths to texts, or a model's raw reply with one fenced block per file."""

Generate = Callable[[TaskSpec], Answer | Awaitable[Answer]]
"""Function for the first try: gets the task and returns files. May be a coroutine function."""

Fix = Callable[[TaskSpec, Files, str], Answer | Awaitable[Answer]]
"""Function for a later try: gets the task, the current files and the failure, and returns the files that change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """The result of `solve`.

    Attributes:
        passed: True if the tests passed and the files do what the description says.
        files: the created or changed files.
        verdict: the suite's last verdict.
        trace: every step in order.
        reason: why the attempt stopped.
        ending: the kind of the ending if `passed` is False, else None.
    """

    passed: bool
    files: Files
    verdict: Verdict | None
    trace: tuple[Step, ...]
    reason: str
    ending: Ending | None = None


async def solve(
    description: str,
    tests: Files,
    generate: Generate,
    fix: Fix,
    suite: Suite,
    *,
    files: Files | None = None,
    limits: Limits | None = None,
    emit: Sink | None = None,
) -> Solved:
    """Generate files, test them and fix them until the tests pass or further tries are hopeless.

    Args:
        description: what is to be done.
        tests: the texts of the tests that judge the files, by their paths; at least one.
        generate: called once, for the first try.
        fix: called after each failure.
        suite: runs the tests and judges the files.
        files: files that exist before the first try.
        limits: only `iterations` (15) and the limits of a run apply here: `suite_s` (60), `memory_mb` (512), `cpus`
            (2), `pids` (128) and `work_mb` (64).
        emit: receives the events; None if they are not wanted.

    Raises:
        InvalidTask: the task is invalid, or has no tests.
        SandboxError: the suite could not run anything.
        TypeError: a function returned neither files nor text.
    """
    if not tests:
        raise InvalidTask({"tests": "add at least one test file; the tests decide whether the files are right"})
    spec = parse_spec({"description": description, "tests": dict(tests), "files": dict(files or {})})
    limits, functions = limits or Limits(), _Functions(spec, generate, fix)
    services = AgentServices(
        model=functions,
        suite=suite,
        memory=NoMemory(),
        tree=FileTree({}),
        events=Emitter(emit or (lambda _event: None)),
        settings=AgentSettings(recall_limit=0, explore=Explore.OFF),
    )
    task = Task(id=0, spec=spec, status=Status.RUNNING, created_at=services.clock(), attempt=1)
    most = limits.iterations or 15
    context = AttemptContext(task=task, iterations=most, warn_at=max(1, most - 3), run_limits=limits.of_run())
    state = functions.state = AttemptState(phase=FIRST, base=services.tree.commit, change=dict(spec.files))
    steps = list[Step]()
    async for step in Machine(services).steps(context, state):
        state = functions.state = step.state
        steps.append(step)
    return Solved(
        passed=state.phase is Phase.COMMIT,
        files={path: text for path, text in state.change.items() if text is not None},
        verdict=state.verdict,
        trace=tuple(steps),
        reason=state.reason,
        ending=state.ending,
    )


class _Functions:
    """An implementation of the model port that calls the caller's two functions."""

    def __init__(self, spec: TaskSpec, generate: Generate, fix: Fix) -> None:
        self._spec, self._generate, self._fix = spec, generate, fix
        self.state: AttemptState | None = None

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer a CODING request with a function of the caller; any other phase gets a fixed, empty reply."""
        if request.phase is not Phase.CODING:
            text = "{}" if request.phase is Phase.REFLECTING else "1. Generate, test, fix."
            return Completion(text=text, backend="library", model="library")
        answer = await self._answer(request)
        return Completion(
            text=answer if isinstance(answer, str) else _as_json(answer), backend="library", model="library"
        )

    async def _answer(self, request: ModelRequest) -> Answer:
        state = self.state
        assert state is not None
        # A second call within a step means that the first answer was unusable; the last message says why.
        message = request.messages[-1].text if request.call_no else state.feedback
        if message:
            files = {path: text for path, text in state.change.items() if text is not None}
            answer = self._fix(self._spec, files, message)
        else:
            answer = self._generate(self._spec)
        return await answer if inspect.isawaitable(answer) else answer


def _as_json(files: Files) -> str:
    """Encode the files as JSON, from which the reply parser reads every character unchanged."""
    if not isinstance(files, Mapping):
        raise TypeError(f"generate and fix must return a path-to-text mapping or a text, not {type(files).__name__}")
    return json.dumps({"files": [{"path": path, "content": text} for path, text in files.items()]})


class NoMemory:
    """A memory without lessons, for callers that have no memory."""

    async def recall(self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1) -> Sequence[Lesson]:
        """Return nothing: no lessons are stored."""
        del query, limit, task_id, attempt
        return ()

    async def remember(self, state: AttemptState, task_id: int, description: str) -> None:
        """Do nothing: no lessons are stored."""

    async def conclude(self, state: AttemptState, task_id: int, solved: bool) -> None:
        """Do nothing: no lessons are stored, so none can be completed or scored."""
