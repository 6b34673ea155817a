"""Python environments in real runs: tests find the declared packages and the repository's own one, but no others."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.code.tree import Tree
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.git.manager import GitManager
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.environments.python import PythonMaker, Series
from nightshift.verdict.environments.store import FolderStore
from nightshift.verdict.environments.uv import Uv
from nightshift.verdict.runner import SuiteRunner
from tests.support.git_repo import git, make_repo
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.trees import TextTree
from tests.support.wheelhouse import source, wheel

UV = Path(sys.executable).with_name("uv")
PROJECT = """
[project]
name = "shop-till"
version = "1.4.2"
description = "Adds prices up"
requires-python = ">=3.10"
dependencies = ["moonphase>=1"]
[project.optional-dependencies]
test = ["tidewave", "nowheel", "nosuch"]
[project.scripts]
till = "till.cli:main"
[project.entry-points."till.plugins"]
usual = "till.cli:main"
"""
CODE = {
    "pyproject.toml": PROJECT,
    "src/till/__init__.py": "",
    "src/till/cli.py": "import moonphase\n\n\ndef main():\n    print(moonphase.FULL + 41)\n",
}


class Home:
    """A store of environments, with a folder of wheels as its index."""

    def __init__(self, folder: Path, index: Path) -> None:
        environ = {"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "UV_FIND_LINKS": str(index)}
        self.store = FolderStore(folder / "environments", keep_mb=100)
        maker = PythonMaker(self.store, Uv(UV, lambda: environ), Series(usual=runtime()))
        self.environments = Environments(self.store, [maker])
        self.runner = SuiteRunner(
            bubblewrap(), runtime(), emit=lambda _: None, staging_dir=folder / "staging", environments=self.environments
        )

    async def judged(
        self, base: Mapping[str, str] | Tree, tests: Mapping[str, str], change: Mapping[str, str] | None = None
    ) -> Verdict:
        tree = TextTree(base) if isinstance(base, Mapping) else base
        digest = (await self.environments.of(tree)).digest
        limits = RunLimits(cpu_s=30)
        return await self.runner.judge(
            SuiteJob(base=tree, change=change or {}, given=tests, environment=digest, limits=limits)
        )

    async def make_packages(self, base: Mapping[str, str]) -> tuple[dict[str, str], str]:
        """Make the environment of a tree, and return its packages and its remarks."""
        tree = TextTree(base)
        (environment,) = (await self.environments.make(tree, await self.environments.of(tree))).new
        return dict(environment.packages), "; ".join(environment.remarks)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"})
    wheel(index, "tidewave", "2.0", {"tidewave/__init__.py": "HIGH = 1\n"})
    source(index, "nowheel", "1.0", "raise SystemExit('a setup.py ran')\n")
    return index


def make_lock(file: Path, name: str, version: str) -> str:
    """Return the entry of a package in `poetry.lock`, with the hash of its wheel."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"[[package]]\nname = '{name}'\nversion = '{version}'\nfiles = [{{file = 'x', hash = 'sha256:{digest}'}}]\n"


@pytest.fixture
def home(folder: Path, index: Path) -> Home:
    return Home(folder, index)


async def test_what_is_declared_is_there_and_the_own_package_is_known(home: Home) -> None:
    tests = {
        "test_till.py": (
            "import importlib.metadata as metadata\nimport subprocess\nimport sys\n\nimport tidewave\n"
            "from till.cli import main\n\n\n"
            "def test_known():\n    assert metadata.version('shop-till') == '1.4.2'\n"
            "    assert metadata.metadata('shop_till')['Summary'] == 'Adds prices up'\n\n\n"
            "def test_entry_points():\n    (found,) = metadata.entry_points(group='till.plugins')\n"
            "    assert found.load() is main\n\n\n"
            "def test_program():\n    assert subprocess.check_output(['till']) == b'42\\n'\n\n\n"
            "def test_module():\n    argv = [sys.executable, '-c', 'import till.cli; till.cli.main()']\n"
            "    assert subprocess.check_output(argv, env={}) == b'42\\n'\n\n\n"
            "def test_wheels():\n    assert tidewave.HIGH == 1\n"
        )
    }
    verdict = await home.judged(CODE, tests)
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert len(verdict.results) == 5


async def test_what_has_no_wheel_or_is_not_there_is_left_out_and_told(home: Home) -> None:
    _, remarks = await home.make_packages(CODE)
    assert "nowheel has no suitable wheel" in remarks
    assert "nosuch has no" in remarks


async def test_of_requirements_that_do_not_go_together_the_later_ones_are_left_out_and_told(home: Home) -> None:
    base = {"requirements.txt": "moonphase==1.0\ntidewave\n", "requirements-dev.txt": "moonphase==3.0\n"}
    packages, remarks = await home.make_packages(base)
    assert packages == {"moonphase": "1.0", "tidewave": "2.0"}
    assert "moonphase" in remarks
    assert "left out" in remarks


async def test_a_version_comes_from_the_nearest_tag_and_stands_in_the_file_that_a_build_writes(
    home: Home, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "repo", {
        "pyproject.toml": "[project]\nname = 'shop-till'\ndynamic = ['version']\n"
        "[tool.setuptools_scm]\nversion_file = 'src/till/_version.py'\n",
        "src/till/__init__.py": "from till._version import __version__, version_tuple\n", ".gitignore": "_version.py\n",
    })  # fmt: skip
    git(repo, "tag", "-a", "-m", "one", "v1.4.9")
    git(repo, "tag", "nightly")
    manager = GitManager(
        workspace=tmp_path / "workspace", author=Author(name="Owner", email="owner@example.org"), auto_push=False,
        emit=lambda _: None, environ=dict(os.environ),
    )  # fmt: skip

    for version, beginning in (("1.4.9", "(1, 4, 9)"), ("1.4.10.dev1", "(1, 4, 10)")):
        text = (
            "from importlib import metadata\n\nimport till\n\n\n"
            f"def test_known():\n    assert metadata.version('shop-till').partition('+')[0] == '{version}'\n\n\n"
            f"def test_file():\n    assert till.__version__ == metadata.version('shop-till')\n"
            f"    assert till.version_tuple[:3] == {beginning}\n"
        )
        base = manager.tree(str(repo), git(repo, "rev-parse", "HEAD"))
        verdict = await home.judged(base, {"test_till.py": text})
        assert verdict.passed, (verdict.reason, verdict.failures)
        git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    manager.close()


async def test_the_metadata_follows_the_change(home: Home) -> None:
    test = "import importlib.metadata as m\n\n\ndef test_version():\n    assert m.version('shop-till') == '1.5.0'\n"
    new = PROJECT.replace("1.4.2", "1.5.0")
    assert not (await home.judged(CODE, {"test_version.py": test})).passed
    verdict = await home.judged(CODE, {"test_version.py": test}, {"pyproject.toml": new})
    assert verdict.passed, verdict.reason


async def test_the_own_plugin_serves_tests_also_named_like_a_module_of_python_where_warnings_are_errors(
    home: Home,
) -> None:
    project = "[project]\nname = 'pytest-own'\nversion = '1'\n[project.entry-points.pytest11]\njson = 'own'\n"
    base = {
        "pyproject.toml": f"{project}[tool.pytest.ini_options]\nfilterwarnings = ['error']\n",
        "own.py": "import pytest\n\n\n@pytest.fixture\ndef seven():\n    return 7\n",
    }
    verdict = await home.judged(base, {"test_own.py": "def test_own(seven):\n    assert seven == 7\n"})
    assert verdict.passed, (verdict.reason, verdict.failures)


async def test_nothing_of_a_hostile_wheel_runs_by_itself_or_hides_what_is_ours(home: Home, index: Path) -> None:
    evil = "raise SystemExit('a wheel ran by itself')\n"
    files = {
        "evil.py": "X = 1\n", "evil.pth": "import os; os._exit(3)\n", "sitecustomize.py": evil, "json.py": evil,
        "pytest/__init__.py": evil, "_pytest/__init__.py": evil, "nightshift_inside/__init__.py": evil,
        "tests/__init__.py": evil, "evil-1.0.data/scripts/till": "#!/bin/sh\nexit 3\n",
    }  # fmt: skip
    wheel(index, "evil", "1.0", files)
    wheel(index, "pytest", "99.0", {"pytest/__init__.py": evil})
    base = {"requirements.txt": "evil\npytest==99.0\n"}
    test = (
        "import json\nimport subprocess\nimport sys\n\nimport pytest\nimport evil\n\n\n"
        "def test_it():\n    assert evil.X == 1 and pytest.__version__ != '99.0'\n"
        "    assert subprocess.call([sys.executable, '-c', 'import json']) == 0\n"
    )
    verdict = await home.judged(base, {"test_evil.py": test})
    assert verdict.passed, (verdict.reason, verdict.failures)
    (folder,) = home.store.path("").glob("python-*/site")
    assert {path.name for path in folder.iterdir()} == {"evil.py", "__pycache__", "evil-1.0.dist-info"}


async def test_a_file_with_other_bytes_than_its_lock_says_is_left_out_and_told(home: Home) -> None:
    lock = (
        "[[package]]\nname = 'moonphase'\nversion = '1.0'\n"
        f"files = [{{file = 'moonphase.whl', hash = 'sha256:{'0' * 64}'}}]\n"
    )
    packages, remarks = await home.make_packages({"poetry.lock": lock})
    assert not packages
    assert "moonphase 1.0" in remarks
    assert "left out" in remarks


async def test_a_lock_is_installed_as_it_says(home: Home, index: Path) -> None:
    newer = wheel(index, "moonphase", "2.0", {"moonphase.py": "FULL = 2\n"})
    lock = make_lock(newer.with_name("moonphase-1.0-py3-none-any.whl"), "moonphase", "1.0")
    assert (await home.make_packages({"poetry.lock": lock, "pyproject.toml": PROJECT}))[0] == {"moonphase": "1.0"}


async def test_an_index_that_is_away_is_told_and_nothing_is_kept(folder: Path, tmp_path: Path) -> None:
    home = Home(folder, tmp_path)
    environ = {"PATH": "/usr/bin:/bin", "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}
    maker = PythonMaker(home.store, Uv(UV, lambda: environ), Series(usual=runtime()))
    environments, tree = Environments(home.store, [maker]), TextTree({"requirements.txt": "moonphase\n"})
    with pytest.raises(SandboxError, match="does not answer"):
        await environments.make(tree, await environments.of(tree))
    assert environments.list_parts() == []


def test_another_python_is_chosen_only_where_it_is_asked_for_and_there() -> None:
    series = Series(usual=replace(runtime(), version="3.11.2"), others=("3.13", "3.12", "3.10"))
    assert series.chosen("", "") == "3.11"
    assert series.chosen(">=3.12", "") == "3.13"
    assert series.chosen(">=3.12,<3.13", "") == "3.12"
    assert series.chosen(">=3.14", "") == "3.11"
    assert series.chosen("<3.11", "") == "3.10"
    assert series.chosen("", "3.12\n") == "3.12"
    assert series.chosen("what is this", "pypy3.10") == "3.11"


async def test_packages_of_the_environment_file_are_there_beside_those_of_the_repository(home: Home) -> None:
    more = {".nightshift/environment.yaml": "packages: [tidewave, nosuch]\n"}
    packages, remarks = await home.make_packages({"requirements.txt": "moonphase\n", **more})
    assert packages == {"moonphase": "1.0", "tidewave": "2.0"}
    assert "nosuch" in remarks
    assert (await home.make_packages(more))[0] == {"tidewave": "2.0"}
