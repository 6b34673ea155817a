"""The loop as a library: your own generate and fix functions, a task with its tests, and back come files and verdict.

The functions stand where a language model stands in the daemon: they answer CODING requests, and everything else (the
checks of a change and of its syntax, the detection of circles, the limits) is the same machine. What they return goes
through the same parser and the same refusal of protected files.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nightshift.agent.machine import FIRST, Machine
from nightshift.agent.services import AgentServices, AgentSettings
from nightshift.core.clock import Clock
from nightshift.core.code.git_ids import blob_id
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import InvalidTask
from nightshift.core.events import Emitter, Event, Sink
from nightshift.core.ports import Suite
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Explore, Files, Limits, Task, TaskSpec
from nightshift.core.tasks.verdicts import Verdict
from nightshift.core.text.encoding import encode

Answer = Files | str
"""Path to text, or a model's reply: text with one fenced block a file."""

Generate = Callable[[TaskSpec], Answer | Awaitable[Answer]]
"""The first try: from the task to files. May be a coroutine function."""

Fix = Callable[[TaskSpec, Files, str], Answer | Awaitable[Answer]]
"""A later try: from the task, the files as they are, and what failed, to the files that change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """How it ended.

    `files` are those that were created or changed, `verdict` is the suite's last word, `trace` every step in order.
    `ending` and `reason` say why it stopped when the tests did not pass, or the files do not do what the words say.
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
    """Generate, test and fix until the tests pass or nothing more is to be hoped for.

    Args:
        description: what is to be done.
        tests: path to text of the tests that decide; at least one.
        generate: called once, for the first try.
        fix: called after each failure.
        suite: what judges.
        files: files that exist before the first try.
        limits: of these `iterations` (15) and what bounds a run hold here: `suite_s` (60), `memory_mb` (512), `cpus`
            (2), `pids` (128) and `work_mb` (64).
        emit: takes the events, if wanted.

    Raises:
        InvalidTask: the task is not one, or has no tests.
        SandboxError: the suite could not run anything.
        TypeError: a function returned neither files nor text.
    """
    if not tests:
        raise InvalidTask({"tests": "at least one test file is needed to decide"})
    spec = parse_spec({"description": description, "tests": dict(tests), "files": dict(files or {})})
    return await _attempt(spec, _Functions(spec, generate, fix), suite, limits or Limits(), emit)


async def _attempt(spec: TaskSpec, functions: _Functions, suite: Suite, limits: Limits, emit: Sink | None) -> Solved:
    services = AgentServices(
        model=functions,
        suite=suite,
        memory=NoMemory(),
        tree=FileTree({}),
        events=Emitter(emit or _silent),
        settings=AgentSettings(recall_limit=0, explore=Explore.OFF),
    )
    start = functions.state = AttemptState(phase=FIRST, base=services.tree.commit, change=dict(spec.files))
    steps = list[Step]()
    async for step in Machine(services).steps(_context(spec, services.clock, limits), start):
        functions.state = step.state
        steps.append(step)
    return _build_result(steps[-1].state, steps)


def _context(spec: TaskSpec, clock: Clock, limits: Limits) -> AttemptContext:
    task = Task(id=0, spec=spec, status=Status.RUNNING, created_at=clock(), attempt=1)
    iterations = limits.iterations or 15
    return AttemptContext(task=task, iterations=iterations, warn_at=max(1, iterations - 3), run_limits=limits.of_run())


def _build_result(state: AttemptState, steps: Sequence[Step]) -> Solved:
    return Solved(
        passed=state.phase is Phase.COMMIT,
        files={path: text for path, text in state.change.items() if text is not None},
        verdict=state.verdict,
        trace=tuple(steps),
        reason=state.reason,
        ending=state.ending,
    )


class _Functions:
    """The caller's two functions as a model."""

    def __init__(self, spec: TaskSpec, generate: Generate, fix: Fix) -> None:
        self._spec, self._generate, self._fix = spec, generate, fix
        self.state: AttemptState | None = None

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer CODING by the functions; a plan and a reflection of one's own are not needed."""
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
        # A second call within a step means that the first answer could not be used; the last message says why.
        message = request.messages[-1].text if request.call_no else state.feedback
        if message:
            files = {path: text for path, text in state.change.items() if text is not None}
            answer = self._fix(self._spec, files, message)
        else:
            answer = self._generate(self._spec)
        return await answer if inspect.isawaitable(answer) else answer


def _as_json(files: Files) -> str:
    """The files as the reply parser takes them character for character."""
    if not isinstance(files, Mapping):
        raise TypeError(f"generate and fix return a mapping of paths to texts, or a text, not {type(files).__name__}")
    return json.dumps({"files": [{"path": path, "content": text} for path, text in files.items()]})


@dataclass(frozen=True, slots=True, eq=False)
class FileTree:
    """Files in memory as a `core.code.tree.Tree`; ids of contents are git's."""

    files: Mapping[str, str]
    commit: str = field(default="0" * 40)

    def entries(self) -> Mapping[str, str]:
        """Path to blob id, in path order."""
        return {path: blob_id(encode(text), "sha1") for path, text in sorted(self.files.items())}

    def unwritable(self) -> frozenset[str]:
        """Files in memory hold no links."""
        return frozenset()

    def read(self, path: str) -> bytes:
        """A file's bytes; KeyError when there is none."""
        return encode(self.files[path])


class NoMemory:
    """A memory that holds nothing, for callers who bring none."""

    async def recall(self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1) -> Sequence[Lesson]:
        """Nothing was learned."""
        del query, limit, task_id, attempt
        return ()

    async def remember(self, state: AttemptState, task_id: int, description: str) -> None:
        """Nothing is kept."""

    async def conclude(self, state: AttemptState, task_id: int, solved: bool) -> None:
        """Nothing was kept that could be completed."""


def _silent(event: Event) -> None:
    """Events are not wanted."""
    del event
