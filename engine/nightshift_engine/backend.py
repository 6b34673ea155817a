"""The built-in engine as a backend of the chain. It answers if it has found a change, and otherwise says why not.

One search serves all phases. PLANNING searches and describes the change that was found, CODING returns the files, and
REFLECTING says which changes the suite has refused. The result is cached under the state of the task's work, so that
the next phase does not search again. A search that ran out of time is repeated only if there is more time than before.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from nightshift.core.built_in import BUILT_IN
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import text_of
from nightshift.core.dialogue import SAW_HELD_OUT, Completion, Material, ModelRequest, file_block
from nightshift.core.errors import ModelRefused, ModelUnavailable, SandboxError
from nightshift.core.events import Kind, Level
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Change, Files, Language, digest
from nightshift.core.text.formats import duration
from nightshift.models.base import BackendSettings, BaseModelHandler, OnText, events_about
from nightshift.models.errors import BackendUnfit
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine.evaluation import EvaluationJob
from nightshift_engine.evaluator import SandboxEvaluator
from nightshift_engine.problem import Finding, OnProgress, Problem, Progress, settle
from nightshift_engine.synthesis import SandboxSynthesiser

log = logging.getLogger(__name__)

Solver = Callable[[Problem, OnProgress], Awaitable[Finding]]
"""A coroutine function that looks for a change. It raises `SandboxError` if nothing can be run."""

REMEMBERED = 64
ENDED_EARLY = 0.9
"""A search that took less than this share of its time budget counts as complete: it tried everything, and more time
would not help.
"""

_K = TypeVar("_K")
_V = TypeVar("_V")
_State = tuple[int | None, int, str, str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedSearch:
    """The finding of a search, the change from which the search began, and its time budget."""

    finding: Finding
    start: Change
    budget_s: float

    def answers(self, budget_s: float) -> bool:
        """Check whether this finding can be reused for a search with the time budget `budget_s`."""
        ended = self.finding.seconds < ENDED_EARLY * self.budget_s
        return self.finding.change is not None or ended or budget_s <= self.budget_s


class RepairBackend(BaseModelHandler):
    """Program repair and synthesis; needs a sandbox and no model. Use it from one event loop.

    Args:
        solve: the engine.
        budget_s: seconds that a search may take if the request sets no limit.
        grace_s: seconds beyond its budget that a search gets to end what is running.
        missing: returns the reason why nothing can be run yet, as a text for the owner; empty if nothing is missing.
    """

    name = BUILT_IN
    needs_sandbox = True
    setup = "the built-in engine needs a sandbox that can run tests"

    def __init__(
        self, solve: Solver, *, budget_s: float = 60.0, grace_s: float = 10.0, missing: Callable[[], str] = str
    ) -> None:
        super().__init__()
        self._solve, self._budget_s, self._grace_s, self._missing = solve, budget_s, grace_s, missing
        self._searches: OrderedDict[_State, _CachedSearch] = OrderedDict()
        self._starts: OrderedDict[tuple[int | None, str], Change] = OrderedDict()

    @classmethod
    def from_settings(cls, settings: BackendSettings, model: str | None) -> Self | None:  # noqa: ARG003 - it has no model
        """Make the engine if the settings give access to a sandbox; the name of a model is ignored."""
        return cls.over(settings.runs, budget_s=settings.repair_s) if settings.runs else None

    @classmethod
    def over(cls, runs: Callable[[], SuiteRuns | str], *, budget_s: float = 60.0) -> Self:
        """Make an engine that searches in a sandbox.

        `runs` returns the object that runs suites in the sandbox, or a text with the reason why there is none yet.
        """
        return cls(_solver(runs), budget_s=budget_s, missing=lambda: why if isinstance(why := runs(), str) else "")

    @property
    def free(self) -> bool:
        """True, because the engine runs locally."""
        return True

    def is_available(self) -> bool:
        """Check whether there is a sandbox."""
        self.detail = self._missing()
        return not self.detail

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """Search, or reuse the finding for the same state of the work; return the reply that the phase expects.

        Raises:
            BackendUnfit: the engine cannot help with this request, or has found nothing.
            ModelUnavailable: nothing can be run at present.
        """
        if why := why_unfit(request):
            raise BackendUnfit(why)
        assert request.material is not None, "why_unfit refuses requests without material"
        began = asyncio.get_running_loop().time()
        reporter = Reporter(request, on_text)
        search = await self._recall_or_search(request, request.material, reporter)
        took_s, finding = asyncio.get_running_loop().time() - began, search.finding
        if finding.change is None:
            raise BackendUnfit(finding.why_not or "the engine found no change", seconds=took_s, tried=finding.tried)
        text = self._reply_text(request, request.material, search)
        extra = {"kind": finding.kind, "tried": finding.tried, "estimated": finding.estimated}
        if finding.saw_held_out:
            extra[SAW_HELD_OUT] = True
        return Completion(text=text, backend=self.name, model=BUILT_IN, latency_s=took_s, cost_usd=0.0, extra=extra)

    def _reply_text(self, request: ModelRequest, material: Material, search: _CachedSearch) -> str:
        if request.phase is Phase.PLANNING:
            return plan_text(search.finding)
        if request.phase is Phase.REFLECTING:
            return reflection_text(search.finding, material)
        target = {**search.start, **(search.finding.change or {})}
        _remember(self._starts, (request.task_id, digest(settle(material.tree, target))), search.start)
        return coding_text(search.finding, list_changed_files(material, target))

    async def _recall_or_search(self, request: ModelRequest, material: Material, reporter: Reporter) -> _CachedSearch:
        """Return the cached search for this state of the work, unless a new one has more time and could find more."""
        work = material.state
        excluded = frozenset(work.seen)
        state = (request.task_id, work.attempt, material.tree.commit, digest(work.change), excluded)
        budget_s = self._budget_s if request.within_s is None else min(request.within_s, self._budget_s)
        search = self._searches.get(state)
        if search is None or not search.answers(budget_s):
            start, change = self._beginning(request.task_id, material)
            problem = Problem(
                job=job_of(material, change),
                whole_tests=whole_tests(material),
                task_id=request.task_id,
                description=material.context.task.spec.description,
                excluded=excluded,
                budget_s=budget_s,
            )
            search = _CachedSearch(
                finding=await self._search(problem, reporter.progress), start=start, budget_s=budget_s
            )
            _remember(self._searches, state, search)
            reporter.report_finding(search.finding)
        return search

    def _beginning(self, task_id: int | None, material: Material) -> tuple[Change, Change]:
        """Return the change that findings build on, and the change that the engine is shown.

        If the current change was found by the engine and then refused, the engine is shown this change and continues
        the search that found it. The new finding is then a change on top of the state in which that search began.
        """
        change = settle(material.tree, material.state.change)
        start = self._starts.get((task_id, digest(change)))
        if start is not None:
            return start, change
        return (first := first_change(material)), first

    async def _search(self, problem: Problem, on_progress: OnProgress) -> Finding:
        try:
            async with asyncio.timeout(problem.budget_s + self._grace_s):
                return await self._solve(problem, on_progress)
        except TimeoutError:
            why = f"the engine's search did not end within {problem.budget_s:g} s"
            return Finding(why_not=why, seconds=problem.budget_s)
        except SandboxError as error:
            raise ModelUnavailable(f"the engine could not run anything: {error}") from error
        except Exception as error:
            # A fault of the engine must not end a task that a model can do: it is logged, and the chain continues.
            log.exception("the built-in engine failed")
            raise ModelRefused(f"internal error of the engine: {type(error).__name__}: {error}") from error


def _solver(runs: Callable[[], SuiteRuns | str]) -> Solver:
    """Return a solver that creates the engine on its first call, because the engine imports many modules."""
    solvers: list[Solver] = []

    async def solve(problem: Problem, on_progress: OnProgress) -> Finding:
        if not solvers:
            suite_runs = runs()
            if isinstance(suite_runs, str):
                raise SandboxError(suite_runs)
            from nightshift_engine.engine import Engine  # noqa: PLC0415 - see above

            solvers.append(Engine(SandboxEvaluator(suite_runs), SandboxSynthesiser(suite_runs)).solve)
        return await solvers[0](problem, on_progress)

    return solve


def _remember(cache: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    """Put an entry into the cache and drop the oldest entries if the cache is full."""
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > REMEMBERED:
        cache.popitem(last=False)


# The functions below decide whether the engine can work on a request, and make the engine's job from it.


ANSWERED = frozenset({Phase.PLANNING, Phase.CODING, Phase.REFLECTING})


def why_unfit(request: ModelRequest) -> str:
    """Return why the engine cannot help, as a sentence that may follow a colon; empty if it may try."""
    if request.material is None:
        return "the engine works on the code of a task, and this request contains no code"
    spec = request.material.context.task.spec
    if spec.language is not Language.PYTHON:
        return f"the engine repairs only Python code, but the task's language is {spec.language}"
    if request.phase is Phase.CODING and request.call_no:
        return "the agent rejected the engine's reply, and the engine would send the same reply again"
    if request.escalation:
        return "the engine's changes were rejected repeatedly, so the task needs another model"
    if not (spec.tests or spec.test_command):
        return "the task has no tests that the engine may see, and the engine cannot judge a change without tests"
    if not _has_code(request.material):
        return "there is no Python code that the engine could change, and no stub that it could fill"
    if request.phase not in ANSWERED:
        return f"the engine only changes code until the tests pass, so it cannot answer in {request.phase}"
    return ""


def job_of(material: Material, start: Change) -> EvaluationJob:
    """Make the job for trying candidates: the task's tree with the change `start`, and the tests a model may see."""
    case, work = material.context, material.state
    spec, limits = case.task.spec, case.run_limits
    return EvaluationJob(
        base=material.tree,
        change=start,
        tests=case.shown_tests,
        command=spec.test_command,
        start=spec.files,
        packages=work.packages,
        whole_tree=case.whole_tree,
        wall_s=limits.cpu_s,
        memory_mb=limits.memory_mb,
        cpus=limits.cpus,
        pids=limits.pids,
        work_mb=limits.work_mb,
    )


def whole_tests(material: Material) -> Files:
    """Return all given tests, with the cases that are held out; empty if no case is held out."""
    case = material.context
    return case.task.spec.tests if case.held.shown else {}


def first_change(material: Material) -> Change:
    """Return the change to begin with if no earlier search is known.

    The current change may be the engine's own, found before a restart of the daemon. Such a change passed all shown
    tests and teaches nothing, so the search then begins with the owner's files.
    """
    work, tree = material.state, material.tree
    ours = bool(work.models) and set(work.models) == {BUILT_IN}
    return settle(tree, material.context.task.spec.files if ours else work.change)


def _has_code(material: Material) -> bool:
    removed = {path for path, text in material.state.change.items() if text is None}
    tests = material.context.task.spec.tests
    paths = {*material.tree.entries(), *material.state.change} - removed - set(tests)
    return any(path.endswith(".py") and not is_test_path(path) for path in paths)


# The class below reports the progress of a search.


REPORT_EVERY_S = 2.0


class Reporter:
    """Reports the progress of one search as events.

    Args:
        request: gives the context of the events, which go to `material.emit`.
        on_text: called with an empty text at each progress, as a heartbeat.
    """

    def __init__(self, request: ModelRequest, on_text: OnText | None) -> None:
        self._request, self._on_text = request, on_text
        self._reported_at_s = -math.inf if request.within_s is None else time.monotonic()

    def progress(self, progress: Progress) -> None:
        """Report the progress, unless something was reported less than `REPORT_EVERY_S` ago.

        If the request limits the engine's time because a model is asked next, the first report comes only after
        `REPORT_EVERY_S`. A short search then reports nothing.
        """
        if self._on_text:
            self._on_text("")
        now_s = time.monotonic()
        if now_s - self._reported_at_s < REPORT_EVERY_S:
            return
        self._reported_at_s = now_s
        tried = f"tried {progress.tried:,} of about {max(progress.estimated, progress.tried):,} candidates"
        data = {"tried": progress.tried, "estimated": progress.estimated, "best": progress.best}
        self._report(f"repair: {progress.text or tried}", data)

    def report_finding(self, finding: Finding) -> None:
        """Report the change that was found, if any, and the warning about it."""
        if finding.change is None:
            return
        data = {"tried": finding.tried, "estimated": finding.estimated, "kind": finding.kind}
        self._report(f"repair: found after {finding.tried:,} candidates: {finding.description}", data)
        if finding.warning:
            self._report(f"repair: {finding.warning}", data, Level.WARNING)

    def _report(self, text: str, data: dict[str, Any], level: Level = Level.INFO) -> None:
        material = self._request.material
        if material and material.emit:
            about = events_about(self._request, material.emit)
            about.emit(Kind.REPAIR_PROGRESS, text[:500], level=level, **data)


# The functions below write the text of the engine's replies.


_NUMBER = re.compile(r"^\s*\d+\.\s*")
_MAX_SUMMARY = 180


def plan_text(finding: Finding) -> str:
    """Write the plan, with the description of the change and how it was found."""
    sentence = f"Found in {duration(finding.seconds)}: {finding.description}. {_count(finding)}"
    return "\n".join(part for part in (finding.plan.strip(), sentence, describe_warning(finding)) if part)


def coding_text(finding: Finding, changed: Change) -> str:
    """Write a summary, and each changed file as one fenced block with its path.

    Args:
        finding: the finding.
        changed: maps the path of each changed file to its whole new text; None removes the file.
    """
    head = [f"Summary: {summary(finding, changed)}", _count(finding), describe_warning(finding)]
    blocks = [file_block(path, text) for path, text in sorted(changed.items())]
    return "\n\n".join(part for part in (*head, *blocks) if part) + "\n"


def reflection_text(finding: Finding, material: Material) -> str:
    """Write the reflection that `nightshift.agent.reflecting` reads."""
    verdict = material.state.verdict
    kind = verdict.failures[0].kind if verdict and verdict.failures else "failing tests"
    reflection = {
        "pattern": kind,
        "root_cause": finding.reflection or describe_refusal(material) or describe_observation(finding.plan),
        "hypothesis": f"With it all tests that are shown pass; {finding.tried} candidates were tried",
        "suggested_fix": finding.description,
        "replan": False,
        "tests_at_fault": False,
    }
    return json.dumps(reflection, ensure_ascii=False)


def summary(finding: Finding, changed: Change) -> str:
    """Summarise the change in one line that can head a commit."""
    files = ", ".join(sorted(changed)) if len(changed) < 3 else f"{len(changed)} files"
    description = " ".join(finding.description.replace("`", "").split()) or "let the failing tests pass"
    return f"Fix {files}: {description}"[:_MAX_SUMMARY]


def list_changed_files(material: Material, target: Change) -> Change:
    """Return the files to send so that the current change becomes `target`; both are changes of the same tree."""
    now = material.state.change
    return {path: text for path, text in list_wanted_texts(material, target) if path not in now or now[path] != text}


def list_wanted_texts(material: Material, target: Change) -> Iterator[tuple[str, str | None]]:
    """Yield the path and the wanted text of each file that the current change or `target` changes.

    If only the current change changes a file, the wanted text is the file's text in the tree.
    """
    for path in {**material.state.change, **target}:
        if path in target:
            yield path, target[path]
        else:
            yield path, text_of(material.tree, path)


def _count(finding: Finding) -> str:
    how = f", by {finding.kind.replace('_', ' ')}" if finding.kind else ""
    return f"The built-in engine tried {finding.tried:,} of about {finding.estimated:,} candidates{how}."


def describe_warning(finding: Finding) -> str:
    """Return the warning about a finding as a sentence; empty if there is none."""
    return f"Warning: {finding.warning}." if finding.warning else ""


def describe_refusal(material: Material) -> str:
    """Say that the engine's own changes were refused; empty if another backend wrote the last change."""
    work = material.state
    if not work.seen or set(work.models) != {BUILT_IN}:
        return ""
    count = len(set(work.seen))
    changes = f"{count} changes" if count > 1 else "a change"
    return f"{changes} of the engine's passed all tests that are shown and failed the suite; excluded now"


def describe_observation(plan: str) -> str:
    """Return the first two lines of the plan: the result of the tests, and the suspected lines."""
    lines = [_NUMBER.sub("", line).strip() for line in plan.split("\n") if line.strip()]
    return " ".join(lines[:2]) or "the tests fail"
