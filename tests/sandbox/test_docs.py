"""The example in docs/reference/isolations.md works as written: it keeps the contract, and its name can be chosen."""
# ruff: noqa: F401, F811 (the imported tests and fixtures run here, with the `box` of this module)

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.ports import Sandbox
from nightshift.sandbox import selftest
from tests.sandbox.test_isolation_contract import (
    ESCAPES,
    PAYLOAD,
    host,
    python,
    test_a_command_runs_in_a_private_copy,
    test_a_file_is_bounded,
    test_a_job_can_be_cancelled_while_it_is_being_set_up,
    test_a_shown_folder_cannot_be_changed,
    test_any_bytes_go_in_and_come_out,
    test_cancelling_kills_at_once_and_leaves_nothing,
    test_each_limit_ends_the_job_and_says_which,
    test_jobs_share_nothing,
    test_memory_is_bounded,
    test_no_process_outlives_its_job,
    test_nothing_of_the_daemon_is_inside,
    test_ordinary_programs_work_inside,
    test_processes_are_bounded,
    test_streams_and_exit_codes_come_back_apart,
    test_suites_are_judged_in_it,
    test_what_cannot_be_set_up_is_an_error_and_nothing_runs,
)
from tests.support.doc_pages import follow, list_shown_files, run_in
from tests.support.sandboxes import RUNNER, runtime

PAGE, NAME = "isolations.md", "unshare"


@pytest.fixture(params=[NAME])
def box(tmp_path: Path) -> Iterator[Sandbox]:
    path = tmp_path / f"{NAME}.py"
    path.write_text(list_shown_files(PAGE)[f"nightshift/sandbox/{NAME}.py"])
    spec = importlib.util.spec_from_file_location(f"example_{NAME}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module.UnshareSandbox(runtime().python)
    del sys.modules[module.__name__]


async def test_the_example_passes_the_self_test_of_the_start(box: Sandbox) -> None:
    self_test = await selftest.probe(box, runtime())
    assert self_test.passed, self_test.report


async def test_no_escape_of_the_contract_works_in_the_example(box: Sandbox, host: dict[str, object]) -> None:
    given = json.dumps(host).encode()
    results = await asyncio.gather(*(box.run(python(PAYLOAD % code, stdin=given)) for code in ESCAPES.values()))
    for name, result in zip(ESCAPES, results, strict=True):
        assert b"started" in result.stdout, (name, result.stderr)
        assert b"ESCAPED" not in result.stdout, name
    canary = Path(str(host["canary"]))
    assert await asyncio.to_thread(canary.read_text) == "whole"


CHOOSE = """
import asyncio, pathlib, sys
from nightshift.config.load import Settings
from nightshift.sandbox import choose
from nightshift.sandbox.choice import _STRONG
from nightshift.sandbox.runtime import open_runtime
name, runner, scratch = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
assert Settings(sandbox=name).sandbox == name
assert name in _STRONG
choice = asyncio.run(choose(name, runtime=open_runtime(runner), scratch=scratch))
print(choice.sandbox and choice.sandbox.name, choice.report)
"""


def test_the_lines_of_the_page_make_the_example_a_choice_of_the_setting(tmp_path: Path, folder: Path) -> None:
    runtime()  # makes the runtime, because the child process only opens an existing one
    printed = run_in(follow(PAGE, tmp_path), CHOOSE, NAME, str(RUNNER), str(folder))
    assert printed.startswith(f"{NAME} {NAME}\n")
    assert "FAILED" not in printed
