"""Packages in runs: code can import them, but none of their files runs, hides or configures anything on its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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


class Judge:
    """Judges changes with the packages of a folder of wheels."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.index = index
        self.layers = LayerStore(folder / "packages", runtime(), environ=environ(index))
        self.runner = SuiteRunner(
            bubblewrap(), runtime(), emit=lambda _: None, staging_dir=folder / "staging", layers=self.layers
        )

    async def __call__(
        self,
        code: Mapping[str, str],
        tests: Mapping[str, str],
        *names: str,
        own: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,
    ) -> Verdict:
        packages = (await self.layers.satisfy(names)).packages if names else {}
        job = SuiteJob(
            base=TextTree(base),
            change=code,
            given=tests,
            own=own or {},
            packages=packages,
            limits=RunLimits(cpu_s=20),
            whole_tree=False,
        )
        return await self.runner.judge(job)


@pytest.fixture
def judge(folder: Path, tmp_path: Path) -> Judge:
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"})
    return Judge(folder, index)


async def test_a_package_is_there_for_the_run_that_may_use_it_and_for_no_other(judge: Judge) -> None:
    passed = await judge(CODE, TESTS, "moonphase")
    assert passed.passed, passed.reason
    assert passed.evidence.twins == 1
    without = await judge(CODE, TESTS)
    assert not without.passed
    assert "moonphase" in without.failures[0].message


async def test_self_written_tests_are_red_without_the_change_and_not_for_want_of_a_package(judge: Judge) -> None:
    honest = {"test_moon.py": "import moonphase\nfrom moon import full\n\n\ndef test_it():\n    assert full() == 1\n"}
    assert (await judge(CODE, {}, "moonphase", own=honest)).passed
    idle = {"test_moon.py": "import moonphase\n\n\ndef test_it():\n    assert moonphase.FULL == 1\n"}
    verdict = await judge(CODE, {}, "moonphase", own=idle)
    assert not verdict.passed
    assert verdict.weak == ("test_moon.py::test_it",)


async def test_nothing_of_a_package_runs_by_itself(judge: Judge) -> None:
    steal = "import builtins\nbuiltins.taken = True\n"
    files = {
        "sly.py": "X = 1\n", "sly_plugin.py": steal, "sly.pth": "import sly_plugin\n", "sitecustomize.py": steal,
        "usercustomize.py": steal, "conftest.py": steal, "pytest.ini": "[pytest]\naddopts = -p sly_plugin\n",
    }  # fmt: skip
    wheel(judge.index, "sly", "1.0", files, plugin="sly_plugin")
    code = {
        "look.py": "import builtins, subprocess, sys\n\n\ndef here():\n    return hasattr(builtins, 'taken')\n\n\n"
        "def below():\n    code = 'import builtins, sys; sys.exit(3 + hasattr(builtins, \"taken\"))'\n"
        "    return subprocess.run([sys.executable, '-c', code]).returncode\n",
    }
    tests = {
        "test_look.py": "import sly\nfrom look import below, here\n\n\n"
        "def test_nothing_ran():\n    assert here() == False\n"
        "\n\ndef test_nothing_runs_in_a_process_of_the_run():\n    assert below() == 3\n"
    }
    verdict = await judge(code, tests, "sly")
    assert verdict.passed, (verdict.reason, verdict.failures)


async def test_no_package_hides_pytest_or_the_standard_library(judge: Judge) -> None:
    bad = "raise SystemExit('hidden')\n"
    files = {
        "shade/__init__.py": "X = 1\n", "json/__init__.py": bad, "unittest.py": bad, "pytest.py": bad,
        "_pytest/__init__.py": bad, "hypothesis/__init__.py": bad, "nightshift_inside/__init__.py": bad,
    }  # fmt: skip
    wheel(judge.index, "shade", "1.0", files)
    tests = {
        "test_shade.py": "import json\nimport hypothesis\nimport pytest\nimport shade\nimport unittest\n"
        "from mod import f\n"
        "\n\ndef test_it():\n    assert f() == '[1]'\n    assert pytest.__file__.startswith('/opt/runner/')\n"
        "    assert hypothesis.__file__.startswith('/opt/runner/')\n"
    }
    verdict = await judge({"mod.py": "import json\n\n\ndef f():\n    return json.dumps([1])\n"}, tests, "shade")
    assert verdict.passed, (verdict.reason, verdict.failures)


async def test_the_workspace_cannot_take_a_packages_place(judge: Judge) -> None:
    """A file of the change that has a package's name is never imported; the approved package is imported instead."""
    verdict = await judge({**CODE, "moonphase.py": "FULL = 2\n"}, TESTS, "moonphase")
    assert verdict.passed, "the package comes before the workspace"
