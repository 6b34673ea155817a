"""Why a run in which all tests passed may still not be believed; its must-fail copies are `twin_check`'s part."""

from __future__ import annotations

from collections.abc import Iterator

from core.verdicts import Result
from sandbox.answer import Answer, Session
from sandbox.plan import Plan
from sandbox.twins import SuiteFile


def find(answer: Answer, plan: Plan) -> str:
    """Why a run in which all tests passed cannot be believed; empty when nothing speaks against it."""
    session = answer.session
    if answer.altered:
        return f"{', '.join(answer.altered)} was changed while the tests ran"
    if session.changed:
        return f"the test framework was changed while the tests ran: {', '.join(session.changed[:3])}"
    if session.garbled or session.running is not None:
        return "the run's report holds what the recorder did not write"
    failed = session.collection or any(test.outcome in {Result.FAILED, Result.ERROR} for test in session.tests)
    expected = 1 if failed else 0
    if session.finishes != (expected,) or session.exit_code != expected:
        return f"{plan.framework} ended with {session.finishes} and exit status {session.exit_code}, which cannot be"
    if strangers := list(_strangers(plan, session)):
        return f"tests ran that are not in the suite: {', '.join(strangers[:3])}"
    return _plain_doubt(answer, plan)


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


def _plain_doubt(answer: Answer, plan: Plan) -> str:
    if not answer.plain_made:
        return ""
    if answer.plain is None:
        return f"the tests gave no result outside {plan.framework}"
    for file in plan.files:
        for name in file.plain:
            result = answer.plain.get(f"{file.staged}::{name}", "missing")
            if result != "passed":
                where = f"{file.path}::{file.names[name]}"
                return f"{where} passes under {plan.framework} and ends otherwise without it ({result})"
    return ""
