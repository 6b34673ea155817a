"""Measure a model's tools in the harness, and the growth of its conversation: 5,000 files by default.

    .venv/bin/python bench/explore.py [--files 5000] [--repo DIR] [--rounds 40]

A git repository is made of files of Python that import one another (or a given one is used), and each tool is called in
turn; the first call of a tool is shown apart, since a commit is read once. `run` and `run_tests` go through the real
sandbox, beside a bare job of the same sandbox. Then a scripted model works in twenty steps, and the tokens of its
prompts are printed with the share that a cache of prefixes serves. Goal: list, search, read and edit p50 under 10 ms.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bench.map import made
from nightshift.agent.coding import first_request
from nightshift.agent.dialogue import Dialogue
from nightshift.agent.draft import Draft
from nightshift.agent.explore import Explorer
from nightshift.agent.library import NoMemory
from nightshift.agent.services import AgentServices
from nightshift.agent.tools import specs
from nightshift.agent.tools.toolbox import Toolbox
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Emitter
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob, Trial, Verdict
from nightshift.core.tools import ToolCall
from nightshift.git.manager import GitManager
from tests.support.git_repo import make_repo

GOAL_MS = 10.0


@dataclass
class Script:
    """A model that makes one call after the other, and notes what it was sent."""

    calls: Sequence[str]
    sent: list[ModelRequest] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> Completion:
        """The next call."""
        self.sent.append(request)
        return Completion(text=self.calls[len(self.sent) - 1], backend="script", model="script")

    async def judge(self, job: SuiteJob) -> Verdict:
        """Never called."""
        raise AssertionError(job.change)

    async def try_out(self, job: SuiteJob) -> Trial:
        """Never called."""
        raise AssertionError(job.change)

    run_base = try_out


def services_for(tree: Any, model: Script) -> AgentServices:
    """The agent's services around a tree."""
    return AgentServices(model=model, suite=model, memory=NoMemory(), tree=tree, events=Emitter(lambda _event: None))


def context_for(description: str) -> AttemptContext:
    """A task of these words."""
    at = datetime.now(UTC)
    return AttemptContext(
        task=Task(id=1, spec=TaskSpec(description=description), status=Status.RUNNING, created_at=at, attempt=1)
    )


def cases(paths: Sequence[str]) -> Mapping[str, Callable[[int], ToolCall]]:
    """For each tool the call of a round; every round is about another file."""

    def path(n: int) -> str:
        return paths[n * 7919 % len(paths)]

    def call(name: str, **arguments: Any) -> ToolCall:
        return ToolCall(name=name, arguments=arguments)

    return {
        "list_files": lambda n: call("list_files", path=path(n).split("/")[0]),
        "list_files glob": lambda n: call("list_files", glob=f"**/*{n}.py"),
        "search name": lambda n: call("search", pattern=f"make_order_{n * 37}_1"),
        "search regex": lambda n: call("search", pattern=rf"(?i)TOTAL \+= \w+ \* {n}\b"),
        "search common": lambda n: call("search", pattern="return total", page=n + 1),
        "search folder": lambda n: call("search", pattern="return", path=path(n).rsplit("/", 1)[0]),
        "read_file": lambda n: call("read_file", path=path(n)),
        "edit": lambda n: call("edit", path=path(n), old="orders of kind", new=f"orders ({n}) of kind"),
    }


async def timed(toolbox: Toolbox, paths: Sequence[str], rounds: int) -> bool:
    """Print milliseconds for each tool; true when the goal is met."""
    print(f"{'tool':18} {'first ms':>9} {'p50 ms':>8} {'p95 ms':>8}")
    met = True
    for name, case in cases(paths).items():
        took = []
        for number in range(rounds + 1):
            began = time.perf_counter()
            result = await toolbox.call(case(number))
            took.append((time.perf_counter() - began) * 1000)
            assert result.ok, f"{name}: {result.text}"
        first, rest = took[0], sorted(took[1:])
        p50 = statistics.median(rest)
        met &= p50 < GOAL_MS
        print(f"{name:18} {first:9.1f} {p50:8.2f} {rest[int(len(rest) * 0.95) - 1]:8.2f}")
    return met


async def conversation(services: AgentServices, paths: Sequence[str]) -> None:
    """Print how the prompts of twenty steps grow, and how much of them a cache of prefixes serves."""
    reads = [f"```read_file path={path}\n```" for path in paths[:: max(1, len(paths) // 18)][:18]]
    script = Script([*reads, "```search\nmake_order\n```", "```done\nNothing\n```"])
    context, state = (
        context_for(f"Make the orders of {paths[len(paths) // 2]} cheaper"),
        AttemptState(phase=Phase.CODING, base="0" * 40),
    )
    services = AgentServices(
        model=script, suite=script, memory=NoMemory(), tree=services.tree, events=services.events,
        symbol_cache=services.symbol_cache, corpora=services.corpora,
    )  # fmt: skip
    began = time.perf_counter()
    _, prompt = first_request(context, state, services)
    built_s = time.perf_counter() - began
    draft = Draft(services.tree, {}, context.task.spec)
    toolbox = Toolbox(specs.WORKING, draft, context, state, services, Gauge())
    await Explorer(Dialogue(Phase.CODING, context, state, services), toolbox, services, steps=40).explore(prompt)
    gauge, served, whole = Gauge(), 0, 0
    sizes = list[int]()
    before: tuple[str, ...] = ()
    for request in script.sent:
        texts = tuple(message.text for message in request.messages)
        same = next((n for n, (a, b) in enumerate(zip(before, texts, strict=False)) if a != b), len(before))
        sizes.append(sum(map(gauge.tokens, texts)))
        served += sum(map(gauge.tokens, texts[:same]))
        whole += sizes[-1]
        before = texts
    print(
        f"first prompt: {sizes[0]:,} tokens, built in {built_s:.2f} s; system and tools {head_tokens(script.sent[0]):,}"
    )
    print(f"{len(sizes)} prompts, tokens: " + " ".join(f"{size:,}" for size in sizes))
    print(f"{whole:,} tokens in all, of which {served / whole:.0%} are a prefix of the prompt before")


def head_tokens(request: ModelRequest) -> int:
    """Tokens of the system prompt with the tools described in it."""
    from nightshift.core.tool_text import as_text  # noqa: PLC0415 - used here alone

    return Gauge().tokens(as_text(request.messages, request.tools)[0].text)


async def run(files: Mapping[str, str] | None, repo: Path | None, rounds: int) -> bool:
    """Print all figures; true when the goals are met."""
    with tempfile.TemporaryDirectory() as folder:
        place = repo or make_repo(Path(folder, "repo"), files)
        git = GitManager(
            workspace=Path(folder, "workspace"), author=Author(), auto_push=False, emit=lambda _event: None
        )
        tree = git.open(str(place), None, 1, "bench", datetime.now(UTC)).tree
        services = services_for(tree, Script(()))
        context, state = context_for("Make orders cheaper"), AttemptState(phase=Phase.CODING, base=tree.commit)
        toolbox = Toolbox(specs.WORKING, Draft(tree, {}, context.task.spec), context, state, services, Gauge())
        paths = [path for path in tree.entries() if path.endswith(".py")]
        print(f"{len(tree.entries()):,} files")
        met = await timed(toolbox, paths, rounds)
        await conversation(services, paths)
        git.close()
    return met


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--rounds", type=int, default=40)
    a = parser.parse_args()
    if not asyncio.run(run(None if a.repo else made(a.files), a.repo, a.rounds)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
