"""Integrity checks: why a run in which all tests passed may still not be believed.

The report must be one that the recorder writes, the framework and the files what they were, the split run must not
disagree, and every must-fail copy must have failed, in the test itself, by a genuine AssertionError.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.tasks.verdicts import Result
from nightshift.sandbox.inside.time_limits import TOO_LONG
from nightshift.verdict.answer import Answer, CaseReport, Report, Session, Split
from nightshift.verdict.languages.plan import Plan, Role, SuiteFile
from nightshift.verdict.shaping import Names

SLOWER = 3.0
"""A split run that did not end, and took so many times as long as the run in one process, speaks against it."""
CALL_S = 0.002
"""What a call may take longer for going to another process."""
_TOO_LONG = re.compile(rf"{TOO_LONG}: ([\d.]+) s in (\d+) calls")


def doubt(answer: Answer, plan: Plan) -> str:
    """Why a run in which all tests passed cannot be believed; empty when nothing speaks against it."""
    session = answer.session
    if answer.altered:
        return f"{', '.join(answer.altered)} was changed while the tests ran"
    if session.changed:
        return f"the test framework was changed while the tests ran: {', '.join(session.changed[:3])}"
    if found := tampering(session, plan):
        return found
    if session.running is not None:
        return "the run's report says that a test is still running"
    failed = session.collection or any(test.outcome in {Result.FAILED, Result.ERROR} for test in session.tests)
    expected = 1 if failed else 0
    if session.finishes != (expected,) or session.exit_code != expected:
        return f"{plan.framework} ended with {session.finishes} and exit status {session.exit_code}, which cannot be"
    return _split_doubt(answer, plan)


def tampering(session: Session, plan: Plan) -> str:
    """What the report of a run that came to its end holds though the recorder writes no such thing; empty if nothing.

    What is named comes from the plan: the words of an attacker reach no reader.
    """
    if not session.finishes:
        return ""  # a process that dies may leave half a line
    if session.garbled:
        return "the run's report holds what the recorder did not write"
    strangers = sum(1 for _ in _strangers(plan, session))
    return f"the run's report tells of {strangers} tests that are not in the suite" if strangers else ""


def _strangers(plan: Plan, session: Session) -> Iterator[str]:
    copies = {file.must_fail_path: file for file in plan.files if file.must_fail_path}
    known = {file.staged: file for file in plan.files} | copies
    for test in session.tests:
        path, _, rest = test.id.partition("::")
        name = rest.partition("[")[0]
        file = known.get(path)
        if file is None or not _belongs(file, path, name):
            yield test.id


def _belongs(file: SuiteFile, path: str, name: str) -> bool:
    if path == file.must_fail_path and name in file.must_fail_names:
        return True
    return file.outline is None or file.outline.knows(file.names.get(name, name))


def _split_doubt(answer: Answer, plan: Plan) -> str:
    """Why the split run speaks against the one in which tests and code shared a process."""
    found = answer.split
    if found is None or plan.split is None:
        return ""
    let_off = {test.id for test in answer.session.tests if test.outcome is Result.SKIPPED}
    for test, (result, why) in found.results.items():
        if test in let_off:
            continue
        path, _, rest = test.partition("::")
        name = f"{path}::{rest.partition('[')[0]}"
        counts = name in plan.split.judged or path in plan.split.entire or not rest
        if result in {"failed", "raised"} and counts:
            file = next((file for file in plan.files if path in {file.staged, file.must_fail_path}), None)
            own = f"::{file.names.get(rest.partition('[')[0], rest)}" if file and rest else ""
            where = f"{file.path if file else path}{own}"
            return f"{where} passes in one process with the code and fails with the code in another one: {why}"
    if found.exit_code is not None and found.exit_code < 0:
        return f"the tests were ended by signal {-found.exit_code} while the code was in another process"
    if slow := _slow_answers(found, answer.session):
        return slow
    if is_late(answer):
        lasted = f"{found.cpu_s:.0f} s of processor time" if found.limit == "processor" else f"{found.duration_s:.0f} s"
        return f"the tests did not end within {lasted} with the code in another process"
    return ""


def _slow_answers(found: Split, session: Session) -> str:
    """Why a split run that gave up on slow answers speaks against the other one; empty where that was slow as well."""
    for _, why in found.results.values():
        if told := _TOO_LONG.fullmatch(why):
            lasted_s, calls = float(told[1]), int(told[2])
            if lasted_s > SLOWER * session.duration_s + CALL_S * calls:
                return f"the code answered {calls} calls in {lasted_s:.0f} s from another process"
    return ""


def is_late(answer: Answer) -> bool:
    """Tell whether the split run took so long that this speaks against the one in one process: it runs again alone."""
    found, session = answer.split, answer.session
    if found is None:
        return False
    if found.how != "timeout":
        return bool(_slow_answers(found, session))
    if found.limit == "processor":
        return found.cpu_s > SLOWER * session.cpu_s
    return found.duration_s > SLOWER * session.duration_s


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiesOutcome:
    """How the copies ended, by their ids in the run.

    `genuine` counts those that failed as they must. `doubtful` are those that passed, or failed otherwise; `otherwise`
    tells that the first of them failed. `missing` did not run. `weak` are the self-written tests behind doubtful
    copies, as their owner knows them.
    """

    genuine: int
    doubtful: tuple[str, ...]
    otherwise: bool
    missing: tuple[str, ...]
    weak: tuple[str, ...]

    def reason(self, names: Names) -> str:
        """Why the run cannot be believed; empty when every copy failed as it must."""
        if self.missing:
            return f"the must-fail copy of {names.id(self.missing[0])} did not run"
        if not self.doubtful:
            return ""
        if self.weak:
            how = "no check of it fails, though something else does," if self.otherwise else "it goes on passing"
            return f"{self.weak[0]} proves nothing: {how} when what it expects is changed"
        how = "failed, but not by a check of its own" if self.otherwise else "did not fail"
        return f"the must-fail copy of {names.id(self.doubtful[0])} {how}: the result cannot be believed"


def check_copies(
    files: Iterable[SuiteFile], tests: Iterable[CaseReport], copies: Iterable[CaseReport], names: Names
) -> CopiesOutcome:
    """Look at the copies of all files.

    Args:
        files: the test files of the run.
        tests: what ended in the run of the tests, canaries among it.
        copies: what ended in that of the copies.
        names: to turn names back.
    """
    reports, copied = by_name(tests), by_name(copies)
    genuine, doubtful, missing, weak, otherwise = 0, list[str](), list[str](), list[str](), False
    for file in files:
        for name in sorted(_expected(file, reports)):
            nodeid = f"{file.must_fail_path}::{name}"
            ended = copied if file.copied else reports
            cases = _asked(ended.get(nodeid, []), reports.get(f"{file.staged}::{name}", []))
            if not cases:
                missing.append(nodeid)
            elif all(case.failed_by_assertion for case in cases):
                genuine += len(cases)
            else:
                own = file.role is Role.OWN and name in file.names
                if not (doubtful or weak) or (own and not weak):
                    otherwise = all(case.outcome in {Result.FAILED, Result.ERROR} for case in cases)
                doubtful.append(nodeid)
                weak += [names.id(nodeid)] if own else []
    return CopiesOutcome(
        genuine=genuine, doubtful=tuple(doubtful), otherwise=otherwise, missing=tuple(missing), weak=tuple(weak)
    )


def tell_apart(copies: Sequence[CaseReport], originals: Sequence[CaseReport]) -> bool:
    """Tell whether a test passes and its must-fail copy fails by an assertion, those of its cases that are not skipped.

    Args:
        copies: the cases of the copy.
        originals: those of the test.
    """
    ended = {case.outcome for case in originals}
    asked = _asked(copies, originals)
    return ended <= {Result.PASSED, Result.SKIPPED} and bool(asked) and all(c.failed_by_assertion for c in asked)


def _asked(copies: Sequence[CaseReport], originals: Sequence[CaseReport]) -> Sequence[CaseReport]:
    """The cases of a copy that have to fail: all but those that are skipped in the test."""
    let_off = {_parameters(case) for case in originals if case.outcome is Result.SKIPPED}
    return [case for case in copies if _parameters(case) not in let_off]


def _parameters(case: CaseReport) -> str:
    return case.id.partition("[")[2]


def all_failed_apart(plan: Plan, split: Split | None) -> bool:
    """Tell whether the split run judged every test and every copy, so that copies need no run of their own."""
    if split is None or plan.split is None or not plan.split.whole:
        return False
    judged = results(split)
    passed = all(judged.get(test) == {"passed"} for test in plan.split.judged)
    names = {f"{file.must_fail_path}::{name}" for file in plan.files if file.copied for name in file.names}
    return passed and all(judged.get(name) == {"failed"} for name in names)


def failed_apart(plan: Plan, split: Split | None) -> list[CaseReport]:
    """The must-fail copies that failed by an assertion in the split run, as reports of a run."""
    copies = {file.must_fail_path for file in plan.files if file.copied}
    failed = [test for test, (how, _) in split.results.items() if how == "failed"] if split else []
    report = Report(
        when="call", outcome="failed", xfail=False, subtest=False, raised="AssertionError", genuine=True, duration_s=0.0
    )
    return [CaseReport(id=test, reports=(report,), fault=None) for test in failed if test.partition("::")[0] in copies]


def notes(plan: Plan, split: Split | None) -> Iterator[str]:
    """How many tests were judged in one process with the tested code alone, where others were not."""
    if plan.launch:
        return
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


def by_name(tests: Iterable[CaseReport]) -> defaultdict[str, list[CaseReport]]:
    """Test id without parameters to all its cases."""
    reports: defaultdict[str, list[CaseReport]] = defaultdict(list)
    for test in tests:
        reports[test.id.partition("[")[0]].append(test)
    return reports


def _expected(file: SuiteFile, reports: Mapping[str, list[CaseReport]]) -> set[str]:
    """The tests of the copy whose originals passed; all of a canary's."""
    names = {*file.must_fail_names, *(_reported(file, reports) if file.mirrored else ())}
    originals = {name: reports.get(f"{file.staged}::{name}", []) for name in names}
    return {
        name
        for name, cases in originals.items()
        if not (cases or name in file.names) or any(case.outcome is Result.PASSED for case in cases)
    }


def _reported(file: SuiteFile, reports: Mapping[str, list[CaseReport]]) -> Iterator[str]:
    """The tests that ended in the original."""
    return (name.partition("::")[2] for name in reports if name.startswith(f"{file.staged}::"))
