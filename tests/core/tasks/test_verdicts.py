"""Suite jobs: the limits of a run."""

from nightshift.core.isolation import RunLimits, SandboxLimits
from nightshift.core.tasks.verdicts import SuiteJob
from tests.support.trees import TextTree

USUAL = SandboxLimits(cpu_s=60, cpus=2, memory_mb=512, pids=128, work_mb=64, output_bytes=7)


def test_the_limits_of_a_job_take_the_place_of_the_usual_ones() -> None:
    job = SuiteJob(base=TextTree(), change={}, limits=RunLimits(cpu_s=1, cpus=0.5, memory_mb=4096, pids=16, work_mb=1))
    wanted = SandboxLimits(cpu_s=1, cpus=0.5, memory_mb=4096, pids=16, work_mb=1, output_bytes=7)
    assert job.sandbox_limits(USUAL) == wanted
