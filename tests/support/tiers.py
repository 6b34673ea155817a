"""How much the tests do: `make test` takes a share of the long ones that each commit draws anew, `make test-all` all.

NIGHTSHIFT_TESTS is `quick` where it is not set, `all`, or `endurance`: all, and death at every point of every scenario.
What is drawn follows from the commit alone, so that all processes of a run draw the same, a failure can be had again,
and some dozens of commits pass through everything.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
TIER = os.environ.get("NIGHTSHIFT_TESTS", "quick")
ALL = TIER in {"all", "endurance"}
ENDURANCE = TIER == "endurance"
MOST_EXAMPLES, MOST_STEPS = 16, 12

LATER = (
    "tests/bench/",
    "tests/bootstrap/test_growth.py",
    "tests/repair/bench/",
    "tests/e2e/test_forged_verdicts.py",
    "tests/e2e/test_mcp_inspector.py",
    "tests/endurance/test_dying_reverts.py",
    "tests/endurance/test_other_scenarios.py",
    "tests/endurance/test_several_workers.py",
    "tests/endurance/test_stop_and_start.py",
    "tests/endurance/test_taking_over.py",
)
"""Files and folders that `make test` leaves out."""
FILES = {"tests/browser/": 1, "tests/endurance/": 1}
"""How many files `make test` draws of a folder in which the tests of a file share what is expensive."""
LONG = (
    "tests/bootstrap/test_benchmark_run.py",
    "tests/e2e/test_benchmark_run.py",
    "tests/e2e/test_benchmark_stopped.py",
    "tests/e2e/test_forges.py",
    "tests/e2e/test_image.py",
    "tests/e2e/test_readme.py",
    "tests/e2e/test_twenty_tasks.py",
    "tests/e2e/test_typescript.py",
    "tests/memory/test_local_embedders.py::test_the_model_takes_over_when_all_memories_are_embedded_with_it",
    "tests/models/test_text_form.py",
    "tests/sandbox/test_inside_connection.py",
    "tests/test_suite_runner.py::test_runs_that_do_not_end_well_say_how_and_where",
    "tests/verdict/held/test_weighing.py::test_what_is_too_deep_or_too_large_is_not_the_value_that_is_expected",
)
"""Tests of seven seconds of processor time and more, and files of such tests, among short ones."""
TESTS: dict[str | tuple[str, ...], int] = {
    LONG: 1,
    "tests/acp_agents/test_backend.py": 6,
    "tests/attempt/test_branch_integration.py": 8,
    "tests/attempt/test_integration.py": 8,
    "tests/attempt/test_revert.py": 6,
    "tests/attempt/test_sweep.py": 3,
    "tests/attempt/test_verify.py": 3,
    "tests/attempt/test_verifying.py": 2,
    "tests/benchmark/test_running.py": 1,
    "tests/benchmark/test_validation.py": 1,
    "tests/bootstrap/test_maintenance.py": 2,
    "tests/checks/linters/test_check.py": 2,
    "tests/checks/linters/test_real_linters.py": 1,
    "tests/client/test_daemon_client.py": 10,
    "tests/client/test_hub.py": 5,
    "tests/client/test_mcp.py": 1,
    "tests/client/test_showing.py": 4,
    "tests/client/test_terminal.py": 4,
    "tests/client/test_todo.py": 2,
    "tests/e2e/": 5,
    "tests/environments/": 12,
    "tests/forges/test_pulls.py": 6,
    "tests/hub/test_kills.py": 4,
    "tests/languages/go/test_go_suites.py": 2,
    "tests/languages/javascript/test_node_suites.py": 6,
    "tests/mcp_client/": 4,
    "tests/memory/test_transformer.py": 2,
    "tests/models/test_routing.py": 6,
    "tests/models/test_tools.py": 6,
    "tests/repair/edits/test_statement_laws.py": 1,
    "tests/repair/test_engine.py": 5,
    "tests/repair/test_synthesis.py": 6,
    "tests/verdict/test_baseline.py": 7,
    "tests/verdict/test_cut_off.py": 2,
    "tests/verdict/test_long_suites.py": 1,
    "tests/verdict/test_split_runs.py": 6,
}
"""How many tests `make test` draws of those in which each starts what is expensive; the first place that fits holds."""
ALWAYS = frozenset({
    "tests/browser/test_dashboard_page.py", "tests/e2e/test_main_job.py",
    "tests/endurance/test_every_step.py", "tests/endurance/test_damaged_databases.py",
    "tests/environments/test_distributions.py", "tests/environments/test_missing_modules.py",
})  # fmt: skip
"""Files of these folders that are run whole with every commit."""
ITEMS = {
    "tests/checks/test_python.py::test_large_and_deep_programs_are_read_to_their_end": 4,
    "tests/client/test_mcp.py": 2,
    "tests/e2e/test_benchmark_run.py": 1,
    "tests/e2e/test_typescript.py": 1,
    "tests/environments/test_hostile_setups.py": 2,
    "tests/forges/": 1,
    "tests/forges/test_kills.py": 2,
    "tests/hostile/": 4,
    "tests/hub/test_roles.py::test_a_node_may_not": 8,
    "tests/checks/test_javascript_forgers.py": 40,
    "tests/checks/test_python_forgers.py": 40,
    "tests/checks/test_right_programs.py": 12,
    "tests/languages/go/test_go_suites.py": 2,
    "tests/languages/go/test_go_ways.py": 1,
    "tests/languages/javascript/": 4,
    "tests/languages/javascript/test_vitest_and_jest.py": 1,
    "tests/languages/python/test_pytest_settings.py": 8,
    "tests/models/test_contract.py": 4,
    "tests/repair/": 4,
    "tests/repair/inside/test_synthesis.py": 1,
    "tests/sandbox/test_isolation_contract.py": 2,
    "tests/verdict/": 4,
    "tests/verdict/test_cut_off.py": 2,
    "tests/verdict/test_let_off.py": 2,
    "tests/verdict/test_shell.py": 2,
}
"""How many items `make test` draws of each parametrised test; the longest prefix of a path counts."""
FIRST = (
    *("tests/verdict/", "tests/e2e/", "tests/languages/", "tests/sandbox/", "tests/agent/", "tests/browser/"),
    *("tests/hub/", "tests/test_suite_runner.py", "tests/test_trials.py"),
)
"""Long files and folders of them, which are begun first, so that no process is at one when the others are done."""


def examples(full: int) -> int:
    """How many examples a property is tried with, of those that `make test-all` takes."""
    return full if ALL else min(full, MOST_EXAMPLES)


def steps(full: int) -> int:
    """How many steps a walk through a state machine takes, of those that `make test-all` takes."""
    return full if ALL else min(full, MOST_STEPS)


def drawn(items: Sequence[T], most: int, name: Callable[[T], str] = str) -> list[T]:
    """That many of the items, in their order; all of them where everything is run."""
    if ALL:
        return list(items)
    return _lowest(items, most, name)


def left_out(ids: Iterable[str]) -> set[str]:
    """Those of the tests, by their ids (`path::test[parameters]`), that are for `make test-all`."""
    if ALL:
        return set()
    ids = list(ids)
    out = files_left_out(id_.partition("::")[0] for id_ in ids)
    skipped = {id_ for id_ in ids if id_.partition("::")[0] in out}
    settled, placed = out | ALWAYS, set[str]()
    for place, most in TESTS.items():
        drawable = (id_ for id_ in ids if id_.startswith(place) and id_.partition("::")[0] not in settled)
        there = sorted({_test(id_) for id_ in drawable} - placed)
        placed.update(there)
        left = set(there) - set(_lowest(there, most, str))
        skipped |= {id_ for id_ in ids if _test(id_) in left}
    for most, group in _grouped(id_ for id_ in ids if id_ not in skipped):
        skipped |= set(group) - set(_lowest(group, most, str))
    return skipped


def files_left_out(files: Iterable[str]) -> set[str]:
    """Those of the files, by their paths, of which all is for `make test-all`."""
    if ALL:
        return set()
    files = set(files)
    out = {file for file in files if file.startswith(LATER)}
    for folder, most in FILES.items():
        there = sorted(file for file in files - out if file.startswith(folder) and file not in ALWAYS)
        out |= set(there) - set(_lowest(there, most, str))
    return out


@cache
def unread() -> frozenset[Path]:
    """The files of tests that need not even be imported, for all of them is for `make test-all`."""
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    return frozenset(ROOT / file for file in files_left_out(there))


def _test(id_: str) -> str:
    """The test of an item, without its parameters."""
    return id_.partition("[")[0]


def _grouped(ids: Iterable[str]) -> list[tuple[int, list[str]]]:
    """The items of each parametrised test of which some are drawn, and how many."""
    groups: dict[str, list[str]] = defaultdict(list)
    for id_ in ids:
        if "[" in id_:
            groups[_test(id_)].append(id_)
    found = []
    for test, group in groups.items():
        fitting = [prefix for prefix in ITEMS if test.startswith(prefix)]
        if fitting:
            found.append((ITEMS[max(fitting, key=len)], group))
    return found


def _lowest(items: Sequence[T], most: int, name: Callable[[T], str]) -> list[T]:
    ranked = sorted(range(len(items)), key=lambda at: hashlib.sha256(f"{commit()}:{name(items[at])}".encode()).digest())
    return [items[at] for at in sorted(ranked[:most])]


@cache
def commit() -> str:
    """The commit that is tested; empty outside of a repository."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
