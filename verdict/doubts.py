"""Why a run in which all tests passed may still not be believed; its must-fail copies are `twin_check`'s part."""

from __future__ import annotations

from collections.abc import Iterator

from core.verdicts import Result
from verdict.answer import Answer, Session
from verdict.must_fail import SuiteFile
from verdict.plan import Plan

SLOWER = 3.0
"""A split run that did not end, and took so many times as long as the run in one process, speaks against it."""


def find(answer: Answer, plan: Plan) -> str:
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
    known = {file.staged: file for file in plan.files} | {file.twin: file for file in plan.files if file.twin}
    for test in session.tests:
        path, _, rest = test.id.partition("::")
        name = rest.partition("[")[0]
        file = known.get(path)
        if file is None or not _belongs(file, path, name):
            yield test.id


def _belongs(file: SuiteFile, path: str, name: str) -> bool:
    if path == file.twin and name in file.twin_names:
        return True
    return file.outline is None or file.outline.knows(file.names.get(name, name))


def _split_doubt(answer: Answer, plan: Plan) -> str:
    """Why the split run speaks against the one in which tests and code shared a process."""
    found = answer.split
    if found is None or plan.split is None:
        return ""
    for test, (result, why) in found.results.items():
        path, _, rest = test.partition("::")
        name = f"{path}::{rest.partition('[')[0]}"
        counts = name in plan.split.judged or path in plan.split.entire or not rest
        if result in {"failed", "raised"} and counts:
            file = next((file for file in plan.files if path in {file.staged, file.twin}), None)
            own = f"::{file.names.get(rest.partition('[')[0], rest)}" if file and rest else ""
            where = f"{file.path if file else path}{own}"
            return f"{where} passes in one process with the code and fails with the code in another one: {why}"
    if found.exit_code is not None and found.exit_code < 0:
        return f"the tests were ended by signal {-found.exit_code} while the code was in another process"
    if found.how == "timeout" and found.duration_s > SLOWER * answer.session.duration_s:
        return f"the tests did not end within {found.duration_s:.0f} s with the code in another process"
    return ""
