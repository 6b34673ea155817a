"""The tiers of the tests: `make test` runs the quick tier, `make test-all` all tests.

The tier of a test is fixed. `TESTS` says how many tests of a file are quick, and `ITEMS` how many items of a
parametrised test. The quick ones are chosen at even distances in the order of the file, so the choice is the same each
time. The other tests get the marker `full`, which a test may also have explicitly (`@pytest.mark.full`). Tests with
this marker run in `make test-all`, and when they are requested by their file, their id or `-m full`.

A test belongs to the full tier if it takes seconds of processor time and a cheaper test covers the same part of the
program. NIGHTSHIFT_TESTS is `quick` (the default), `all`, or `endurance`. `endurance` runs all tests, and kills the
daemon at every point of every scenario.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
TIER = os.environ.get("NIGHTSHIFT_TESTS", "quick")
ALL = TIER in {"all", "endurance"}
ENDURANCE = TIER == "endurance"
MOST_EXAMPLES, MOST_STEPS = 8, 10
"""Limits in the quick tier: examples of a property, and steps of a walk."""
EVERY = 10_000
"""Larger than any number of tests or items, so that all of them are chosen."""

TESTS: Mapping[str, int] = {
    "engine/tests/inside/test_evaluating.py": 8,
    "engine/tests/inside/test_isolations.py": 1,
    "engine/tests/test_engine.py": 2,
    "engine/tests/test_first_run.py": 1,
    "engine/tests/test_first_run.py::test_all_starter_tasks_are_committed_by_the_engine": 1,
    "engine/tests/test_synthesis.py": 6,
    "tests/agent/test_changed_tests.py": 0,
    "tests/agent/test_explore.py": 18,
    "tests/agent/test_held_out.py": 1,
    "tests/agent/test_in_the_sandbox.py": 0,
    "tests/agent/test_library.py": 1,
    "tests/agent/test_prompt_budget.py": 3,
    "tests/agent/test_testing.py": 22,
    "tests/app/commands/test_mcp.py": 0,
    "tests/app/commands/test_todo.py": 1,
    "tests/app/commands/test_transfer.py": 4,
    "tests/app/doctor/test_doctor_checks.py": 10,
    "tests/app/doctor/test_doctor_examination.py": 3,
    "tests/app/test_benchmark_run.py": 0,
    "tests/app/test_coder.py": 1,
    "tests/app/test_extras.py": 3,
    "tests/app/test_growth.py": 0,
    "tests/app/test_maintenance.py": 2,
    "tests/app/test_terminal.py": 3,
    "tests/attempt/test_attempt.py": 1,
    "tests/attempt/test_branch_integration.py": 0,
    "tests/attempt/test_commit_record.py": 0,
    "tests/attempt/test_draft.py": 2,
    "tests/attempt/test_environment.py": 5,
    "tests/attempt/test_integration.py": 1,
    "tests/attempt/test_landing.py": 1,
    "tests/attempt/test_revert.py": 1,
    "tests/attempt/test_sweep.py": 0,
    "tests/attempt/test_verify.py": 1,
    "tests/attempt/test_verifying.py": 1,
    "tests/browser/": 0,
    "tests/browser/test_dashboard_page.py": 1,
    "tests/client/test_cli.py": 8,
    "tests/client/test_commits.py": 5,
    "tests/client/test_connection.py": 3,
    "tests/client/test_daemon_client.py": 10,
    "tests/client/test_hub.py": 0,
    "tests/client/test_options.py": 8,
    "tests/client/test_showing.py": 3,
    "tests/client/test_streams.py": 1,
    "tests/client/test_tasks.py": 8,
    "tests/client/test_terminal.py": 1,
    "tests/e2e/": 0,
    "tests/e2e/test_django.py": 0,
    "tests/e2e/test_main_job.py": 3,
    "tests/e2e/test_old_home.py": 2,
    "tests/endurance/": 0,
    "tests/endurance/test_damaged_databases.py": EVERY,
    "tests/hostile/test_neighbours.py": 1,
    "tests/hostile/test_services.py": 0,
    "tests/hostile/test_verdicts.py": 2,
    "tests/hostile/test_verdicts.py::test_a_refusal_does_not_tell_what_was_held_out": 0,
    "tests/maintenance/test_pruning_rounds.py": 8,
    "tests/models/acp/test_backend.py": 4,
    "tests/models/test_call.py": 8,
    "tests/models/test_gpt4all_local.py": 0,
    "tests/models/test_llama_cpp.py": 5,
    "tests/models/test_routing.py": 15,
    "tests/queue/intake/test_watcher.py": 12,
    "tests/remote/forges/test_docs.py": 5,
    "tests/remote/forges/test_issues.py": 8,
    "tests/remote/forges/test_pulls.py": 6,
    "tests/remote/forges/test_pulls.py::test_dying_after_any_request_doubles_nothing_and_loses_nothing": 0,
    "tests/remote/hub/test_budget.py::test_while_the_database_is_away_a_call_waits_and_what_was_used_is_told_later": 0,
    "tests/remote/hub/test_contract.py": 2,
    "tests/remote/hub/test_database.py": 1,
    "tests/remote/hub/test_dispatcher.py": 1,
    "tests/remote/hub/test_landing.py": 0,
    "tests/remote/hub/test_lessons.py": 5,
    "tests/remote/hub/test_vectors.py": 6,
    "tests/remote/mcp_client/": 1,
    "tests/remote/mcp_client/test_client.py": 1,
    "tests/report/benchmark/test_running.py": 1,
    "tests/report/benchmark/test_validation.py": 0,
    "tests/report/test_report_figures.py": 6,
    "tests/report/test_report_reruns.py": 3,
    "tests/sandbox/test_docker.py": 3,
    "tests/sandbox/test_docs.py": 3,
    "tests/sandbox/test_isolation_contract.py": 5,
    "tests/sandbox/test_launcher.py": 4,
    "tests/sandbox/test_limits_of_a_task.py": 1,
    "tests/sandbox/test_nested.py": 8,
    "tests/sandbox/test_pool.py": 2,
    "tests/sandbox/test_runtime.py": 4,
    "tests/sandbox/test_trees.py": 4,
    "tests/scripts/test_run_tests.py": 2,
    "tests/server/proof/test_proof_page.py": 1,
    "tests/server/test_hub_area.py": 4,
    "tests/server/test_mcp.py": 8,
    "tests/server/test_openapi.py": 3,
    "tests/server/test_settings_area.py": 5,
    "tests/server/test_stream.py": 10,
    "tests/server/test_task_changes.py": 4,
    "tests/storage/memory/test_lesson_standing.py": 1,
    "tests/storage/memory/test_local_embedders.py::test_the_model_takes_over_when_all_memories_are_embedded_with_it": 0,
    "tests/storage/memory/test_transformer.py": 0,
    "tests/verdict/checks/hooks/test_shell.py": 4,
    "tests/verdict/checks/linters/test_check.py": 0,
    "tests/verdict/checks/linters/test_real_linters.py": 0,
    "tests/verdict/environments/": 1,
    "tests/verdict/environments/test_distributions.py": EVERY,
    "tests/verdict/environments/test_go_modules.py": 0,
    "tests/verdict/environments/test_missing_modules.py": EVERY,
    "tests/verdict/environments/test_services.py": 0,
    "tests/verdict/held/test_forgeries.py": 1,
    "tests/verdict/held/test_layer.py": 1,
    "tests/verdict/held/test_weighing.py::test_what_is_too_deep_or_too_large_is_not_the_value_that_is_expected": 0,
    "tests/verdict/languages/go/test_go_suites.py": 0,
    "tests/verdict/languages/javascript/test_node_suites.py": 3,
    "tests/verdict/languages/javascript/test_vitest_and_jest.py": 0,
    "tests/verdict/languages/test_docs.py": 1,
    "tests/verdict/test_baseline.py": 1,
    "tests/verdict/test_documents.py": 4,
    "tests/verdict/test_forgeries.py": 1,
    "tests/verdict/test_mutation.py": 2,
    "tests/verdict/test_ordinary_code.py": 1,
    "tests/verdict/test_runner.py": 2,
    "tests/verdict/test_runner.py::test_runs_that_do_not_end_well_say_how_and_where": 0,
    "tests/verdict/test_shell.py": 1,
    "tests/verdict/test_suite_runs.py": 1,
    "tests/verdict/test_trials.py": 1,
    "tests/verdict/test_words.py": 1,
}
"""Number of quick tests in each file, keyed by a folder, a file or a test. The longest matching key counts; without a
match all tests are quick.
"""
ITEMS: Mapping[str, int] = {
    "tests/verdict/checks/test_python.py::test_large_and_deep_programs_are_read_to_their_end": 4,
    "tests/verdict/environments/test_hostile_setups.py": 2,
    "tests/remote/forges/": 1,
    "tests/remote/forges/test_kills.py": 1,
    "tests/attempt/": 2,
    "tests/hostile/": 2,
    "tests/verdict/languages/javascript/": 2,
    "tests/verdict/languages/javascript/test_vitest_and_jest.py": 1,
    "tests/verdict/languages/python/test_pytest_settings.py": 8,
    "tests/agent/test_changed_tests.py": 2,
    "tests/models/acp/test_backend.py": 2,
    "tests/models/test_contract.py": 3,
    "tests/models/test_contract.py::test_a_cancelled_reply_stops_at_once_and_the_next_one_works": EVERY,
    "tests/models/test_model_outage.py": 2,
    "tests/client/test_commits.py": 2,
    "tests/server/test_too_much.py": 4,
    "tests/models/test_tools.py": 1,
    "engine/tests/": 2,
    "engine/tests/inside/test_synthesis.py": 1,
    "tests/sandbox/test_isolation_contract.py": 2,
    "tests/verdict/": 4,
    "tests/verdict/held/test_weighing.py": EVERY,
    "tests/verdict/test_forgeries.py": 2,
    "tests/verdict/test_ordinary_code.py": 2,
    "tests/verdict/test_runner.py": 2,
    "tests/verdict/test_shell.py": 1,
    "tests/verdict/test_suite_runs.py": 2,
    "tests/verdict/test_words.py": 2,
    "tests/verdict/held/test_forgeries.py": 2,
    "tests/test_tiers.py": 2,
}
"""Number of quick items of each parametrised test, keyed by a folder, a file or the beginning of a test's id."""
FIRST = (
    *(
        "tests/endurance/",
        "tests/attempt/",
        "tests/verdict/",
        "tests/e2e/",
        "tests/verdict/languages/",
        "tests/sandbox/",
        "tests/agent/",
        "tests/browser/",
    ),
    *("tests/remote/hub/", "tests/verdict/test_runner.py", "tests/verdict/test_trials.py"),
)
"""Files and folders that take long. They begin first, so that no process still runs one when the others are done."""


def examples(full: int) -> int:
    """Return how many examples to try a property with in this tier. `full` is the number in `make test-all`."""
    return full if ALL else min(full, MOST_EXAMPLES)


def steps(full: int) -> int:
    """Return how many steps to walk through a state machine in this tier. `full` is the number in `make test-all`."""
    return full if ALL else min(full, MOST_STEPS)


def choose(items: Sequence[T], most: int) -> list[T]:
    """Choose `most` items: the first, the last and items at even distances between them.

    The choice is the same each time. In the tier `all`, return all items.
    """
    if ALL or len(items) <= most:
        return list(items)
    last = len(items) - 1
    return [items[round(number * last / max(1, most - 1))] for number in range(most)]


def full_tier(ids: Iterable[str]) -> set[str]:
    """Return the tests of the full tier. `ids` are all test ids (`path::test[parameters]`) in their order."""
    ids, tests = list(ids), dict[tuple[str, str], dict[str, list[str]]]()
    for id_ in ids:
        test = id_.partition("[")[0]
        group = (test.partition("::")[0], _find_prefix(test, TESTS))
        tests.setdefault(group, {}).setdefault(test, []).append(id_)
    quick = set[str]()
    for (_, prefix), items in tests.items():
        for test in choose(list(items), TESTS.get(prefix, EVERY)):
            quick.update(
                choose(items[test], ITEMS.get(_find_prefix(test, ITEMS), EVERY) if "[" in items[test][0] else EVERY)
            )
    return set(ids) - quick


@cache
def full_files() -> frozenset[Path]:
    """Return the test files that need not be imported, because all of their tests are in the full tier."""
    files = {path: path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    return frozenset(path for path, file in files.items() if _is_full(file))


def _is_full(file: str) -> bool:
    of_tests = [number for prefix, number in TESTS.items() if prefix.startswith(f"{file}::")]
    return not ALL and not any([TESTS.get(_find_prefix(file, TESTS), EVERY), *of_tests])


def _find_prefix(test: str, table: Mapping[str, int]) -> str:
    """Return the longest key of a table that is a prefix of a test's id, or "" if there is none."""
    return max((prefix for prefix in table if test.startswith(prefix)), key=len, default="")
