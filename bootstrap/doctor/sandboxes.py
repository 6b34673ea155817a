"""The sandbox: which isolation holds on this machine, what its self-test found, and whether limits bind."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bootstrap.doctor.context import Patient
from bootstrap.doctor.findings import Finding, fault, ok, warning
from bootstrap.suites import find_sandbox
from core.errors import SandboxError
from sandbox import INSTALL
from sandbox.runtime import open_runtime


def sandbox(patient: Patient) -> Iterator[Finding]:
    """Try what the settings allow, as a start of the daemon does."""
    settings = patient.settings
    try:
        runtime = open_runtime(settings.runner_dir)
    except SandboxError as error:
        yield fault("libraries", str(error), "make setup")
        return
    with tempfile.TemporaryDirectory(prefix="nightshift-doctor-") as folder:
        choice = asyncio.run(find_sandbox(settings, runtime, Path(folder)))
    lines = choice.report.splitlines()
    if choice.sandbox is None:
        yield fault("sandbox", "nothing may be executed, so no task is begun", INSTALL)
    else:
        yield from _chosen(choice.sandbox.name, lines)
    yield from _findings(lines, held=choice.sandbox is not None)


def _chosen(name: str, lines: list[str]) -> Iterator[Finding]:
    if name == "process":
        yield warning("sandbox", "process: jobs are not isolated", "set sandbox: auto, and install bubblewrap")
    else:
        yield ok("sandbox", f"{name} holds")
    if any("without control groups" in line for line in lines):
        mend = "start the daemon as a systemd user service, or delegate a control group"
        yield warning("limits", next(line for line in lines if "without control groups" in line), mend)
    else:
        yield ok("limits", "memory, processes and time of a whole job are bounded")


def _findings(lines: list[str], *, held: bool) -> Iterator[Finding]:
    tried = [line.strip() for line in lines if line.startswith("  ")]
    bad = [line for line in tried if "FAILED" in line]
    for line in bad:
        grade = warning if held else fault
        yield grade(
            "self-test", line, "docs/security.md says what each means; often a kernel setting or a package is missing"
        )
    if tried and not bad:
        yield ok("self-test", f"{len(tried)} attempts to get out failed, as they should")
    for line in (line for line in lines if not line.startswith("  ") and ": " in line and not held):
        yield fault("tried", line, INSTALL)
