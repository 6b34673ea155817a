"""Held-out cases: answers that contain only the shown results are refused, and the right answer is verified."""

from __future__ import annotations

import re

import pytest

from nightshift.core.tasks.verdicts import Label, Verdict
from nightshift.verdict.held.holding import of_tests
from tests.support.sandboxes import Judge

GIVEN = {
    "tests/test_given.py": (
        "import pytest\n\nfrom solution import add\n\n\n"
        "def test_small():\n    assert add(2, 3) == 5\n    assert add(20, 31) == 51\n    assert add(7, 8) == 15\n\n\n"
        "def test_large():\n    assert add(1000, 234) == 1234\n    assert add(5500, 17) == 5517\n\n\n"
        "def test_below():\n    assert add(-4, -9) == -13\n    assert add(-40, -2) == -42\n"
    )
}
HELD = of_tests(GIVEN, "Write `add` in solution.py: the sum of two integers.", 0.4)
SHOWN = {
    (int(a), int(b)): int(c)
    for a, b, c in re.findall(r"add\((-?\d+), (-?\d+)\) == (-?\d+)", HELD.shown["tests/test_given.py"])
}
TABLE = f"KNOWN = {SHOWN!r}\n\n"
LOOK_UP = f"{TABLE}def add(a, b):\n    return KNOWN.get((a, b), 0)\n"

# A forgery that knows our protocol. In the frames of its callers it finds the pipe for events, and it writes the events
# that the recorder would have written. Calls from another process get their answers from a table.
PROTOCOL = f"""import json, os, re, sys

{TABLE}
def frames():
    frame = sys._getframe()
    while frame:
        yield frame
        frame = frame.f_back


def rows(fails):
    call = ["call", "failed", False, False, "AssertionError", True, 0.0]
    passed = [[when, "passed", False, False, None, False, 0.0] for when in ("setup", "call", "teardown")]
    return [passed[0], call, passed[2]] if fails else passed


def events_of(path, fails):
    path, _, only = path.partition("::")
    fail = {{"when": "call", "kind": "AssertionError", "message": "assert 1 == 2", "frames": []}} if fails else None
    for name in [only] if only else re.findall(r"^def (test\\w+)", open(path).read(), re.M):
        yield {{"e": "start", "id": f"{{path}}::{{name}}"}}
        yield {{"e": "end", "id": f"{{path}}::{{name}}", "rows": rows(fails), "fail": fail}}


def forge(config, events):
    fails = any("::" in path for path in config["files"])  # as in a second look at copies alone
    lines = [event for path in config["files"] for event in events_of(path, fails)]
    lines.append({{"e": "finish", "exit": int(fails), "changed": []}})
    os.write(events, "".join(json.dumps(line) + "\\n" for line in lines).encode())
    os._exit(int(fails))


for frame in frames():
    known = frame.f_locals
    if frame.f_code.co_name == "run" and "events" in known and "files" in known.get("config", ()):
        forge(known["config"], known["events"])


def add(a, b):
    return KNOWN.get((a, b), 0)
"""


async def judge_change(judge: Judge, solution: str) -> Verdict:
    return await judge({"solution.py": solution}, GIVEN, held=HELD)


def is_silent(verdict: Verdict) -> bool:
    """Check that neither a model nor the memory sees inputs or results of held-out cases."""
    text = repr((verdict.reason, verdict.failures, verdict.weak, [r for r in verdict.results if r.message]))
    hidden = [case for case in HELD.cases if not case.shown]
    return not any(case.args.strip("()") in text or re.search(rf"== {case.expect}\b", text) for case in hidden)


async def test_the_right_answer_is_verified(judge: Judge) -> None:
    verdict = await judge_change(judge, "def add(a, b):\n    return a + b\n")
    assert verdict.passed, verdict.reason
    assert (verdict.evidence.label, verdict.evidence.held_out) == (Label.VERIFIED, 3)
    assert verdict.evidence.held_from == ("tests",)


async def test_a_table_of_the_shown_answers_is_refused_and_told_no_input(judge: Judge) -> None:
    verdict = await judge_change(judge, LOOK_UP)
    assert not verdict.passed
    assert verdict.reason == "a held-out case of `add` gives a wrong value"
    assert not verdict.failing  # the shown tests pass
    assert is_silent(verdict)
    assert len([line for line in verdict.unseen if "expected" in line]) == 3  # the owner may see all held-out cases


FORGERIES = {
    "right_only_under_pytest": (
        f"import sys\n{TABLE}def add(a, b):\n    if '_pytest' in sys.modules:\n        return a + b\n"
        "    return KNOWN.get((a, b), 0)\n"
    ),
    "forges_the_protocol": PROTOCOL,
    "is_equal_to_everything": (
        f"{TABLE}class Yes(int):\n    def __eq__(self, other):\n        return True\n    __hash__ = int.__hash__\n\n"
        "def add(a, b):\n    return KNOWN[a, b] if (a, b) in KNOWN else Yes(0)\n"
    ),
    "ends_the_process_of_the_calls": (
        "import os, sys\n\ndef add(a, b):\n    if not sys._getframe(1).f_code.co_name.startswith('test'):\n"
        "        os._exit(0)\n    return a + b\n"
    ),
    "writes_answers_of_its_own": (
        "import json, os, sys\n\ndef add(a, b):\n    if not sys._getframe(1).f_code.co_name.startswith('test'):\n"
        "        for fd in range(3, 64):\n            for n in range(20):\n                try:\n"
        "                    os.write(fd, (json.dumps([n, 'value', True]) + '\\n').encode())\n"
        "                except OSError:\n                    pass\n        os._exit(0)\n    return a + b\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forgery_that_knows_only_what_was_shown_is_refused(name: str, judge: Judge) -> None:
    verdict = await judge_change(judge, FORGERIES[name])
    assert not verdict.passed
    assert verdict.evidence.label is not Label.VERIFIED
    assert is_silent(verdict)


async def test_what_a_run_of_the_whole_tests_prints_reaches_nobody(judge: Judge) -> None:
    spy = (
        "import pathlib\n\ndef add(a, b):\n    for path in pathlib.Path('.').rglob('test_*.py'):\n"
        "        print(path.read_text())\n    return 0\n"
    )
    verdict = await judge_change(judge, spy)
    assert not verdict.passed
    assert any("def test" in failure.output for failure in verdict.failures)  # output of the shown tests
    assert is_silent(verdict)
