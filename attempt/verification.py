"""Looks at a commit again: whether it is what its note says, and whether what was proved then is proved now.

Two halves. What git and the note say of the commit is compared without running anything; a note that does not belong to
the commit ends it there, because its tests prove nothing about another tree. Then everything that the note names is run
again in a sandbox, on the parent with the commit's change on top: the same tests, with new random names and new copies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from attempt import recorded, rerun, seal
from attempt.checks import Check, Report, failed, ok, unchecked
from attempt.evidence import FORMAT, Note, UnreadableNote, read
from attempt.regression import WithRegression
from core.commit_message import task_of
from core.dependencies import ImportCache
from core.errors import CommandBlocked, NoEvidence, SandboxError, UnknownCommit
from core.ports import Suite
from core.revisions import CommitFacts
from core.tree import Tree
from core.undo import undoes
from core.verdicts import Verdict
from git_manager import GitManager

NOTES = "refs/notes/nightshift"
_REVERT = (
    "the commit takes another one back, and no evidence is kept for that: its message says which tests were run, and "
    "`cli.py verify` can look at the commits around it"
)
_FETCH = f"git fetch origin {NOTES}:{NOTES}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A suite, or why nothing may be executed here."""

    suite: Suite | None
    why_not: str = ""


class Verification:
    """Looks at the commits of one repository again.

    Args:
        git: reads it; nothing is written to it.
        repo: a checkout of it.
        open_suite: finds a sandbox; called only when there is something to run.
        key: of this home's seal, empty where it has none.
    """

    def __init__(
        self, git: GitManager, repo: str, open_suite: Callable[[], Awaitable[Opened]], key: bytes = b""
    ) -> None:
        self._git, self._repo, self._open_suite, self._key = git, repo, open_suite, key

    async def verify(self, name: str) -> Report:
        """Look at the commit that a name stands for.

        Raises:
            UnknownCommit: there is none.
            NoEvidence: it has no note; the message says how to fetch notes.
            GitError: the repository cannot be read.
        """
        facts, text = await asyncio.to_thread(self._read, name)
        subject = facts.message.strip().partition("\n")[0]
        blank = Report(commit=facts.id, subject=subject, task=task_of(facts.message), label=None, checks=())
        try:
            note = read(text)
        except UnreadableNote as error:
            return replace(blank, checks=(failed("note", str(error)),))
        report = replace(blank, label=note.evidence.label, task=note.task)
        its_own = recorded.belongs(note, facts)
        checks = (ok("note", f"format {note.format}, of task {note.task}"), *its_own)
        if not recorded.is_its_own(its_own):
            why = "the note does not belong to this commit, so nothing was run"
            return replace(report, checks=(*checks, unchecked("tests", why)))
        tree, base = (self._git.tree(self._repo, commit) for commit in (facts.id, note.base))
        sealed = seal.look(text, self._key)
        checks += tuple(await asyncio.to_thread(lambda: [*recorded.claims(note, facts, tree, base, sealed)]))
        return await self._run(replace(report, checks=checks), note, tree, base)

    def _read(self, name: str) -> tuple[CommitFacts, str]:
        commit = self._git.resolve(self._repo, name)
        text, facts = self._git.read_note(self._repo, commit), self._git.describe(self._repo, commit)
        if text is None:
            raise NoEvidence(_REVERT if undoes(facts.message) else self._missing(commit))
        return facts, text

    def _missing(self, commit: str) -> str:
        """Why there may be no note, and what to do about it."""
        try:
            self._git.resolve(self._repo, NOTES)
        except UnknownCommit:
            return (
                f"commit {commit[:12]} has no evidence, because the repository has none at all: a clone leaves notes "
                f"behind. Fetch them with\n  {_FETCH}"
            )
        return (
            f"commit {commit[:12]} has no evidence: Nightshift did not make it, or its note is younger than what was "
            f"fetched last. Fetch again with\n  {_FETCH}"
        )

    async def _run(self, report: Report, note: Note, tree: Tree, base: Tree) -> Report:
        again = await asyncio.to_thread(rerun.plan, note, tree, base)
        if again.missing:
            gone = failed("tests", f"the commit does not hold {', '.join(again.missing)}")
            return replace(report, checks=(*report.checks, gone))
        verdict = await self._judged(note, again)
        if isinstance(verdict, Check):
            return replace(report, checks=(*report.checks, verdict))
        checks = (*report.checks, *rerun.weigh(note, again, verdict))
        return replace(report, checks=checks, ran=True, duration_s=verdict.duration_s)

    async def _judged(self, note: Note, again: rerun.Rerun) -> Verdict | Check:
        opened = await self._open_suite()
        if opened.suite is None:
            return unchecked("tests", f"nothing was executed: {opened.why_not}")
        suite = opened.suite if note.format == FORMAT else WithRegression(opened.suite, ImportCache())
        try:
            return await suite.judge(again.job)
        except (SandboxError, CommandBlocked) as error:
            return unchecked("tests", f"nothing could be run: {error}")
