"""Holds the must-fail copies to their promise: each failed, in the test itself, by a genuine AssertionError."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.verdicts import Result
from sandbox.answer import CaseReport
from sandbox.shaping import Names
from sandbox.twins import Role, SuiteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How the copies ended, by their ids in the run.

    `genuine` counts those that failed as they must. `doubtful` are those that passed, or failed otherwise: what their
    originals left behind may be the reason, so they get a run of their own. `missing` did not run. `weak` are the
    self-written tests behind doubtful copies, as their owner knows them.
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


def check(files: Iterable[SuiteFile], tests: Iterable[CaseReport], names: Names, cleared: Collection[str]) -> Copies:
    """Look at the copies of all files.

    Args:
        files: the test files of the run.
        tests: what ended.
        names: to turn names back.
        cleared: ids of copies that failed as they must in a run of their own.
    """
    reports = _by_name(tests)
    genuine, doubtful, missing, weak = 0, list[str](), list[str](), list[str]()
    for file in files:
        for name in sorted(_expected(file, reports)):
            nodeid = f"{file.twin}::{name}"
            cases = reports.get(nodeid, [])
            if not cases:
                missing.append(nodeid)
            elif nodeid in cleared or all(case.failed_by_assertion for case in cases):
                genuine += len(cases)
            else:
                doubtful.append(nodeid)
                weak += [names.id(nodeid)] if file.role is Role.OWN and name in file.names else []
    return Copies(genuine=genuine, doubtful=tuple(doubtful), missing=tuple(missing), weak=tuple(weak))


def genuine(tests: Iterable[CaseReport]) -> frozenset[str]:
    """The ids, without parameters, under which every case failed as it must."""
    return frozenset(name for name, cases in _by_name(tests).items() if all(case.failed_by_assertion for case in cases))


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
