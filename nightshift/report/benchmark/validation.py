"""Turns candidates into items by running their tests: some must fail before the commit and pass after it, every time.

The tests run on what a model will start from: a copy of the parent commit without its history, in the environment that
the parent commit declares. The commit's own change must pass the verdict, because otherwise no change could pass.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.code.environments import NO_ENVIRONMENT, Environment, EnvironmentStore
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.benchmark_results import Item
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import Result, SuiteJob, Trial
from nightshift.git.manager import GitManager
from nightshift.report.benchmark.commit_parts import CommitParts, NotText, read_parts
from nightshift.report.benchmark.mining import Filter
from nightshift.report.benchmark.statement import missing_name, write_statement
from nightshift.storage.db.benchmark_store import BenchmarkStore, Candidate, Dropped
from nightshift.verdict.runner import SuiteRunner

TIMES = 3
"""Number of consecutive times that the tests must fail before the commit and pass after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The test results before and after a commit."""

    before: Trial
    after: Trial

    @property
    def fixed(self) -> frozenset[str]:
        """The tests that fail before the commit and pass after it.

        If a test's file cannot be collected before the commit, the test counts as failing there.
        """
        failing = self.before.failing
        bare = {id_ for id_ in failing if "[" not in id_}
        collected_ids = {result.id for result in self.before.results}
        return frozenset(
            id_ for id_ in _passing(self.after)
            if id_ in failing or (id_ not in collected_ids and bare & {id_.partition("[")[0], id_.partition("::")[0]})
        )  # fmt: skip

    @property
    def still_passing(self) -> frozenset[str]:
        """The tests that pass before and after the commit."""
        return _passing(self.before) & _passing(self.after)


def _passing(trial: Trial) -> frozenset[str]:
    return frozenset(result.id for result in trial.results if result.result is Result.PASSED)


class Validation:
    """Validates candidates one after the other.

    Args:
        suite: runs tests.
        git: reads the repository, and makes the copies.
        environments: environments of repositories; without them tests only have the runner's own libraries.
        folder: parent folder for the copies.
    """

    def __init__(
        self,
        suite: SuiteRunner,
        git: GitManager,
        environments: EnvironmentStore | None,
        folder: Path,
    ) -> None:
        self._suite, self._git, self._environments, self._folder = suite, git, environments, folder

    async def validate(self, candidate: Candidate) -> Item | Dropped:
        """Return the item of a candidate, or why there is none.

        Raises:
            SandboxError: nothing can be run, which says nothing about the candidate.
            GitError: the repository cannot be read.
        """
        copy = self._folder / candidate.commit
        try:
            return await self._run_tests(candidate, *await asyncio.to_thread(self._trees, candidate, copy))
        except NotText as error:
            return _drop(candidate, Filter.TEXT, str(error))
        finally:
            await asyncio.to_thread(shutil.rmtree, copy, ignore_errors=True)

    def _trees(self, candidate: Candidate, copy: Path) -> tuple[Tree, Tree]:
        shutil.rmtree(copy, ignore_errors=True)
        commit = self._git.copy_of(candidate.repo, candidate.parent, copy)
        return self._git.tree(str(copy), commit), self._git.tree(candidate.repo, candidate.commit)

    async def _run_tests(self, candidate: Candidate, before: Tree, after: Tree) -> Item | Dropped:
        parts = await asyncio.to_thread(read_parts, before, after)
        job = job_of(before, parts, (await environment_of(before, self._environments)).digest, {})
        right = job_of(before, parts, job.environment, parts.change)
        first = Observed(before=await self._suite.observe(job), after=await self._suite.observe(right))
        if not _passing(first.after):
            return _drop(candidate, Filter.UNUSABLE, first.after.reason or "none of its tests passes after it")
        if not first.fixed:
            return _drop(candidate, Filter.PASSING, f"{len(first.still_passing)} tests pass before it as after it")
        fixed = first.fixed
        for _ in range(TIMES - 1):
            again = Observed(before=await self._suite.observe(job), after=await self._suite.observe(right))
            fixed &= again.fixed
        if not fixed:
            return _drop(candidate, Filter.FLAKY, f"{min(first.fixed)} does not give the same result each time")
        verdict = await self._suite.judge(right)
        if not verdict.passed:
            return _drop(candidate, Filter.FAILING, verdict.reason)
        return self._item(candidate, parts, before, first, fixed)

    def _item(
        self, candidate: Candidate, parts: CommitParts, before: Tree, seen: Observed, fixed: frozenset[str]
    ) -> Item | Dropped:
        missed = dict(_names_missing(seen, fixed))
        old = {path: text for path in parts.change if (text := text_of(before, path)) is not None}
        tests = {**parts.tests, **parts.support}
        statement = write_statement(candidate.message, parts.change, old, tests.values(), set(missed.values()))
        if not statement.text:
            return _drop(candidate, Filter.LEAK, f"its subject names {', '.join(statement.leaked[:3])}")
        judged = sorted(id_ for id_ in fixed if missed.get(id_) not in statement.unnamed)
        if not judged:
            return _drop(candidate, Filter.NAMES, f"nothing mentions {', '.join(sorted(statement.unnamed)[:3])}")
        return Item(
            key=candidate.key,
            repo=candidate.repo,
            commit=candidate.commit,
            parent=candidate.parent,
            subject=candidate.subject,
            statement=statement.text,
            lines=candidate.lines,
            files=candidate.files,
            committed_at=candidate.committed_at,
            fail_to_pass=tuple(judged),
            pass_to_pass_count=len(seen.still_passing),
        )


def job_of(before: Tree, parts: CommitParts, environment: str, change: Change) -> SuiteJob:
    """Return the job that runs a commit's tests on its parent with a change."""
    return SuiteJob(
        base=before,
        change=change,
        given=parts.tests,
        start=parts.support,
        gone=parts.gone,
        language=parts.language,
        environment=environment,
    )


async def environment_of(tree: Tree, environments: EnvironmentStore | None) -> Environment:
    """Return the environment that a tree declares, as far as it can be built.

    Of setup scripts, only those that the owner approved are run.
    """
    declared_environment = await environments.of(tree) if environments else NO_ENVIRONMENT
    if not (environments and declared_environment.digest):
        return NO_ENVIRONMENT
    try:
        return (await environments.make(tree, declared_environment)).environment
    except SandboxError:
        return NO_ENVIRONMENT  # the failing tests then show what is missing


def _names_missing(seen: Observed, fixed: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield id and missing name of each test that fails before the commit only because a name is missing."""
    messages = {result.id: result.message for result in seen.before.results}
    for id_ in fixed:
        bare, path = id_.partition("[")[0], id_.partition("::")[0]
        if name := missing_name(messages.get(id_) or messages.get(bare) or messages.get(path) or ""):
            yield id_, name


def _drop(candidate: Candidate, filter_: Filter, reason: str) -> Dropped:
    return Dropped(
        key=candidate.key,
        repo=candidate.repo,
        commit=candidate.commit,
        subject=candidate.subject,
        filter=filter_.name,
        reason=reason.partition("\n")[0][:500],
    )


async def validate_all(
    validation: Validation, store: BenchmarkStore, repo: str, most: int, tell: Callable[[Item | Dropped], None]
) -> None:
    """Validate the waiting candidates, the newest first.

    Each result is stored at once, so an interrupted run continues.

    Args:
        validation: validates a candidate.
        store: stores the results.
        repo: the repository of the candidates.
        most: number of new items after which it stops.
        tell: receives the result of each candidate.
    """
    item_count = 0
    for candidate in reversed(store.candidates(repo)):
        if item_count >= most:
            return
        outcome = await validation.validate(candidate)
        if isinstance(outcome, Item):
            item_count += 1
            store.add_item(outcome)
        else:
            store.add_mined([outcome])
        tell(outcome)
