"""Packages in runs: code can import them, but none of their files runs, hides or configures anything on its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.trees import TextTree
from tests.support.wheelhouse import environ, wheel

TESTS = {"test_moon.py": "from moon import full\n\n\ndef test_full():\n    assert full() == 1\n"}
CODE = {"moon.py": "import moonphase\n\n\ndef full():\n    return moonphase.FULL\n"}


Judging = Callable[..., Awaitable[Verdict]]


@pytest.fixture
def judge(folder: Path, tmp_path: Path) -> Judging:
    """Judge a change with the packages of a folder of wheels."""
    (index := tmp_path / "index").mkdir()
    wheel(index, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"})
    layers = LayerStore(folder / "packages", runtime(), environ=environ(index))
    runner = SuiteRunner(bubblewrap(), runtime(), emit=lambda _: None, staging_dir=folder / "staging", layers=layers)

    async def run(code: Mapping[str, str], tests: Mapping[str, str], *names: str, **more: Any) -> Verdict:
        packages = (await layers.satisfy(names)).packages if names else {}
        limits = RunLimits(cpu_s=20)
        return await runner.judge(
            SuiteJob(
                base=TextTree(), change=code, given=tests, packages=packages, limits=limits, whole_tree=False, **more
            )
        )

    return run


async def test_a_package_is_there_for_the_run_that_may_use_it_and_for_no_other(judge: Judging) -> None:
    passed = await judge(CODE, TESTS, "moonphase")
    assert passed.passed, passed.reason
    assert passed.evidence.twins == 1
    without = await judge(CODE, TESTS)
    assert not without.passed
    assert "moonphase" in without.failures[0].message


async def test_self_written_tests_are_red_without_the_change_and_not_for_want_of_a_package(judge: Judging) -> None:
    honest = {"test_moon.py": "import moonphase\nfrom moon import full\n\n\ndef test_it():\n    assert full() == 1\n"}
    assert (await judge(CODE, {}, "moonphase", own=honest)).passed
    idle = {"test_moon.py": "import moonphase\n\n\ndef test_it():\n    assert moonphase.FULL == 1\n"}
    verdict = await judge(CODE, {}, "moonphase", own=idle)
    assert not verdict.passed
    assert verdict.weak == ("test_moon.py::test_it",)


async def test_the_workspace_cannot_take_a_packages_place(judge: Judging) -> None:
    """A file of the change that has a package's name is never imported; the approved package is imported instead."""
    verdict = await judge({**CODE, "moonphase.py": "FULL = 2\n"}, TESTS, "moonphase")
    assert verdict.passed, "the package comes before the workspace"
