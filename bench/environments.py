"""Measure the cost of an environment: trials of one small test with none, and with that of a repository, side by side.

    .venv/bin/python bench/environments.py [REPOSITORY] [--rounds 20]

The environment is that of a checkout, or of a small package that needs click and rich. It is made before; the first
trial of each kind, which starts what later ones are forked from, is told apart. Prints medians in milliseconds, and
fails where an environment costs 30 ms or more.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import time
from dataclasses import replace
from statistics import median

from nightshift.app.environments import make_environments
from nightshift.config.load import Settings
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.core.text.encoding import decode
from nightshift.sandbox.pool import warmed
from nightshift.sandbox.runtime import installed_programs, open_runtime
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import bubblewrap, open_folder
from tests.support.trees import TextTree

TEST = {"test_one.py": "def test_one():\n    assert 1 + 1 == 2\n"}
SMALL = {"pyproject.toml": "[project]\nname = 'small'\nversion = '1.0'\ndependencies = ['click', 'rich']\n"}
PAUSE_S = 0.3
MOST_MS = 30.0


async def timed_ms(suite: SuiteRunner, job: SuiteJob) -> float:
    """How long a trial takes."""
    began = time.perf_counter()
    trial = await suite.try_out(job)
    took = (time.perf_counter() - began) * 1000
    assert not trial.reason, trial.reason
    await asyncio.sleep(PAUSE_S)
    return took


async def measured(tree: TextTree, rounds: int) -> bool:
    """Print the figures; true where an environment costs less than it may."""
    runtime = open_runtime(ROOT / ".runner", programs=installed_programs())
    environments = make_environments(Settings(), runtime)
    found = await environments.of(tree)
    began = time.perf_counter()
    await environments.make(tree, found)
    print(f"{', '.join(found.sources)}: made or found in {time.perf_counter() - began:.2f} s")
    with open_folder() as folder:
        warm = await warmed(bubblewrap(), runtime, size=1)
        suite = SuiteRunner(
            warm.sandbox, runtime, emit=lambda _: None, staging_dir=folder / "staging", environments=environments
        )
        none = SuiteJob(base=tree, change={}, given=TEST)
        some = replace(none, environment=found.digest)
        first = [await timed_ms(suite, job) for job in (none, some)]
        took: tuple[list[float], list[float]] = ([], [])
        for number in range(rounds + 2):
            pair = [await timed_ms(suite, job) for job in ((none, some) if number % 2 else (some, none))]
            if number > 1:
                for kind, ms in zip(took, pair if number % 2 else reversed(pair), strict=True):
                    kind.append(ms)
        await warm.aclose()
    more = median(b - a for a, b in zip(*took, strict=True))
    print(f"none         first {first[0]:6.0f} ms, then {median(took[0]):6.1f} ms (best {min(took[0]):.1f})")
    print(f"environment  first {first[1]:6.0f} ms, then {median(took[1]):6.1f} ms (best {min(took[1]):.1f})")
    print(f"more         {more:+.1f} ms by the median of pairs")
    return more < MOST_MS


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    a = parser.parse_args()
    files = SMALL
    if a.repository:
        paths = [path for path in a.repository.rglob("*") if path.is_file() and ".git" not in path.parts]
        files = {str(path.relative_to(a.repository)): decode(path.read_bytes()) for path in paths}
    if not asyncio.run(measured(TextTree(files), a.rounds)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
