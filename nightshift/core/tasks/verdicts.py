"""Verdicts: what a suite run proved, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.code.tree import Tree
from nightshift.core.isolation import RunLimits, SandboxLimits
from nightshift.core.tasks.findings import Finding
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.task import Change, Files, Language

HELD_OUT = "HeldOut"
"""The kind of a failure on cases that no prompt shows."""


class Label(StrEnum):
    """How much a passing verdict is worth, shown wherever a commit is."""

    VERIFIED = "verified"
    TESTS_PASSED = "tests_passed"
    BEHAVIOUR_KEPT = "behaviour_kept"
    """Tests of the base that reach the change pass, and what the agent tests was so before."""
    SELF_TESTED = "self_tested"
    EXIT_CODE = "exit_code"
    DOCUMENTED = "documented"
    REMOVED = "removed"
    DOUBTFUL = "doubtful"
    """It passed, and something speaks against it: it never integrates unasked."""
    DRAFT = "draft"
    """It did not pass, and is kept for the owner."""


class Result(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    MISSING = "missing"
    NOT_REACHED = "not_reached"
    """The run was cut off before it: nothing is known of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One test of the owner's suite, under the name he knows it by."""

    id: str
    result: Result
    duration_s: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One distinct failure, shaped for a model: no absolute paths, no times.

    `frame` is the last own frame (`path:line in function`) and `excerpt` a few lines of code around it.
    """

    id: str
    kind: str
    message: str
    frame: str = ""
    excerpt: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedMutant:
    """A small fault that was put into a line of the change, in words, and whether a self-written test noticed it.

    `by` is the first test that failed on it; empty where none did, or where the run did not come to its end.
    """

    path: str
    line: int
    noticed: bool
    what: str
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence that a verdict rests on; stored with the commit so that it can be judged again.

    `tree` is the digest of every file that was visible to the run; two runs with the same digest see the same bytes.
    `complete` tells that the whole repository was staged, not only the closure of the tests. `suites` has the files of
    tests that were run, each with whose they are: given, own, command or regression. `held_out` counts the cases that
    no prompt had shown and whose results were compared outside the sandbox, `held_from` says where these came from:
    tests, cases, oracle. `mutants` are those that were tried; a run that needed none says nothing of its lines.
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
    """How tests ended. `reason` says in a line what went wrong.

    `before` names tests of the base that failed without the change already, as far as that was looked at, and still do:
    they are left out of `results` and `failures`. `mended` are those that failed before and pass now.
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
        """The ids of the tests of which nothing is known, because the run was cut off before."""
        return frozenset(case.id for case in self.results if case.result is Result.NOT_REACHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(SuiteReport):
    """A run of tests while the change is being written. It proves nothing, and cannot stand where a verdict is asked.

    `reason` is empty where all passed. `dropped` are files of the change that the run did not see, path to reason.
    `command` is what ran them, `python` the version that did.
    """

    dropped: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    python: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(SuiteReport):
    """The judgement of one run. `reason` says in a line why it did not pass.

    `weak` names the self-written tests that prove nothing: they pass without the change, or go on passing when what
    they expect is perturbed. Such a verdict blames the tests, not the code. `unseen` are lines for the owner alone, on
    what held-out cases expect: they never reach a model, nor the memory that models are told from. `unmet` are
    sentences on what the words of the task say and the change, although it passed, does not do. `findings` are what the
    checks observed, whether or not it decided.
    """

    passed: bool
    evidence: Evidence
    weak: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def holds(self) -> bool:
        """Tell whether the change passed and does what the words of its task say."""
        return self.passed and not self.unmet

    @property
    def asks(self) -> tuple[Finding, ...]:
        """Findings that the owner must decide on before the change may be committed."""
        return tuple(finding for finding in self.findings if finding.subject) if self.passed else ()

    @property
    def doubt(self) -> str:
        """Why it is not integrated unasked although it passed; empty where nothing speaks against it."""
        doubtful = self.passed and self.evidence.label is Label.DOUBTFUL
        return f"it is doubtful: {self.reason}" if doubtful else ""

    @property
    def has_run(self) -> bool:
        """Tell whether anything was run; checks alone judge as well."""
        return bool(self.results) or self.evidence.sandbox != "none"

    @property
    def labelled_reason(self) -> str:
        """The reason, with the label in front where that says more than that tests passed."""
        label = self.evidence.label
        return self.reason if label is Label.TESTS_PASSED else f"{label.value.replace('_', '-')}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteJob:
    """A tree to judge: `base` with `change` on top.

    `given` are the task's tests, `own` those the agent wrote (they must fail without the change), `regression` paths
    of test files of the base that must go on passing. Without any of them `command` decides by its exit code. `start`
    are the files that the owner gave with the task: "without the change" is the base with these on top. `packages` are
    distributions besides the test libraries that the run may see, name to exact version, and `environment` is the
    digest of what the base declares. `own_proven` tells that the
    agent's tests were found red before, so that they need not prove it again. `held` is what the model does
    not know of the tests. `allow` are rules that `command` may break. Without `limits` those of the runner hold. `only`
    are the paths of test files, of any kind, where a trial runs just these; a verdict is on all of them. `documents`
    tells that the change is documentation alone and is judged as such, `takes_away` that it adds nothing, so that all
    tests of the base judge it, `keeps_behaviour` that its task wants nothing to behave otherwise, so that those which
    reach it do. `gone` are test files of the base that go with the change.
    `told_weak` tells that the agent's tests were sent back once already for proving nothing, `held_tries` how many
    tries before failed on held-out cases.
    `asked` are the words of the task, to which a change that passes is held; None holds to nothing. `granted` and
    `denied` are what the owner has decided on test assets, by subject.
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
        """The sandbox of the run: the usual one, with the limits of the job where it has any."""
        return usual if self.limits is None else usual.with_run(self.limits)
