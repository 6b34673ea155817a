"""The tools `run` and `run_tests`, which execute in throw-away sandbox jobs. Their results never count as a verdict."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nightshift.agent import feedback
from nightshift.agent.draft import Draft
from nightshift.agent.prompt.context import list_expected_files
from nightshift.agent.services import AgentServices
from nightshift.agent.suite_job import job_for
from nightshift.agent.tools import arguments
from nightshift.agent.tools.reading import missing
from nightshift.core.code.paths import is_test_path
from nightshift.core.errors import BadReply
from nightshift.core.isolation import Ended
from nightshift.core.shell import ShellJob, ShellResult
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.text.faults import name_first
from nightshift.core.text.formats import duration

OUTPUT_CHARS = 10_000
MOST_TEST_FILES = 100
NO_VERDICT = "this is no verdict"
"""Appears in each result of a test run."""
_ENDED = {
    Ended.TIMEOUT: "it was stopped at its time limit",
    Ended.OUTPUT_LIMIT: "it was stopped because it wrote too much",
    Ended.OUT_OF_MEMORY: "it ran out of memory",
    Ended.KILLED: "it was killed",
}


async def run(
    asked: arguments.Run, draft: Draft, context: AttemptContext, state: AttemptState, services: AgentServices
) -> tuple[str, bool]:
    """Run a command on a copy of the files; text files that it writes become part of the change if they are allowed."""
    if services.shell is None:
        raise BadReply("run: there is no sandbox for commands here.")
    limits = replace(context.run_limits, cpu_s=min(asked.timeout, context.run_limits.cpu_s))
    job = ShellJob(
        command=asked.command,
        base=services.tree,
        change=draft.change,
        tests=context.tests_beside(state),
        packages=state.packages,
        environment=state.environment,
        limits=limits,
    )
    result = await services.shell.execute(job)
    written, refused = list[str](), [f"{path} {why}" for path, why in result.dropped.items()]
    for path, text in result.files.items():
        try:
            draft.put(path, text, raw=True)
        except BadReply as bad:
            refused.append(str(bad).removesuffix("."))
        else:
            written.append(path if text is not None else f"{path} (removed)")
    return _report(result, written, refused), result.ended is Ended.EXITED and result.exit_code == 0


def _report(result: ShellResult, written: list[str], refused: list[str]) -> str:
    text = head_and_tail(result.output.rstrip("\n")) or "(no output)"
    ended = _ENDED.get(result.ended)
    lines = [text, f"({ended}, after {duration(result.duration_s)})" if ended else f"(exit code {result.exit_code})"]
    lines += [f"(now part of the change: {name_first(written)})"] if written else []
    lines += [f"(not kept: {name_first(refused, between='; ')})"] if refused else []
    return "\n".join(lines)


def head_and_tail(text: str) -> str:
    """Return a text; of a text longer than `OUTPUT_CHARS` only the start and end, with a note of what is left out."""
    if len(text) <= OUTPUT_CHARS:
        return text
    half = OUTPUT_CHARS // 2
    gone = text[half:-half]
    return f"{text[:half]}\n… ({len(gone):,} characters, {gone.count(chr(10))} lines left out) …\n{text[-half:]}"


async def run_tests(
    asked: arguments.RunTests, draft: Draft, context: AttemptContext, state: AttemptState, services: AgentServices
) -> tuple[str, bool]:
    """Run test files on the current change: the named ones, or those that a verdict would run."""
    only = _test_files(asked.files, draft) if asked.files else ()
    own = {**state.own_tests, **{path: text for path, text in draft.test_changes.items() if text is not None}}
    gone = tuple(path for path, text in draft.test_changes.items() if text is None)
    job = job_for(context, replace(state, change=draft.sources, own_tests=own, removed_tests=gone), services)
    trial = await services.suite.try_out(replace(job, only=only))
    unseen = [f"{path} {why}" for path, why in trial.dropped.items()]
    lines = [feedback.shape(trial) if trial.reason else feedback.describe_pass(trial)]
    lines += [f"(failed without your change already, left out: {name_first(trial.before)})"] if trial.before else []
    lines += [f"(not seen by the run: {name_first(unseen, between='; ')})"] if unseen else []
    return "\n".join([*lines, f"(took {duration(trial.duration_s)}; {NO_VERDICT})"]), not trial.reason


async def find_contradiction(
    draft: Draft, context: AttemptContext, state: AttemptState, services: AgentServices
) -> str:
    """Return what contradicts that a task is done; empty if nothing does.

    A task is not done if a file is missing that its supplied tests need, or if one of these tests fails.

    Raises:
        SandboxError: nothing could be run.
    """
    if not (given := context.task.spec.tests):
        return ""
    expected = await asyncio.to_thread(list_expected_files, context, replace(state, change=draft.sources), draft.view)
    if missing := [path for path in expected if path not in draft.view]:
        return f"the given tests need {', '.join(missing)}, which is missing."
    job = job_for(context, replace(state, change=draft.sources, own_tests={}), services)
    trial = await services.suite.try_out(replace(job, only=tuple(given)))
    return f"the given tests fail.\n\n{feedback.shape(trial)}" if trial.reason else ""


def _test_files(named: tuple[str, ...], draft: Draft) -> tuple[str, ...]:
    """Return the paths of named test files, including those in named folders; anything after `::` is ignored.

    Raises:
        BadReply: a name is not a test file.
    """
    view, test_files = draft.view, list[str]()
    paths = view.paths()
    for name in (name.split("::", 1)[0] for name in named):
        below = [path for path in paths if path.startswith(f"{name}/") and is_test_path(path)]
        if name not in view and not below:
            raise BadReply(f"run_tests: files: {missing(view, name)}")
        if name in view and not is_test_path(name):
            raise BadReply(f"run_tests: files: {name} is no test file.")
        test_files += below or [name]
    return tuple(dict.fromkeys(test_files))[:MOST_TEST_FILES]
