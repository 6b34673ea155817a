"""How long prompts and their map of a repository take, and whether they keep to their limit: 5,000 files by default.

    .venv/bin/python bench/map.py [--files 5000] [--repo DIR]

A repository is made: files of Python of some eighty lines each that import one another. The prompt of CODING is built
three times: the first time every file is read, the second time none; then in a new process's place, with the tags that
an earlier one kept in a file. Goals: no prompt is longer than its limit, the map takes less than 1 s the second time.
With `--repo` the files of a folder are taken instead.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from nightshift.agent.coding import first_request
from nightshift.agent.library import FileTree, NoMemory
from nightshift.agent.prompt.budget import Prompt
from nightshift.agent.services import AgentServices
from nightshift.agent.symbols import SymbolCache
from nightshift.app.symbol_cache import load_cache, save_cache
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Emitter
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob, Trial, Verdict

GOAL_S = 1.0


class Listed(FileTree):
    """A tree whose list of files is made once, as git's is."""

    listed: Mapping[str, str] = {}

    def entries(self) -> Mapping[str, str]:
        """Path to the digest of its text."""
        Listed.listed = Listed.listed or FileTree(self.files).entries()
        return Listed.listed


class Nobody:
    """A model and a suite that nobody asks here."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Never called."""
        raise AssertionError(request.phase)

    async def judge(self, job: SuiteJob) -> Verdict:
        """Never called."""
        raise AssertionError(job.change)

    async def try_out(self, job: SuiteJob) -> Trial:
        """Never called."""
        raise AssertionError(job.change)

    run_base = try_out


def made(count: int) -> dict[str, str]:
    """A repository of so many files that refer to one another."""
    return {f"pkg{n % 50}/part{n % 7}/mod{n}.py": _text(n) for n in range(count)}


def _text(n: int) -> str:
    up = n // 3
    head = f'"""Module {n}: orders of kind {n}."""\n\nfrom pkg{up % 50}.part{up % 7}.mod{up} import make_order_{up}\n'
    body = (
        f"\n\ndef make_order_{n}_{k}(amount, rate):\n    total = make_order_{up}(amount) + {k}\n"
        "    for step in range(amount):\n        total += step * rate\n    return total\n"
        for k in range(10)
    )
    return head + "".join(body) + f"\n\ndef make_order_{n}(amount):\n    return make_order_{n}_0(amount, 1)\n"


def found(folder: Path) -> dict[str, str]:
    """The Python files of a folder, without hidden folders."""
    paths = (path for path in folder.rglob("*.py") if not any(p.startswith(".") for p in path.parts))
    return {str(path.relative_to(folder)): path.read_text(errors="replace") for path in paths}


def built(tools: AgentServices, description: str) -> tuple[Prompt, float]:
    """The prompt of CODING, and how long it took in seconds."""
    at = datetime.now(UTC)
    task = Task(id=1, spec=TaskSpec(description=description), status=Status.RUNNING, created_at=at, attempt=1)
    began = time.perf_counter()
    _, prompt = first_request(AttemptContext(task=task), AttemptState(phase=Phase.CODING, base="0" * 40), tools)
    return prompt, time.perf_counter() - began


def run(files: Mapping[str, str]) -> bool:
    """Print the figures; true when both goals are met."""
    nobody, tree, symbol_cache = Nobody(), Listed(files), SymbolCache()
    tree.entries()
    tools = AgentServices(
        model=nobody,
        suite=nobody,
        memory=NoMemory(),
        tree=tree,
        events=Emitter(lambda _event: None),
        symbol_cache=symbol_cache,
    )
    middle = sorted(files)[len(files) // 2]
    description = f"Make the orders of {middle} cheaper by a tenth"
    prompt, first_s = built(tools, description)
    _, again_s = built(tools, description)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tags"
        began = time.perf_counter()
        save_cache(symbol_cache, path)
        size, written_s, began = path.stat().st_size, time.perf_counter() - began, time.perf_counter()
        later = replace(tools, symbol_cache=load_cache(path))
        read_s = time.perf_counter() - began
        _, later_s = built(later, description)
    record = prompt.record()
    print(f"{len(files):,} files: the first prompt takes {first_s:.2f} s, the second {again_s:.2f} s (goal {GOAL_S} s)")
    print(f"after a restart it takes {later_s:.2f} s")
    print(f"tags: {size:,} bytes, written in {written_s:.2f} s, read in {read_s:.2f} s")
    print(f"{record['tokens']:,} of {record['limit']:,} tokens: {dict(record['sections'])}")
    shown = ", ".join(f"{record[f'{kind}_count']} {kind}" for kind in ("whole", "outlined", "named"))
    print(f"files: {shown}, {record['left_out']:,} left out")
    return again_s < GOAL_S and record["tokens"] <= record["limit"]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--repo", type=Path)
    a = parser.parse_args()
    if not run(found(a.repo) if a.repo else made(a.files)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
