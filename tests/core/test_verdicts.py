"""Suite jobs: the limits of a run."""

from core.isolation import SandboxLimits
from core.verdicts import SuiteJob
from tests.support.trees import TextTree

USUAL = SandboxLimits(wall_s=60, cpus=2, memory_mb=512, pids=128, work_mb=64, output_bytes=7)


def test_a_job_that_says_nothing_has_the_usual_limits() -> None:
    assert SuiteJob(base=TextTree(), change={}).limits(USUAL) == USUAL


def test_each_limit_of_a_job_takes_the_place_of_the_usual_one() -> None:
    job = SuiteJob(base=TextTree(), change={}, wall_s=1, cpus=0.5, memory_mb=4096, pids=16, work_mb=1)
    wanted = SandboxLimits(wall_s=1, cpus=0.5, memory_mb=4096, pids=16, work_mb=1, output_bytes=7)
    assert job.limits(USUAL) == wanted
