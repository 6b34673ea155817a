"""The table of checks, and how they are run: all at once, each with its own time, and its own failure as a finding.

A check runs in a thread that nobody waits for longer than its time allows (a file system that hangs cannot be
interrupted). What it found until then counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bootstrap.doctor import (
    choices,
    folders,
    machine,
    models,
    repositories,
    running,
    sandboxes,
    storage,
    versions,
)
from bootstrap.doctor.context import Patient
from bootstrap.doctor.findings import Finding, Grade, fault, warning


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One function of the doctor's. `limit_s` is its time, `deep_s` that with `--deep`."""

    section: str
    look: Callable[[Patient], Iterable[Finding]]
    limit_s: float = 10.0
    deep_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What one check found."""

    section: str
    findings: tuple[Finding, ...]


CHECKS: tuple[Check, ...] = (
    Check(section="versions", look=versions.versions, limit_s=15),
    Check(section="versions", look=versions.packages),
    Check(section="settings", look=choices.settings),
    Check(section="home", look=folders.home),
    Check(section="home", look=folders.disk),
    Check(section="database", look=storage.database, limit_s=20, deep_s=630),
    Check(section="database", look=storage.kept, limit_s=20),
    Check(section="daemon", look=running.daemon, limit_s=15),
    Check(section="git", look=repositories.workspace, limit_s=40, deep_s=630),
    Check(section="sandbox", look=sandboxes.sandbox, limit_s=60, deep_s=120),
    Check(section="models", look=models.models, limit_s=45, deep_s=600),
    Check(section="intake", look=machine.intake),
    Check(section="clock", look=machine.clock),
    Check(section="limits", look=machine.limits),
    Check(section="service", look=machine.service),
)


def examine(patient: Patient, checks: Sequence[Check] = CHECKS) -> tuple[Examined, ...]:
    """Run the checks; the sections in the order of the table."""
    runs = [_Run(check, patient) for check in checks]
    found: dict[str, list[Finding]] = {}
    for run in runs:
        found.setdefault(run.check.section, []).extend(run.result())
    return tuple(Examined(section=section, findings=tuple(findings)) for section, findings in found.items())


def worst(examined: Iterable[Examined]) -> Grade:
    """The gravest of all findings."""
    order = list(Grade)
    return max((each.grade for section in examined for each in section.findings), key=order.index, default=Grade.OK)


class _Run:
    """One check at work."""

    def __init__(self, check: Check, patient: Patient) -> None:
        self.check, self._patient = check, patient
        self._limit_s = check.deep_s if patient.deep else check.limit_s
        self._found: list[Finding] = []
        self._end = time.monotonic() + self._limit_s
        self._thread = threading.Thread(target=self._look, name=f"doctor-{check.section}", daemon=True)
        self._thread.start()

    def result(self) -> list[Finding]:
        """What was found when it ended, or when its time was over."""
        self._thread.join(max(0.0, self._end - time.monotonic()))
        if not self._thread.is_alive():
            return self._found
        told = f"the look at this did not end within {self._limit_s:g} s"
        return [*self._found, warning(self.check.section, told, "try again; a disk or a network that hangs does this")]

    def _look(self) -> None:
        try:
            for finding in self.check.look(self._patient):
                self._found.append(finding)
        except Exception as error:  # noqa: BLE001  what a check cannot cope with is what its owner wants to know
            told = f"could not be looked at: {type(error).__name__}: {error}"
            self._found.append(fault(self.check.section, told[:500], "mend what this names; the other checks stand"))
