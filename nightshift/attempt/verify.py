"""Verifies a commit again: whether its note describes it, and whether its evidence still holds.

There are two halves. First the note's claims about the commit are compared with git, without running anything. If the
note does not belong to the commit, verification ends, because the note's tests prove nothing about another tree. Then
everything that the note names is run again in a sandbox, on the parent with the commit's change on top: the same tests,
with new must-fail copies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import partial

from nightshift.attempt import evidence
from nightshift.attempt.candidate import differing
from nightshift.attempt.evidence import FORMAT, Note, NotedLimits, Sealed, UnreadableNote, digests, read_note
from nightshift.attempt.regression import WithRegression
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.environments import EnvironmentStore
from nightshift.core.code.tree import Tree, read_text
from nightshift.core.errors import CommandBlocked, NoEvidence, SandboxError, UnknownCommit
from nightshift.core.isolation import RUN_LIMITS, RunLimits
from nightshift.core.ports import Suite
from nightshift.core.tasks.attempt_state import describe_tests
from nightshift.core.tasks.change_checks import LINTER_NOTE
from nightshift.core.tasks.commit_message import FORCED, draft_of, subject_of, task_of, trailers, undoes
from nightshift.core.tasks.revisions import CommitFacts
from nightshift.core.tasks.task import Files
from nightshift.core.tasks.verdicts import Evidence, Label, Result, SuiteJob, Verdict
from nightshift.core.text.faults import name_first
from nightshift.core.text.formats import duration
from nightshift.core.version import VERSION
from nightshift.git.manager import GitManager
from nightshift.verdict.findings import assets
from nightshift.verdict.held.layer import KIND as HELD_OUT
from nightshift.verdict.languages import test_config
from nightshift.verdict.mutation import changes_anything
from nightshift.verdict.run import bare, text_before

NOTES = "refs/notes/nightshift"
_REVERT = (
    "the commit reverts another one, and no evidence is kept for that: its message says which tests were run, and "
    "`nightshift verify` can check the commits around it"
)
_NOT_JUDGED = "the commit was integrated without a run, as its owner asked, so there is no evidence for it"
_MOVED = "the task moved all files of {} into its project, which this version cannot do again"
_FETCH = f"git fetch origin {NOTES}:{NOTES}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSuite:
    """A suite that runs tests; or `why_not`, the reason why nothing may be executed on this machine."""

    suite: Suite | None
    why_not: str = ""
    environments: EnvironmentStore | None = None


class Verification:
    """Verifies commits of one repository again.

    Args:
        git: reads the repository; nothing is written to it.
        repo: a checkout of the repository.
        open_suite: opens a suite in a sandbox; called only if there is something to run.
        key: the key of this home's seal; empty if the home has none.
    """

    def __init__(
        self, git: GitManager, repo: str, open_suite: Callable[[], Awaitable[OpenedSuite]], key: bytes = b""
    ) -> None:
        self._git, self._repo, self._open_suite, self._key = git, repo, open_suite, key

    async def verify(self, name: str, listener: Told | None = None) -> Report:
        """Verify a commit; `listener` receives the current activity and the checks so far.

        Args:
            name: any name that git resolves to the commit.
            listener: called when the activity changes; None if nobody listens.

        Raises:
            UnknownCommit: there is no such commit.
            NoEvidence: the commit has no note; the message says how to fetch notes.
            GitError: the repository cannot be read.
        """
        tell = listener or (lambda _doing, _checks: None)
        tell("reads the note", ())
        facts, text = await asyncio.to_thread(self._read, name)
        subject = subject_of(facts.message)
        blank = Report(commit=facts.id, subject=subject, task=task_of(facts.message), label=None, checks=())
        if draft_of(facts.message):
            return describe_draft(blank, facts, text, self._key)
        if text is None:
            raise NoEvidence(self._missing(facts))
        try:
            note = read_note(text)
        except UnreadableNote as error:
            return replace(blank, checks=(report_failed("note", str(error)),))
        report = replace(blank, label=note.evidence.label, task=note.task)
        its_own = belongs(note, facts)
        rules = f"judged by the rules of version {VERSION}, whichever version wrote it"
        checks = (ok("note", f"format {note.format}, of task {note.task}; {rules}"), *its_own)
        if not is_its_own(its_own):
            why = "the note does not belong to this commit, so nothing was run"
            return replace(report, checks=(*checks, report_unchecked("tests", why)))
        if note.moved:
            return replace(report, checks=(*checks, report_unchecked("tests", _MOVED.format(", ".join(note.moved)))))
        tree, base = (self._git.tree(self._repo, commit) for commit in (facts.id, note.base))
        sealed = evidence.check_seal(text, self._key)
        checks += tuple(await asyncio.to_thread(lambda: [*claims(note, facts, tree, base, sealed)]))
        return await self._run(replace(report, checks=checks), note, note.scope.of(tree), note.scope.of(base), tell)

    def _read(self, name: str) -> tuple[CommitFacts, str | None]:
        commit = self._git.resolve(self._repo, name)
        return self._git.describe(self._repo, commit), self._git.read_note(self._repo, commit)

    def _missing(self, facts: CommitFacts) -> str:
        """Explain why a commit has no note, and what to do about it."""
        if undoes(facts.message):
            return _REVERT
        if task_of(facts.message) is not None and FORCED in facts.message:
            return _NOT_JUDGED
        commit = facts.id
        try:
            self._git.resolve(self._repo, NOTES)
        except UnknownCommit:
            return (
                f"commit {commit[:12]} has no evidence, because the repository has none at all: a clone leaves notes "
                f"behind. Fetch them with\n  {_FETCH}"
            )
        return (
            f"commit {commit[:12]} has no evidence: Nightshift did not make it, or its note is newer than what was "
            f"fetched last. Fetch again with\n  {_FETCH}"
        )

    async def _run(self, report: Report, note: Note, tree: Tree, base: Tree, tell: Told) -> Report:
        tell("makes the sandbox ready", report.checks)
        again = await asyncio.to_thread(plan_rerun, note, tree, base)
        if again.missing:
            gone = report_failed("tests", f"the commit does not contain {', '.join(again.missing)}")
            return replace(report, checks=(*report.checks, gone))
        opened = await self._open_suite()
        digest = await choose_environment(opened, note, again.job.base)
        again = replace(again, job=replace(again.job, environment=digest))
        tell(_to_run(note), report.checks)
        verdict = await self._judge(note, again, opened)
        if isinstance(verdict, Check):
            return replace(report, checks=(*report.checks, verdict))
        checks = (*report.checks, *compare(note, again, verdict))
        return replace(report, checks=checks, ran=True, duration_s=verdict.duration_s)

    async def _judge(self, note: Note, again: Rerun, opened: OpenedSuite) -> Verdict | Check:
        if opened.suite is None:
            return report_unchecked("tests", f"nothing was executed: {opened.why_not}")
        suite = opened.suite if note.format == FORMAT else WithRegression(opened.suite, ImportCache())
        try:
            return await suite.judge(again.job)
        except (SandboxError, CommandBlocked) as error:
            return report_unchecked("tests", f"nothing could be run: {error}")


async def choose_environment(opened: OpenedSuite, note: Note, base: Tree) -> str:
    """Return the digest of the environment for a new run: the note's, or the base's if that is now another one."""
    if not note.environment or opened.environments is None:
        return ""
    if await opened.environments.declares(base, note.environment):
        return note.environment
    return (await opened.environments.of(base)).digest


def _to_run(note: Note) -> str:
    many = len(note.evidence.ids)
    return f"runs {many} test{'' if many == 1 else 's'} again" if many else "runs its command again"


def describe_draft(blank: Report, facts: CommitFacts, text: str | None, key: bytes) -> Report:
    """Return the report on a draft. A draft claims nothing that could be run again, so no tests are run.

    The report contains the test results in the draft's note.
    """
    number = draft_of(facts.message)
    report = replace(blank, label=Label.DRAFT, task=int(number) if number.isdecimal() else None, is_draft=True)
    try:
        note = read_note(text) if text else None
    except UnreadableNote as error:
        return replace(report, checks=(report_unchecked("note", str(error)),))
    if note is None or not is_its_own(its_own := belongs(note, facts)):
        return replace(report, checks=(report_unchecked("note", "there is none that was written for it"),))
    tests = describe_tests(note.passed, len(note.evidence.ids), note.failing, note.reason)
    checks = (*its_own, _seal(evidence.check_seal(text or "", key)), report_failed("tests", tests))
    return replace(report, checks=checks)


# Functions that compare the note with git, without running anything.


def _seal(sealed: Sealed) -> Check:
    checks = {
        Sealed.OURS: ok("seal", "the note is as this home wrote it"),
        Sealed.BROKEN: report_failed("seal", "the note was altered after this home had sealed it"),
        Sealed.ANOTHER: report_unchecked(
            "seal", "another home sealed the note; only that one can tell whether it was altered"
        ),
        Sealed.NONE: report_unchecked("seal", "the note has no seal, so it is not known whether it was altered"),
    }
    return checks[sealed]


def belongs(note: Note, facts: CommitFacts) -> tuple[Check, ...]:
    """Compare the note's commit, tree and parent with the commit's own."""
    return (
        ok("commit", "the note was written for it")
        if note.commit == facts.id
        else report_failed(
            "commit", f"the note was written for {note.commit[:12]}: copied, or the commit was made again"
        ),
        _same_id("tree", note.tree, facts.tree, "is what was judged"),
        _same_id("base", note.base, " ".join(facts.parents), "is the parent"),
    )


def is_its_own(checks: tuple[Check, ...]) -> bool:
    """Check whether all checks of `belongs` passed."""
    return all(check.standing is Standing.OK for check in checks)


def claims(note: Note, facts: CommitFacts, tree: Tree, base: Tree, sealed: Sealed) -> Iterator[Check]:
    """Yield checks of the seal, unknown fields, the trailers, and the paths that the commit changes."""
    yield _seal(sealed)
    if note.strange:
        yield report_unchecked("fields", f"this version does not know {name_first(note.strange)}")
    yield _trailers(note, facts)
    yield _paths(note, differing(base, tree))


def _same_id(what: str, then: str, now: str, good: str) -> Check:
    if then == now:
        return ok(what, f"{now[:12]} {good}")
    return report_failed(what, f"the note names {then[:12] or 'none'}, the commit has {now[:12] or 'none'}")


def _trailers(note: Note, facts: CommitFacts) -> Check:
    message_trailers = trailers(facts.message)
    wanted = {"Task": str(note.task), "Verdict": str(note.evidence.label)}
    if note.format == FORMAT:
        wanted |= {"Model": note.model, "Iterations": str(note.iterations)}
    wrong = [f"{name}: {message_trailers.get(name, 'none')}, the note has {value}"
             for name, value in wanted.items() if message_trailers.get(name, "") != value]  # fmt: skip
    return (
        report_failed("trailers", "; ".join(wrong))
        if wrong
        else ok("trailers", f"{', '.join(wanted)} agree with the note")
    )


def _paths(note: Note, changed_paths: frozenset[str]) -> Check:
    if not changed_paths:
        return report_failed("files", "the commit changes no file")
    judged = {note.scope.full(path) for path in (*note.tests, *note.own_tests, *note.removed_tests, *note.changed)}
    if left_out := sorted(changed_paths & set(map(note.scope.full, note.evidence.dropped))):
        return report_failed("files", f"the run left out {name_first(left_out)}, which the commit changes")
    if note.format == FORMAT and (stray := sorted(changed_paths - judged)):
        return report_failed("files", f"the commit changes {name_first(stray)}, which was not judged")
    return ok(
        "files",
        f"the commit changes {len(changed_paths)} file{'' if len(changed_paths) == 1 else 's'}, all of them judged",
    )


# Functions that repeat the run that a note describes.


MOST = RunLimits(cpu_s=3600.0, cpus=16.0, memory_mb=16_384, pids=4096, work_mb=8192)
"""Upper limits of a run. A note may come from elsewhere, so its limits are not trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """A run to repeat.

    Attributes:
        job: the job of the run.
        missing: test files that the note names but the commit does not contain.
        start_known: True if the texts of all files that came with the task are known. The note has only the files'
            digests, so the text of a file that the commit changed is lost. Without that text, nothing can show that the
            self-written tests failed before the change.
    """

    job: SuiteJob
    missing: tuple[str, ...]
    start_known: bool


def plan_rerun(note: Note, tree: Tree, base: Tree) -> Rerun:
    """Return the run that the note describes: the parent's tree with the commit's change on top."""
    present = tree.entries().keys()
    changes = note.changed if note.format == FORMAT else differing(base, tree) - {*note.tests, *note.own_tests}
    start = _start(note, tree)
    job = SuiteJob(
        base=base,
        change={path: read_text(tree, path) if path in present else None for path in sorted(changes)},
        given={path: read_text(tree, path) for path in note.tests if path in present},
        held=note.held,
        own={path: read_text(tree, path) for path in note.own_tests if path in present},
        own_proven=len(start) < len(note.start),
        start=start,
        regression=tuple(path for path, role in note.evidence.suites.items() if role == "regression"),
        command=note.command,
        allow=note.allow,
        language=note.language,
        packages=note.packages,
        whole_tree=note.evidence.complete,
        limits=_read_limits(note.limits),
        documents=note.evidence.label is Label.DOCUMENTED,
        takes_away=note.evidence.label is Label.REMOVED,
        keeps_behaviour=note.evidence.label is Label.BEHAVIOUR_KEPT,
        gone=note.removed_tests,
        asked="",  # a note has no description; another check covers that
    )
    settings = test_config.list_settings(job.change, partial(text_before, job))  # the note has the owner's consent
    job = replace(job, granted=frozenset(assets.subject_of(path, job.change[path]) for path in settings))
    missing = tuple(path for path in (*note.tests, *note.own_tests) if path not in present)
    return Rerun(job=job, missing=missing, start_known=len(start) == len(note.start))


def compare(note: Note, rerun: Rerun, verdict: Verdict) -> Iterator[Check]:
    """Yield a check for each claim of the note about its run."""
    then, now = note.evidence, verdict.evidence
    yield _bytes(then, now)
    yield _tests(note, verdict)
    yield _copies(then, verdict)
    if note.own_tests:
        yield _own(rerun, verdict)
    if then.held_out or note.held.cases:
        yield _check_held_out(then, verdict)
    yield _label(then, now)
    yield same("sandbox", then.sandbox, now.sandbox)
    yield same("python", then.python, now.python)
    if note.environment:
        yield same("environment", note.environment, rerun.job.environment or "none")
    yield _check_dropped(then, now)
    noted = tuple(note for note in then.notes if not note.startswith(LINTER_NOTE))
    if noted != now.notes:
        yield report_changed("notes", f"{'; '.join(noted) or 'none'} then, {'; '.join(now.notes) or 'none'} now")


def _bytes(then: Evidence, now: Evidence) -> Check:
    if then.tree == now.tree:
        return ok("bytes", f"the run saw the same bytes ({now.tree[:12]})")
    return report_failed(
        "bytes", f"the run saw {now.tree[:12] or 'nothing'}, the note has {then.tree[:12] or 'nothing'}"
    )


def _tests(note: Note, verdict: Verdict) -> Check:
    then, now = set(note.evidence.ids), {case.id for case in verdict.results}
    passed = verdict.count(Result.PASSED)
    if note.held.cases and then == set(map(bare, then)):
        # The first run named no parameters, because the code in it could read the held-out cases.
        now = set(map(bare, now))
        passed = len({bare(case.id) for case in verdict.results if case.result is Result.PASSED})
    bad = sorted(verdict.failing)
    if bad or (not verdict.passed and not verdict.results):
        first = verdict.failures[0] if verdict.failures else None
        detail = f"{first.id}: {first.message}".partition("\n")[0] if first else name_first(bad)
        return report_failed("tests", f"{verdict.reason}: {detail}" if detail else verdict.reason)
    if gone := sorted(then - now):
        return report_failed("tests", f"{name_first(gone)} ran then and not now")
    if new := sorted(now - then):
        return report_failed("tests", f"the note does not know {name_first(new)}")
    if note.passed != passed:
        return report_failed("tests", f"the note counts {note.passed}, {passed} passed")
    if note.evidence.label is Label.REMOVED and not now:
        return ok("tests", "no file of the project is left, so none can be run")
    many = f"the same {len(now)} tests pass" if len(now) > 1 else "the same test passes"
    if note.evidence.label is Label.DOCUMENTED and not now:
        return ok("tests", "the documentation was checked again, and no test reaches it")
    return ok("tests", many if now else "the command ends with exit status 0")


def _copies(then: Evidence, verdict: Verdict) -> Check:
    odd = not verdict.passed and not verdict.failing and not verdict.weak and not _is_held_out(verdict)
    if odd and verdict.results:
        return report_failed("copies", verdict.reason)
    now = verdict.evidence.twins
    if not verdict.passed:
        return report_unchecked("copies", "if a test fails, its must-fail copies prove nothing")
    return same("copies", f"{then.twins} must-fail copies failed", f"{now} must-fail copies failed")


def _own(rerun: Rerun, verdict: Verdict) -> Check:
    if verdict.weak:
        return report_failed("red", verdict.reason)
    if not verdict.passed:
        return report_unchecked("red", "if a test fails with the change, one that fails without it proves nothing")
    if not rerun.start_known:
        return report_unchecked("red", "the first text of a file that the owner gave with the task is not kept")
    if not changes_anything(rerun.job):
        return report_unchecked("red", "the commit changes no file that the self-written tests could test")
    killed = [note for note in verdict.evidence.notes if "mutants" in note]
    return ok("red", "; ".join(["the self-written tests fail without the change", *killed]))


def _check_held_out(then: Evidence, verdict: Verdict) -> Check:
    now = verdict.evidence.held_out
    if _is_held_out(verdict):
        return report_failed("held-out", f"{verdict.reason}: {'; '.join(verdict.unseen[:3])}")
    if not verdict.passed:
        return report_unchecked("held-out", "if a test fails, cases that no prompt showed prove nothing")
    if now < then.held_out:
        return report_failed("held-out", f"{then.held_out} cases gave the right value then, {now} now")
    return ok("held-out", f"{now} case{'' if now == 1 else 's'} that no prompt showed gave the right value")


def _is_held_out(verdict: Verdict) -> bool:
    return any(failure.kind == HELD_OUT for failure in verdict.failures)


def _label(then: Evidence, now: Evidence) -> Check:
    if then.label is now.label:
        return ok("label", str(now.label))
    return report_failed("label", f"the note says {then.label}, the run gives {now.label}")


def _check_dropped(then: Evidence, now: Evidence) -> Check:
    if now.dropped:
        shown = [f"{path} ({why})" for path, why in sorted(now.dropped.items())]
        return report_failed("dropped", f"not used in the run: {name_first(shown)}")
    count = len(then.dropped)
    if count:
        files = f"{count} file{'' if count == 1 else 's'}"
        return ok("dropped", f"{files} left out then ({name_first(sorted(then.dropped))}), not in the commit")
    return ok("dropped", "nothing was left out, then or now")


def _start(note: Note, tree: Tree) -> Files:
    """Return the files that came with the task and that the commit contains unchanged."""
    held = {path: read_text(tree, path) for path in note.start if path in tree.entries()}
    return {path: text for path, text in held.items() if digests({path: text})[path] == note.start[path]}


def _read_limits(noted: NotedLimits) -> RunLimits | None:
    """Return the note's limits, none of them above `MOST`; None if the note has no limits."""
    given = {each.name: getattr(noted, each.name) for each in fields(noted) if each.name != "wall_s"}
    given["cpu_s"] = noted.cpu_s or noted.wall_s
    limits = {name: min(value, getattr(MOST, name)) for name, value in given.items() if value is not None and value > 0}
    return replace(RUN_LIMITS, **limits) if limits else None


# The results of single checks, and the judgement that follows from them.


class Standing(StrEnum):
    """The result of checking one claim of the note.

    CHANGED means that a value differs but refutes nothing, such as a newer Python. FAILED means that the claim is
    refuted.
    """

    OK = "ok"
    CHANGED = "CHANGED"
    FAILED = "FAILED"
    UNCHECKED = "not checked"


class Judgement(StrEnum):
    """The result of all checks together.

    UNKNOWN means that nothing refutes the commit, but nothing was run either. DRAFT means that the commit never claimed
    to pass.
    """

    HOLDS = "holds"
    BROKEN = "does not hold"
    UNKNOWN = "not verified"
    DRAFT = "a draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check, worded for the owner."""

    what: str
    standing: Standing
    detail: str


Told = Callable[[str, tuple[Check, ...]], None]
"""A listener to a verification; it receives the current activity, in words, and all checks so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of verifying a commit.

    Attributes:
        commit: full id of the commit.
        subject: the first line of its message.
        task: id of its task, if known.
        label: the label in its note; None without a note.
        checks: the results of all checks.
        ran: True if the commit's tests were run.
        duration_s: duration of that run in seconds.
        is_draft: True if the commit is a draft.
    """

    commit: str
    subject: str
    task: int | None
    label: Label | None
    checks: tuple[Check, ...]
    ran: bool = False
    duration_s: float = 0.0
    is_draft: bool = False

    @property
    def judgement(self) -> Judgement:
        """The judgement. A failed check means BROKEN, except for a draft. Without a run, it is at most UNKNOWN."""
        if self.is_draft:
            return Judgement.DRAFT
        if any(check.standing is Standing.FAILED for check in self.checks):
            return Judgement.BROKEN
        return Judgement.HOLDS if self.ran else Judgement.UNKNOWN

    @property
    def sentence(self) -> str:
        """The judgement with its reason, in one line."""
        if self.is_draft:
            tests = [check.detail for check in self.checks if check.what == "tests"]
            return ": ".join([f"{Judgement.DRAFT}: it did not pass", *tests])
        failed = [check.what for check in self.checks if check.standing is Standing.FAILED]
        left = [check.what for check in self.checks if check.standing is Standing.UNCHECKED]
        if failed:
            return f"{Judgement.BROKEN}: {', '.join(failed)}"
        if not self.ran:
            return f"{Judgement.UNKNOWN}: nothing was run"
        but = f", but for what could not be checked ({', '.join(left)})" if left else ""
        return f"{Judgement.HOLDS}: {self.label}, run again in {duration(self.duration_s)}{but}"


def ok(what: str, detail: str) -> Check:
    """Return the result for a claim that still holds."""
    return Check(what=what, standing=Standing.OK, detail=detail)


def report_changed(what: str, detail: str) -> Check:
    """Return the result for a value that changed without refuting anything."""
    return Check(what=what, standing=Standing.CHANGED, detail=detail)


def report_failed(what: str, detail: str) -> Check:
    """Return the result for a claim that was refuted."""
    return Check(what=what, standing=Standing.FAILED, detail=detail)


def report_unchecked(what: str, detail: str) -> Check:
    """Return the result for a claim that could not be checked."""
    return Check(what=what, standing=Standing.UNCHECKED, detail=detail)


def same(what: str, then: object, now: object) -> Check:
    """Compare two values of a property; a difference counts as CHANGED, not as FAILED."""
    return ok(what, f"{now}") if then == now else report_changed(what, f"{then} then, {now} now")
