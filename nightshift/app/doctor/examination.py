"""The table of checks, and their execution. All checks run at once, each with a time limit.

An exception in a check becomes a finding. Each check runs in a thread that is abandoned after the time limit, because a
file system that hangs cannot be interrupted. Findings that were made before the time limit count.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nightshift.app.doctor import backends, home, machine, repositories, running
from nightshift.app.doctor.context import CheckContext, Finding, Grade, fault, warning
from nightshift.app.doctor.forges import check_forges
from nightshift.app.doctor.hub import check_hub


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of the doctor. `limit_s` is its normal time limit, `deep_s` its time limit with `--deep`."""

    section: str
    run: Callable[[CheckContext], Iterable[Finding]]
    limit_s: float = 10.0
    deep_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """The findings of one section of the report."""

    section: str
    findings: tuple[Finding, ...]


CHECKS: tuple[Check, ...] = (
    Check(section="versions", run=machine.check_versions, limit_s=15),
    Check(section="versions", run=machine.check_packages),
    Check(section="versions", run=machine.check_extras),
    Check(section="settings", run=home.check_settings),
    Check(section="home", run=home.check_home),
    Check(section="home", run=home.check_disk),
    Check(section="database", run=home.check_database, limit_s=20, deep_s=630),
    Check(section="database", run=home.check_backups, limit_s=20),
    Check(section="daemon", run=running.check_daemon, limit_s=15),
    Check(section="git", run=repositories.check_workspace, limit_s=40, deep_s=630),
    Check(section="forges", run=check_forges, limit_s=40),
    Check(section="hub", run=check_hub, limit_s=30),
    Check(section="sandbox", run=backends.check_sandbox, limit_s=60, deep_s=120),
    Check(section="models", run=backends.check_models, limit_s=45, deep_s=600),
    Check(section="intake", run=machine.check_intake),
    Check(section="clock", run=machine.check_clock),
    Check(section="service", run=machine.check_service),
)


def examine(context: CheckContext, checks: Sequence[Check] = CHECKS) -> tuple[Examined, ...]:
    """Run the checks and return their findings by section, in the order of the table."""
    runs = [_Run(check, context) for check in checks]
    by_section: dict[str, list[Finding]] = {}
    for run in runs:
        by_section.setdefault(run.check.section, []).extend(run.result())
    return tuple(Examined(section=section, findings=tuple(findings)) for section, findings in by_section.items())


def worst(examined: Iterable[Examined]) -> Grade:
    """Return the most severe grade of all findings."""
    order = list(Grade)
    return max((each.grade for section in examined for each in section.findings), key=order.index, default=Grade.OK)


class _Run:
    """One check that is running."""

    def __init__(self, check: Check, context: CheckContext) -> None:
        self.check, self._context = check, context
        self._limit_s = check.deep_s if context.deep else check.limit_s
        self._findings: list[Finding] = []
        self._end = time.monotonic() + self._limit_s
        self._thread = threading.Thread(target=self._work, name=f"doctor-{check.section}", daemon=True)
        self._thread.start()

    def result(self) -> list[Finding]:
        """Wait until the check has ended or its time is over, and return its findings."""
        self._thread.join(max(0.0, self._end - time.monotonic()))
        if not self._thread.is_alive():
            return self._findings
        text = f"this check did not end within {self._limit_s:g} s"
        return [
            *self._findings,
            warning(self.check.section, text, "try again; a hanging disk or network can cause this"),
        ]

    def _work(self) -> None:
        try:
            for finding in self.check.run(self._context):
                self._findings.append(finding)
        except Exception as error:  # noqa: BLE001  what a check cannot cope with is what its owner wants to know
            text = f"could not be checked: {type(error).__name__}: {error}"
            self._findings.append(
                fault(self.check.section, text[:500], "fix what this names; the other checks are valid")
            )
