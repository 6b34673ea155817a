"""The base's tests that judge a change: those that the change can affect, or all if the change only removes code."""

from __future__ import annotations

from dataclasses import dataclass, field

from nightshift.attempt.regression import WithRegression
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.ports import Suite
from nightshift.core.tasks.verdicts import Evidence, Label, SuiteJob, Trial, Verdict
from tests.support.trees import TextTree

BASE = {
    "calc.py": "X = 1\n",
    "other.py": "Y = 1\n",
    "pytest.ini": "[pytest]\npython_files = test_*.py *_spec.py\naddopts = --doctest-modules\n",
    "shown.py": '"""Explain.\n\n>>> import calc\n"""\nimport calc\n',
    "specs/x_spec.py": "import calc\n",
    "tests/conftest.py": "",
    "tests/test_a.py": "import other\n\n\ndef test_a():\n    assert other.Y\n",
    "tests/test_calc.py": "import calc\n\n\ndef test_x():\n    assert calc.X\n",
}


@dataclass(frozen=True)
class Keeping(Suite):
    jobs: list[SuiteJob] = field(default_factory=list)

    async def judge(self, job: SuiteJob) -> Verdict:
        self.jobs.append(job)
        evidence = Evidence(tree="t", sandbox="none", label=Label.TESTS_PASSED)
        return Verdict(passed=True, reason="", evidence=evidence)

    async def try_out(self, job: SuiteJob) -> Trial:
        raise NotImplementedError

    run_base = try_out


async def test_all_tests_of_the_base_judge_what_only_takes_away_those_that_reach_it_first() -> None:
    suite = Keeping()
    for takes_away, path in ((False, "calc.py"), (True, "calc.py"), (False, "pytest.ini")):
        job = SuiteJob(base=TextTree(BASE), change={path: None}, takes_away=takes_away)
        await WithRegression(suite, ImportCache()).judge(job)
    assert [job.regression for job in suite.jobs] == [
        ("shown.py", "specs/x_spec.py", "tests/test_calc.py"),
        ("shown.py", "specs/x_spec.py", "tests/test_calc.py", "tests/test_a.py"),
        ("tests/test_a.py", "tests/test_calc.py", "shown.py", "specs/x_spec.py"),
    ]
