from __future__ import annotations

from pathlib import Path

from nightshift.core.isolation import Ended, SandboxJob, SandboxResult
from nightshift.sandbox import selftest
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.process import ProcessSandbox
from tests.support.sandboxes import runtime


async def test_limits_of_single_processes_pass_and_are_told_apart() -> None:
    probe_result = await selftest.probe(BubblewrapSandbox(None), runtime())
    assert probe_result.passed, probe_result.report
    assert "ok     memory limit: holds for each process separately" in probe_result.report


async def test_the_probes_do_get_out_where_nothing_holds_them(folder: Path) -> None:
    probe_result = await selftest.probe(ProcessSandbox(folder), runtime())
    failed = {finding.name for finding in probe_result.findings if not finding.passed}
    assert failed >= {"network", "home", "processes"}
    assert not probe_result.passed


class Silent:
    """A sandbox in which nothing ever starts, and which reports success."""

    name = "silent"

    async def run(self, job: SandboxJob) -> SandboxResult:
        return SandboxResult(exit_code=0, ended=Ended.EXITED, stdout=b"", stderr=b"", duration_s=0.0)


async def test_silence_is_no_evidence() -> None:
    probe_result = await selftest.probe(Silent(), runtime())
    assert not any(finding.passed for finding in probe_result.findings)
