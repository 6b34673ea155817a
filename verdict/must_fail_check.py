"""Holds the must-fail copies to their promise: each failed, in the test itself, by a genuine AssertionError."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.verdicts import Result
from verdict.answer import CaseReport, Report, Split
from verdict.must_fail import Role, SuiteFile
from verdict.plan import Plan
from verdict.shaping import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How the copies ended, by their ids in the run.

    `genuine` counts those that failed as they must. `doubtful` are those that passed, or failed otherwise. `missing`
    did not run. `weak` are the self-written tests behind doubtful copies, as their owner knows them.
    """

    genuine: int
    doubtful: tuple[str, ...]
    missing: tuple[str, ...]
    weak: tuple[str, ...]

    def reason(self, names: Names) -> str:
        """Why the run cannot be believed; empty when every copy failed as it must."""
        if self.missing:
            return f"the must-fail copy of {names.id(self.missing[0])} did not run"
        if self.weak:
            return f"{self.weak[0]} proves nothing: it goes on passing when what it expects is changed"
        if self.doubtful:
            return f"the must-fail copy of {names.id(self.doubtful[0])} did not fail: the result cannot be believed"
        return ""


def check(files: Iterable[SuiteFile], tests: Iterable[CaseReport], names: Names) -> Copies:
    """Look at the copies of all files.

    Args:
        files: the test files of the run.
        tests: what ended.
        names: to turn names back.
    """
    reports = _by_name(tests)
    genuine, doubtful, missing, weak = 0, list[str](), list[str](), list[str]()
    for file in files:
        for name in sorted(_expected(file, reports)):
            nodeid = f"{file.twin}::{name}"
            cases = reports.get(nodeid, [])
            if not cases:
                missing.append(nodeid)
            elif all(case.failed_by_assertion for case in cases):
                genuine += len(cases)
            else:
                doubtful.append(nodeid)
                weak += [names.id(nodeid)] if file.role is Role.OWN and name in file.names else []
    return Copies(genuine=genuine, doubtful=tuple(doubtful), missing=tuple(missing), weak=tuple(weak))


def all_failed_apart(plan: Plan, split: Split | None) -> bool:
    """Tell whether the split run judged every test and every copy, so that copies need no run of their own."""
    if split is None or plan.split is None or not plan.split.whole:
        return False
    judged = results(split)
    passed = all(judged.get(test) == {"passed"} for test in plan.split.judged)
    names = {f"{file.twin}::{name}" for file in plan.files if file.copied for name in file.names}
    return passed and all(judged.get(name) == {"failed"} for name in names)


def failed_apart(plan: Plan, split: Split | None) -> list[CaseReport]:
    """The must-fail copies that failed by an assertion in the split run, as reports of a run."""
    twins = {file.twin for file in plan.files if file.copied}
    failed = [test for test, (how, _) in split.results.items() if how == "failed"] if split else []
    report = Report(
        when="call", outcome="failed", xfail=False, subtest=False, raised="AssertionError", genuine=True, duration_s=0.0
    )
    return [CaseReport(id=test, reports=(report,), fault=None) for test in failed if test.partition("::")[0] in twins]


def notes(plan: Plan, split: Split | None) -> Iterator[str]:
    """How many tests were judged in one process with the tested code alone, where there are such."""
    judged = plan.split.judged if plan.split and split else frozenset()
    passed = {test for test in judged if split and results(split).get(test) == {"passed"}}
    total = sum(len(file.names) for file in plan.files if file.role is not Role.REGRESSION)
    if left := total - len(passed):
        yield f"{left} of {total} tests were judged in one process with the code alone"


def results(split: Split) -> Mapping[str, set[str]]:
    """Test id without parameters to the results of all its cases."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for test, (result, _) in split.results.items():
        found[test.partition("[")[0]].add(result)
    return found


def _by_name(tests: Iterable[CaseReport]) -> defaultdict[str, list[CaseReport]]:
    reports: defaultdict[str, list[CaseReport]] = defaultdict(list)
    for test in tests:
        reports[test.id.partition("[")[0]].append(test)
    return reports


def _expected(file: SuiteFile, reports: Mapping[str, list[CaseReport]]) -> set[str]:
    """The tests of the copy whose originals passed; all of a canary's."""
    names = {*file.twin_names, *(_reported(file, reports) if file.mirrored else ())}
    originals = {name: reports.get(f"{file.staged}::{name}", []) for name in names}
    return {
        name
        for name, cases in originals.items()
        if not (cases or name in file.names) or any(case.outcome is Result.PASSED for case in cases)
    }


def _reported(file: SuiteFile, reports: Mapping[str, list[CaseReport]]) -> Iterator[str]:
    """The tests that ended in the original."""
    return (name.partition("::")[2] for name in reports if name.startswith(f"{file.staged}::"))
