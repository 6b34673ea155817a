"""Runs the tests on all cores, and names flaky tests in its last line.

    python scripts/run_tests.py          # the quick tier: `make test`
    python scripts/run_tests.py --all    # every test: `make test-all`

A test that fails while other tests run is run once more alone: a browser that got no processor for a minute is no fault
of the program. A test that passes alone is flaky, and the last line names it: a run that hides flaky tests teaches
everybody to repeat runs until they are green. Known flaky tests are listed in `tests/flaky.txt`, which may only become
shorter (`tests/test_tiers.py`). A new flaky test is marked as new; it must be fixed and not listed.

Exit code: 0 if all tests passed, at least alone; otherwise 1, or pytest's own if no test ran.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "tests" / "flaky.txt"
PLUGIN = "tests.support.failed_tests"
TIER = "NIGHTSHIFT_TESTS"
MOST_AGAIN = 20
"""Maximum number of failed tests that are run again. If more tests fail, the cause is not flakiness."""
STALE = "RECORD AGAIN: "
"""Prefix of the reason why a test with an outdated recording is skipped.

A pytest plugin lists failed tests in a file. The test's line in this file has the same prefix.
"""
FAILED = 1
"""Exit code of pytest after a run in which tests failed."""


def main() -> int:
    """Run the tests; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every test, not the quick tier alone")
    # A shell that starts this program in the background has it and its children ignore Ctrl-C, which some tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    environment = {**os.environ, **({TIER: "all"} if parser.parse_args().all else {})}
    # Tests of a daemon wait more than they compute, so there are more processes than cores.
    beside = ["-n", str(len(os.sched_getaffinity(0)) + 2), "--dist", "loadfile", "--no-loadscope-reorder"]
    code, failed, stale = run_pytest(beside, environment)
    if code not in {0, FAILED}:
        print(f"The tests did not run: pytest ended with {code}.")
        return code
    still = failed
    if 0 < len(failed) <= MOST_AGAIN:
        print(f"\nOnce more, alone: {len(failed)} of the tests that failed.", flush=True)
        code, still, _ = run_pytest(failed, environment)
        if code not in {0, FAILED}:
            still = failed
    flaky = [test for test in failed if test not in set(still)]
    has_passed, line = summarise(still, flaky, read_known(KNOWN), stale)
    print(line)
    return int(not has_passed)


def run_pytest(arguments: Sequence[str], environment: dict[str, str]) -> tuple[int, list[str], list[str]]:
    """Run pytest; return its exit code, the ids of failed tests, and the ids of tests with an outdated recording."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "failed"
        words = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "--failed-to", str(file), *arguments]
        code = subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode
        lines = file.read_text().splitlines() if file.exists() else []
        stale = [line.removeprefix(STALE) for line in lines if line.startswith(STALE)]
        return code, [line for line in lines if not line.startswith(STALE)], stale


def read_known(file: Path) -> set[str]:
    """Read the ids of known flaky tests: one per line, with comments."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def summarise(
    still: Sequence[str], flaky: Sequence[str], listed: Collection[str], stale: Sequence[str] = ()
) -> tuple[bool, str]:
    """Return whether the run passed, and a line with its result.

    Args:
        still: tests that failed alone as well.
        flaky: tests that passed alone.
        listed: known flaky tests.
        stale: tests that were skipped because their recording is outdated.
    """
    new, old = ([test for test in flaky if (test in listed) is is_known] for is_known in (False, True))
    has_passed = not still
    parts = [f"{len(still)} failed"] if still else []
    parts += [f"NEW flaky: {', '.join(new)} (mend what makes it fail beside others)"] if new else []
    parts += [f"known flaky: {', '.join(old)}"] if old else []
    parts += [f"skipped, to be recorded again: {', '.join(stale)}"] if stale else []
    return has_passed, f"Tests {'passed' if has_passed else 'FAILED'}; {'; '.join(parts) or 'none was flaky'}."


if __name__ == "__main__":
    sys.exit(main())
