"""Which tests a revert would break: those that reach its files are run on the tree without the change.

The run differs from that of a task in one point. A task's change may not touch tests, so the runner leaves such edits
out; a revert takes away the very tests that came with the change. Therefore the reverted tree itself is judged, with
its tests in the role of given ones, and what fails is held against the tip, where it may fail already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from core.dependencies import ImportCache, dependants
from core.ports import Suite
from core.tasks import Language, Limits
from core.text import decode
from core.tree import Tree
from core.verdicts import Result, SuiteJob, Verdict

BATCH = 20
"""How many files of tests one run has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """What is compared: the tip, the tree that the revert would make of it, and the paths at which they differ.

    With `whole_tree` tests of unknown closure count as reaching every file, as in the owner's repositories.
    """

    tip: Tree
    reverted: Tree
    changed: Collection[str]
    whole_tree: bool

    def reached(self, imports: ImportCache) -> frozenset[str]:
        """The files of tests in the reverted tree that can see one of the paths."""
        return dependants(self.reverted, self.changed, imports, unknown=self.whole_tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """`passed` counts tests; `broken` are ids of tests that fail because of the revert, or why a run proved nothing."""

    passed: int = 0
    broken: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """For the message of the commit."""
        if not self.passed:
            return "No test of other work reaches its files."
        return f"{self.passed} test{'s that reach' if self.passed > 1 else ' that reaches'} its files passed."


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertJudge:
    """Runs the tests; `packages` are those that they may need, name to exact version. No suite is needed for none."""

    suite: Suite | None
    limits: Limits
    packages: Mapping[str, str]

    async def judge(self, trees: Trees, tests: Collection[str]) -> Judged:
        """Judge a revert by these files of tests.

        Raises:
            SandboxError: nothing could be run.
        """
        passed, broken = 0, dict[str, None]()
        for language, paths in _batches(tests):
            verdict = await self._run(trees, trees.reverted, paths, language)
            passed += verdict.count(Result.PASSED)
            if bad := _faults(verdict):
                failing = [path for path in paths if any(name.startswith(f"{path}::") for name in bad)] or paths
                before = _faults(await self._run(trees, trees.tip, failing, language))
                broken |= dict.fromkeys(sorted(bad - before))
        return Judged(passed=passed, broken=tuple(broken))

    async def _run(self, trees: Trees, tree: Tree, paths: list[str], language: Language) -> Verdict:
        there = tree.entries()
        job = SuiteJob(
            base=tree,
            change={},
            given={path: _text(tree, path) for path in paths if path in there},
            language=language,
            packages=self.packages,
            whole_tree=trees.whole_tree,
            wall_s=self.limits.suite_s,
            memory_mb=self.limits.memory_mb,
            cpus=self.limits.cpus,
            pids=self.limits.pids,
            work_mb=self.limits.work_mb,
        )
        assert self.suite, "there are tests, so a suite was opened"
        return await self.suite.judge(job)


def _batches(paths: Collection[str]) -> Iterator[tuple[Language, list[str]]]:
    for language in Language:
        mine = sorted(path for path in paths if path.endswith(".py") == (language is Language.PYTHON))
        yield from ((language, mine[start : start + BATCH]) for start in range(0, len(mine), BATCH))


def _faults(verdict: Verdict) -> frozenset[str]:
    """The tests that fail; where none does and the run still proved nothing, the reason."""
    return frozenset() if verdict.passed else verdict.failing or frozenset({verdict.reason})


def _text(tree: Tree, path: str) -> str:
    return decode(tree.read(path))
