"""Compares the suites of source archives inside and outside the sandbox, and judges a correct change of each archive.

    .venv/bin/python bench/suites.py FOLDER [NAME==VERSION …]

Sources come from the package index; without names, the archives in `ARCHIVES` are used. “Outside” is a virtual
environment of the same interpreter with the same packages, in which the archive is installed in editable mode by its
own build backend. “Inside” is the environment made from the archive's declarations. Each test is compared by its name
without parameters and by the number of its cases with each result. The correct change (“honest change” in the table)
adds a function to the package, with a given test; the table shows the label of its verdict. Differences are listed in
`docs/internals/suites.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bench.bare_pytest import git
from bench.overhead import plain_environment
from nightshift.app.environments import make_environments
from nightshift.config.load import Settings
from nightshift.core.code.dependencies import ImportCache, dependants
from nightshift.core.code.tree import text_of
from nightshift.core.errors import NightshiftError
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.verdicts import Result, SuiteJob, Verdict
from nightshift.git.manager import GitManager
from nightshift.sandbox.pool import warm
from nightshift.sandbox.runtime import Runtime, list_installed_programs, open_runtime
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import bubblewrap, open_folder

ARCHIVES = (
    "click", "marshmallow", "sqlparse", "djangorestframework", "aiofiles", "pytest-mock", "django-environ",
    "django-model-utils", "itsdangerous", "asgiref", "simplejson", "structlog", "jinja2", "cattrs", "anyio", "werkzeug",
    "attrs", "tomlkit", "more-itertools", "syrupy",
)  # fmt: skip
LIMITS = RunLimits(cpu_s=1500, memory_mb=3000, pids=512, work_mb=1024)
_PLUGIN = """
import json, os

ended = {}


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        how = "skipped" if hasattr(report, "wasxfail") else report.outcome
        if not hasattr(report, "context") or how == "failed":
            ended[report.nodeid] = "failed" if ended.get(report.nodeid) == "failed" else how


def pytest_collectreport(report):
    if report.outcome != "passed":
        ended[report.nodeid] = report.outcome


def pytest_sessionfinish():
    with open(os.environ["BARE_RESULTS"], "w") as file:
        json.dump(ended, file)
"""
_PACKAGE = re.compile(r"(src/)?(?!tests?/|docs/|examples?/)\w+/__init__\.py")
_ADDED = "\n\ndef double_of(number):\n    return 2 * number\n"
Ends = Mapping[str, Counter[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The runs of one archive's suite outside and inside the sandbox, and the verdict on the correct change."""

    name: str
    outside: Ends
    inside: Ends
    why: Mapping[str, str]
    verdict: Verdict

    def describe(self) -> Iterator[str]:
        """Yield a row of the table, and a line for each test with different results."""
        counts = [sum(side.values(), Counter[str]()) for side in (self.outside, self.inside)]
        shown = [", ".join(f"{count[how]} {how}" for how in sorted(count)) or "none" for count in counts]
        names = sorted(self.outside.keys() | self.inside.keys())
        others = [name for name in names if self.outside.get(name) != self.inside.get(name)]
        judged = self.verdict.evidence.label if self.verdict.passed else f"refused: {self.verdict.reason}"
        yield f"| {self.name} | {shown[0]} | {shown[1]} | {len(others)} | {judged} |"
        yield from (f"    {note}" for note in self.verdict.evidence.notes)
        for name in others[:40]:
            sides = (dict(side.get(name, {})) for side in (self.outside, self.inside))
            yield f"    {name}: outside {next(sides)}, inside {next(sides)} {self.why.get(name, '')}"


def count_ends(ends: Iterator[tuple[str, str]]) -> Ends:
    """Count, for each test, the cases with each result."""
    counted = dict[str, Counter[str]]()
    for test, how in ends:
        counted.setdefault(test.partition("[")[0], Counter())[how] += 1
    return counted


def open_archive(package: str, folder: Path) -> Path:
    """Make a repository with the sources of a release, unless it exists."""
    repo = folder / package.replace("==", "-")
    if not repo.exists():
        with tempfile.TemporaryDirectory() as unpacking:
            words = ["-q", "--no-binary", package.partition("==")[0], "--no-deps", "-d", unpacking, package]
            subprocess.run([sys.executable, "-m", "pip", "download", *words], check=True, capture_output=True)
            (archive,) = Path(unpacking).glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(unpacking, filter="data")
            (unpacked,) = (path for path in Path(unpacking).iterdir() if path.is_dir())
            shutil.move(unpacked, repo)
        git(repo, "init", "-q", "-b", "main")
        git(repo, "add", "-A", "--force")
        git(repo, "commit", "-q", "--no-verify", "-m", package)
    return repo


def run_outside(repo: Path, runtime: Runtime, packages: list[str]) -> Ends:
    """Run the suite in a virtual environment with these packages, as the archive's owner does."""
    with tempfile.TemporaryDirectory() as unpacking:
        python = plain_environment(Path(unpacking, "venv"), runtime)
        tree, results, home = Path(unpacking, "tree"), Path(unpacking, "results.json"), Path(unpacking, "home")
        shutil.copytree(repo, tree, symlinks=True)
        home.mkdir()
        (home / "bare_results.py").write_text(_PLUGIN)
        install = [str(ROOT / ".venv/bin/uv"), "pip", "install", "-q", "--python", str(python), "--no-deps"]
        subprocess.run([*install, *packages, "-e", str(tree)], check=True, capture_output=True)
        env = {
            "PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(home),
            "BARE_RESULTS": str(results), "VIRTUAL_ENV": str(python.parent.parent),
        }  # fmt: skip
        words = ["-m", "pytest", "-q", "--tb=no", "-p", "bare_results", "--continue-on-collection-errors"]
        done = subprocess.run(
            [python, *words], cwd=tree, env=env, capture_output=True, text=True, check=False, start_new_session=True
        )
        if not results.exists():
            print(done.stdout[-2000:], done.stderr[-2000:])
        return count_ends(iter(json.loads(results.read_text()).items() if results.exists() else ()))


async def compare(repo: Path, environments: Environments, suite: SuiteRunner, manager: GitManager) -> Compared:
    """Run one archive's suite outside and inside the sandbox, and judge a change of the archive."""
    tree = manager.tree(str(repo), git(repo, "rev-parse", "HEAD"))
    environment = await environments.of(tree)
    await environments.make(tree, environment)
    runtime = open_runtime(ROOT / ".runner", programs=list_installed_programs())
    shown = await environments.runtime_for(runtime, tree, environment.digest)
    layers = [
        layer for layer in environments.list_parts() if any(mount.host.name == layer.name for mount in shown.mounts)
    ]
    packages = [f"{name}=={version}" for layer in layers for name, version in layer.packages.items()]
    outside = await asyncio.to_thread(run_outside, repo, runtime, packages)
    job = SuiteJob(base=tree, change={}, environment=environment.digest, limits=LIMITS)
    trial = await suite.observe(replace(job, command=("python", "-m", "pytest")))
    how = {Result.PASSED: "passed", Result.SKIPPED: "skipped"}
    inside = count_ends((case.id, how.get(case.result, "failed")) for case in trial.results)
    why = {failure.id.partition("[")[0]: f"{failure.kind}: {failure.message}"[:160] for failure in trial.failures}
    package = min((path for path in tree.entries() if _PACKAGE.fullmatch(path)), key=lambda path: path.count("/"))
    module = package.removeprefix("src/").removesuffix("/__init__.py").replace("/", ".")
    change = {package: (text_of(tree, package) or "") + _ADDED}
    reached = dependants(tree, change, ImportCache())
    test = f"from {module} import double_of\n\n\ndef test_double_of():\n    assert double_of(4) == 8\n"
    given = {f"{min(reached, default='tests/x').rpartition('/')[0]}/test_double_of.py".lstrip("/"): test}
    verdict = await suite.judge(replace(job, change=change, given=given, regression=tuple(sorted(reached)), asked=""))
    return Compared(name=repo.name, outside=outside, inside=inside, why=why, verdict=verdict)


async def print_table(archives: list[str], folder: Path) -> None:
    """Compare the archives one after the other and print the table."""
    runtime = open_runtime(ROOT / ".runner", programs=list_installed_programs())
    with open_folder() as scratch, tempfile.TemporaryDirectory() as views:
        environments = make_environments(Settings(), runtime)
        warm_pool = await warm(bubblewrap(), runtime, size=1)
        suite = SuiteRunner(
            warm_pool.sandbox, runtime, emit=lambda _: None, staging_dir=scratch / "staging", environments=environments
        )
        manager = GitManager(
            workspace=Path(views), author=Author(name="Owner", email="owner@example.org"), auto_push=False,
            emit=lambda _: None, environ=dict(os.environ),
        )  # fmt: skip
        print("| archive | outside | inside | tests that differ | honest change |\n|---|---|---|---|---|", flush=True)
        for archive in archives:
            try:
                compared = await compare(open_archive(archive, folder), environments, suite, manager)
                print("\n".join(compared.describe()), flush=True)
            except (NightshiftError, subprocess.CalledProcessError) as error:
                print(f"| {archive} | {error} {getattr(error, 'stderr', b'')[-300:]!r} |", flush=True)
        manager.close()
        await warm_pool.aclose()


def main() -> None:
    """Parse the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("archives", nargs="*", metavar="NAME==VERSION", default=ARCHIVES)
    a = parser.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(print_table(a.archives, a.folder.resolve()))


if __name__ == "__main__":
    main()
