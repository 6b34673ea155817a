"""Runs the suites of real packages in their environments, inside the sandbox and outside, and compares each test.

    .venv/bin/python bench/environment_outcomes.py FOLDER click==8.1.8 rich==13.9.4 …

Sources come from the package index. Outside is a virtual environment of the same interpreter with the same packages,
in which the repository is installed for editing by its own build backend, and pytest as the repository configures it.
Inside is a trial of the same test files with the environment that was made from the repository's declarations. Tests
are compared by name without parameters; of several with one name the worst outcome counts.

`--pip` is one that can download sources without building them: that of an environment with flit_core, hatchling,
hatch-vcs, setuptools, setuptools-scm and poetry-core, which also builds the editable installation.

Python 3.11, pytest 9.2. The same tests passed inside as outside: click 8.5.1 (556), pytest-mock 3.17.0 (92),
itsdangerous 2.2.0 (133), jinja2 3.1.6 (676), more-itertools 10.8.0 (695), uncertainties 3.2.3 (56), marshmallow 4.4.0
(647), werkzeug 3.1.9 (574), attrs 26.1.0 (639), cobra 1.6.1 in Go (249). Different: structlog 26.1.0 (508 outside,
506 inside, where `sys.stdout` is not captured); flufl.i18n 6.0.0 and jaraco.text 4.0.0, whose doctests are not run
inside; flask 3.1.3, which runs on neither side, because its conftest uses a name that pytest 9.2 no longer has. Of
npm, by tape: fastq 1.17.1 and left-pad 1.3.0 passed on both sides; their 222 and 35 assertions have 40 and 15 names
inside.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from bench.bare_pytest import git
from bench.overhead import plain_environment
from nightshift.app.environments import make_environments
from nightshift.config.load import Settings
from nightshift.core.code.environments import Environment, MadeEnvironment
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.git.manager import GitManager
from nightshift.sandbox.pool import warmed
from nightshift.sandbox.runtime import Runtime, installed_programs, open_runtime
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import bubblewrap, open_folder

LIMITS = RunLimits(cpu_s=1500, memory_mb=3000, pids=512, work_mb=512)
RANK = ("passed", "skipped", "failed")
_PLUGIN = """
import json, os

ended = {}


def note(name, how):
    ended.setdefault(name, []).append(how)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        how = "skipped" if hasattr(report, "wasxfail") else report.outcome
        note(report.nodeid, how)


def pytest_collectreport(report):
    if report.failed:
        note(report.nodeid, "failed")


def pytest_sessionfinish():
    with open(os.environ["BARE_RESULTS"], "w") as file:
        json.dump(ended, file)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The comparison of one repository: test to outcome on each side, and seconds."""

    name: str
    made: tuple[MadeEnvironment, ...]
    made_s: float
    inside: Mapping[str, str]
    outside: Mapping[str, str]
    inside_s: float
    outside_s: float
    reason: str
    why: Mapping[str, str]

    @property
    def different(self) -> dict[str, str]:
        """Tests that ended otherwise, with both outcomes."""
        names = sorted(self.inside.keys() | self.outside.keys())
        gone = {name: how if how == "skipped" else "not run" for name, how in self.outside.items()}
        inside = {**gone, **self.inside}  # a trial does not tell of what it skips, nor of failures that are expected
        pairs = {name: (self.outside.get(name, "not run"), inside.get(name, "not run")) for name in names}
        return {name: f"{out} outside, {here} inside" for name, (out, here) in pairs.items() if out != here}


def worst(found: Mapping[str, list[str]]) -> dict[str, str]:
    """The worst outcome of each test, by its name without parameters."""
    outcomes: dict[str, str] = {}
    for name, each in found.items():
        bare = name.partition("[")[0]
        every = [*each, *([outcomes[bare]] if bare in outcomes else [])]
        every = [
            one for one in every if one != "skipped"
        ] or every  # of some parameters that are skipped nothing follows
        outcomes[bare] = max(every, key=RANK.index)
    return outcomes


def sources(package: str, folder: Path, pip: str) -> Path:
    """A repository with the sources of a release; made once."""
    repo = folder / package.replace("==", "-")
    if repo.exists():
        return repo
    with tempfile.TemporaryDirectory() as place:
        words = ["download", "-q", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "-d", place]
        subprocess.run([pip, *words, package], check=True, capture_output=True)
        (found,) = Path(place).glob("*.tar.gz")
        with tarfile.open(found) as archive:
            archive.extractall(place, filter="data")
        (unpacked,) = (path for path in Path(place).iterdir() if path.is_dir())
        shutil.move(unpacked, repo)
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A", "--force")
    git(repo, "commit", "-q", "--no-verify", "-m", package)
    return repo


def outside(repo: Path, runtime: Runtime, made: tuple[MadeEnvironment, ...], pip: str) -> tuple[dict[str, str], float]:
    """How the tests end in a virtual environment with the same packages."""
    with tempfile.TemporaryDirectory() as place:
        python = plain_environment(Path(place, "venv"), runtime)
        packages = [f"{name}=={version}" for one in made for name, version in one.packages.items()]
        uv = ROOT / ".venv" / "bin" / "uv"
        if packages:
            words = [
                str(uv),
                "pip",
                "install",
                "-q",
                "--python",
                str(python),
                "--no-deps",
                "--only-binary",
                ":all:",
                *packages,
            ]
            subprocess.run(words, check=True)
        tree = Path(place, "tree")
        shutil.copytree(repo, tree, symlinks=True)
        backend = Path(pip).parent / "python"
        (site,) = python.parent.parent.glob("lib/python3*/site-packages")
        words = [
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            str(site),
            "-e",
            str(tree),
        ]
        subprocess.run([str(backend), *words], check=False, capture_output=True)
        shutil.rmtree(site / "bin", ignore_errors=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, "--no-deps", "-e", str(tree)], check=False)
        plugin = Path(place, "plugin")
        plugin.mkdir()
        (plugin / "bare_results.py").write_text(_PLUGIN)
        results = Path(place, "results.json")
        home = Path(place, "home")
        home.mkdir()
        env = {
            "PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(plugin),
            "BARE_RESULTS": str(results), "PYTHONDONTWRITEBYTECODE": "1", "VIRTUAL_ENV": str(python.parent.parent),
        }  # fmt: skip
        began = time.perf_counter()
        words = ["-m", "pytest", "-q", "--tb=no", "-p", "bare_results", "--continue-on-collection-errors"]
        done = subprocess.run([str(python), *words], cwd=tree, env=env, capture_output=True, text=True, check=False)
        took = time.perf_counter() - began
        if not results.exists():
            print(done.stdout[-2000:], done.stderr[-2000:])
            return {}, took
        return worst(json.loads(results.read_text())), took


async def compared(
    repo: Path, environments: Environments, suite: SuiteRunner, git_manager: GitManager, pip: str
) -> Compared:
    """Both runs of one repository."""
    runtime = open_runtime(ROOT / ".runner", programs=installed_programs())
    tree = git_manager.tree(str(repo), git(repo, "rev-parse", "HEAD"))
    began = time.perf_counter()
    environment: Environment = await environments.of(tree)
    new = (await environments.make(tree, environment)).new
    made_s = time.perf_counter() - began
    shown = await environments.runtime_for(runtime, tree, environment.digest)
    made = new or tuple(
        one for one in environments.kept() if any(mount.host.name == one.name for mount in shown.mounts)
    )
    job = SuiteJob(base=tree, change={}, command=("pytest",), environment=environment.digest, limits=LIMITS)
    began = time.perf_counter()
    trial = await suite.try_out(job)
    inside_s = time.perf_counter() - began
    found: dict[str, list[str]] = {name: ["failed"] for name in trial.before}
    for one in trial.results:
        how = {"passed": "passed", "skipped": "skipped"}.get(str(one.result), "failed")
        found.setdefault(one.id, []).append(how)
    series = open_runtime(ROOT / ".runner", programs=installed_programs()) if shown.series == runtime.series else shown
    out, outside_s = await asyncio.to_thread(outside, repo, series, made, pip)
    why = {failure.id.partition("[")[0]: f"{failure.kind}: {failure.message}"[:160] for failure in trial.failures}
    return Compared(
        name=repo.name, made=made, made_s=made_s, inside=worst(found), outside=out, inside_s=inside_s,
        outside_s=outside_s, reason=trial.reason, why=why,
    )  # fmt: skip


def told(one: Compared) -> None:
    """Print a line of the table, and below it each difference."""
    counts = [Counter(side.values()) for side in (one.outside, one.inside)]
    shown = [", ".join(f"{count[how]} {how}" for how in RANK if count[how]) or "none" for count in counts]
    packages = sum(len(each.packages) for each in one.made)
    print(
        f"| {one.name} | {packages} | {one.made_s:.1f} | {shown[0]} | {shown[1]} | {len(one.different)} "
        f"| {one.outside_s:.1f} / {one.inside_s:.1f} |", flush=True,
    )  # fmt: skip
    for name, what in list(one.different.items())[:40]:
        print(f"    {name}: {what} {one.why.get(name, '')}")
    if not one.inside:
        print(f"    {one.reason[:300]}")


async def table(packages: list[str], folder: Path, pip: str) -> None:
    """Print the table."""
    runtime = open_runtime(ROOT / ".runner", programs=installed_programs())
    with open_folder() as place, tempfile.TemporaryDirectory() as views:
        settings = Settings()
        environments = make_environments(settings, runtime)
        warm = await warmed(bubblewrap(), runtime, size=1)
        suite = SuiteRunner(
            warm.sandbox, runtime, emit=lambda _: None, staging_dir=place / "staging", environments=environments
        )
        manager = GitManager(
            workspace=Path(views), author=Author(name="Owner", email="owner@example.org"), auto_push=False,
            emit=lambda _: None, environ=dict(os.environ),
        )  # fmt: skip
        print("| repository | packages | made in s | outside | inside | differences | seconds outside / inside |")
        print("|---|---|---|---|---|---|---|")
        for package in packages:
            try:
                told(await compared(sources(package, folder, pip), environments, suite, manager, pip))
            except subprocess.CalledProcessError as error:
                print(f"| {package} | {error} {(error.stderr or b'')[-300:]!r} |")
        manager.close()
        await warm.aclose()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="+", metavar="NAME==VERSION")
    parser.add_argument("--pip", default=shutil.which("pip") or "pip")
    a = parser.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(table(a.packages, a.folder.resolve(), a.pip))


if __name__ == "__main__":
    main()
