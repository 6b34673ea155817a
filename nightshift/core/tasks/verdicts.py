"""Verdicts and findings: the result of a suite run with the evidence for it, and what checks observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.code.tree import Tree
from nightshift.core.isolation import RunLimits, SandboxLimits
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.task import Change, Files, Language


class FindingKind(StrEnum):
    """Kinds of findings; `verdict.judge` decides the consequence of each kind."""

    GONE = "gone"
    """A test that passed on the base is now skipped or missing."""
    LOST = "lost"
    """A test passes without reaching a check that it reached on the base."""
    GIVEN_IDLE = "given_idle"
    """A test that was supplied with the task did not run."""
    IDLE = "idle"
    """A new test passes although none of its checks was executed."""
    UNREACHED = "unreached"
    """A line with a check in a new test was never executed."""
    NOT_HERE = "not_here"
    """A test cannot run on this machine, with or without the change."""
    ASSET = "asset"
    """The change modifies a file that determines what tests check."""
    TOOK_MORE = "took_more"
    """A change that should remove code deletes something that the task does not name."""
    COPY = "copy"
    """A test still passes after its expected value was changed."""
    VALUE = "value"
    """A call returns a different value when it is made outside the tests."""
    OBJECT = "object"
    """A call returns an object where the tests expect a plain value."""
    HELD = "held"
    """A held-out case gives a wrong value."""
    SEAL = "seal"
    """A function outside the tree was replaced during the tests."""
    FORGED = "forged"
    """The run's result channel contains data that no recorder of ours writes."""
    GREEN_BEFORE = "green_before"
    """None of the agent's tests fails without the change."""
    HOLLOW = "hollow"
    """The agent's tests do not test what the task asked for."""
    MUTANTS = "mutants"
    """The tests detect few of the faults that were inserted into the change."""


class Control(StrEnum):
    """The control of an observation: the run or the value that the observation was compared with.

    BASE is the run of the base, where the observation was not made. VALUE is a value that was compared outside the
    sandbox.
    """

    BASE = "base"
    VALUE = "value"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation.

    Attributes:
        kind: The kind of observation.
        where: The test, file or function.
        says: A sentence that describes the observation to the owner, and to the model if the model may know about it.
        control: What the observation was compared with, and where it did not occur.
        subject: What the owner's yes allows, if the finding is a question.
    """

    kind: FindingKind
    where: str
    says: str
    control: Control = Control.NONE
    subject: str = ""


HELD_OUT = "HeldOut"
"""Kind of a failure that held-out cases cause."""


class Label(StrEnum):
    """How much a passing verdict proves. The label is shown wherever a commit is shown."""

    VERIFIED = "verified"
    TESTS_PASSED = "tests_passed"
    BEHAVIOUR_KEPT = "behaviour_kept"
    """Tests of the base that reach the change pass, and the agent's own tests passed without the change too."""
    SELF_TESTED = "self_tested"
    EXIT_CODE = "exit_code"
    DOCUMENTED = "documented"
    REMOVED = "removed"
    DOUBTFUL = "doubtful"
    """The change passed, but there is evidence against it, so it is never integrated without asking the owner."""
    DRAFT = "draft"
    """The change did not pass, and is kept for the owner."""


class Result(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    MISSING = "missing"
    NOT_REACHED = "not_reached"
    """The run was cut off before this test, so its result is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Result of one test of the owner's suite, with the id by which the owner knows the test.

    `kind` and `frame` of a failed test are those of its `Failure`.
    """

    id: str
    result: Result
    duration_s: float = 0.0
    message: str = ""
    kind: str = ""
    frame: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One distinct failure, described for models: without absolute paths or times.

    `frame` is the last frame of the traceback in the task's own code (`path:line in function`). `excerpt` contains a
    few lines of code around it.
    """

    id: str
    kind: str
    message: str
    frame: str = ""
    excerpt: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedMutant:
    """A small fault that was inserted into a line of the change, and whether the agent's tests detected the fault."""

    path: str
    line: int
    noticed: bool
    what: str
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence for a verdict, stored with the commit so that the commit can be judged again.

    `tree` is the digest of every file that was visible to the run; two runs with the same digest see the same bytes.
    `complete` is True if the whole repository was staged, and not only the files that the tests can see. `suites` lists
    the test files that were run, each with its origin: given, own, command or regression. `held_out` counts the cases
    that no prompt had shown and whose results were compared outside the sandbox; `held_from` names their origins:
    tests, cases or oracle. `mutants` are the inserted faults that were tried; empty if no fault was tried.
    """

    tree: str
    sandbox: str
    label: Label
    ids: tuple[str, ...] = ()
    twins: int = 0
    complete: bool = True
    python: str = ""
    dropped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    suites: Mapping[str, str] = field(default_factory=dict)
    held_out: int = 0
    held_from: tuple[str, ...] = ()
    mutants: tuple[TriedMutant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteReport:
    """Results of tests. `reason` says in one line what went wrong.

    `before` names tests of the base that still fail with the change and are known to fail without it too. These tests
    are excluded from `results` and `failures`. `mended` are tests that failed without the change and pass now.
    """

    reason: str
    results: tuple[CaseResult, ...] = ()
    failures: tuple[Failure, ...] = ()
    duration_s: float = 0.0
    before: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()

    def count(self, result: Result) -> int:
        """Count the tests with this result."""
        return sum(case.result is result for case in self.results)

    @property
    def failing(self) -> frozenset[str]:
        """The ids of all tests that ran, or should have run, and did not pass."""
        fine = {Result.PASSED, Result.NOT_REACHED}
        return frozenset(case.id for case in self.results if case.result not in fine)

    @property
    def not_reached(self) -> frozenset[str]:
        """The ids of tests whose results are unknown, because the run was cut off before them."""
        return frozenset(case.id for case in self.results if case.result is Result.NOT_REACHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(SuiteReport):
    """A test run while the change is being written. It proves nothing and cannot replace a verdict.

    `reason` is empty if all tests passed. `dropped` maps files of the change that the run did not see to the reasons.
    `command` is the command that ran the tests. `python` is the Python version.
    """

    dropped: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    python: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(SuiteReport):
    """The judgement of one run. `reason` says in one line why the change did not pass.

    `weak` names the agent's own tests that prove nothing, because they pass without the change, or still pass when
    their expected values are altered. Such a verdict blames the tests, not the code. `unseen` contains lines for the
    owner alone about the expected values of held-out cases; they never reach a model, nor the memory that prompts are
    built from. `unmet` contains sentences about demands of the description that the change does not meet, although it
    passed. `findings` are the observations of all checks, whether or not they decided the verdict.
    """

    passed: bool
    evidence: Evidence
    weak: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def holds(self) -> bool:
        """True if the change passed and meets the description of its task."""
        return self.passed and not self.unmet

    @property
    def asks(self) -> tuple[Finding, ...]:
        """Findings that the owner must decide on before the change may be committed."""
        return tuple(finding for finding in self.findings if finding.subject) if self.passed else ()

    @property
    def doubt(self) -> str:
        """The reason why a passing change is not integrated without asking the owner; empty if there is none."""
        doubtful = self.passed and self.evidence.label is Label.DOUBTFUL
        return f"it is doubtful: {self.reason}" if doubtful else ""

    @property
    def has_run(self) -> bool:
        """True if anything was run. Some changes are judged by checks alone, without a run."""
        return bool(self.results) or self.evidence.sandbox != "none"

    @property
    def labelled_reason(self) -> str:
        """The reason. A label that says more than that tests passed is put before the reason."""
        label = self.evidence.label
        return self.reason if label is Label.TESTS_PASSED else f"{label.value.replace('_', '-')}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteJob:
    """A tree to judge: `base` with `change` applied.

    Attributes:
        base: The tree without the change.
        change: The change.
        given: The tests that the owner supplies with the task.
        held: The held-out cases.
        own: The agent's tests, which must fail without the change.
        own_proven: True if the agent's tests are already known to fail without the change, so that this need not be
            shown again.
        start: The files that the owner supplies with the task. "Without the change" means the base with these files
            applied.
        regression: Paths of test files of the base that must still pass.
        command: Decides by its exit code if there are no tests.
        allow: Rules that `command` may break.
        language: The language of the tests.
        packages: Maps distributions that the run may use, in addition to the test libraries, to exact versions.
        environment: The digest of the environment that the base declares.
        limits: Limits of the run; None uses those of the runner.
        whole_tree: True if the whole repository belongs to the task.
        only: Paths of test files, of any kind, if a trial runs only these; a verdict needs all test files.
        documents: True if the change is only documentation and is judged as such.
        takes_away: True if the change adds nothing, so that all tests of the base judge it.
        keeps_behaviour: True if the task wants no change of behaviour, so that those tests of the base that reach the
            change judge it.
        gone: Test files of the base that are removed with the change.
        asked: The task's description, which a passing change must meet; None checks nothing.
        told_weak: True if the agent's tests were already sent back once because they proved nothing.
        held_tries: Number of earlier tries that failed on held-out cases.
        granted: Test assets whose change the owner has granted, as subjects of questions.
        denied: Test assets whose change the owner has denied, as subjects of questions.
    """

    base: Tree
    change: Change
    given: Files = field(default_factory=dict)
    held: HeldOut = field(default_factory=HeldOut)
    own: Files = field(default_factory=dict)
    own_proven: bool = False
    start: Files = field(default_factory=dict)
    regression: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    language: Language = Language.PYTHON
    packages: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    limits: RunLimits | None = None
    whole_tree: bool = True
    only: tuple[str, ...] = ()
    documents: bool = False
    takes_away: bool = False
    keeps_behaviour: bool = False
    gone: tuple[str, ...] = ()
    asked: str | None = None
    told_weak: bool = False
    held_tries: int = 0
    granted: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()

    def sandbox_limits(self, usual: SandboxLimits) -> SandboxLimits:
        """Return the sandbox limits of the run: the `usual` limits, replaced by those of the job if it has any."""
        return usual if self.limits is None else usual.with_run(self.limits)
