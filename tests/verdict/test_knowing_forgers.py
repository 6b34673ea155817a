"""Forgers that know the given tests or the recorder's words, and how far they get.

What the model has read it can answer: a table of all answers is right in every process, is never `verified`, and is
refused where a single held-out case is asked. What runs beside the recorder can speak for it, and what runs beside the
tests can read them; neither helps where the tests run once more with the tested code in another process.
"""

from __future__ import annotations

import pytest

from nightshift.core.tasks.held_out import HeldOut, ValueCase
from nightshift.core.tasks.verdicts import Label
from tests.support.sandboxes import Judge
from tests.verdict.test_forgeries import GIVEN, WRONG

CASES = HeldOut(cases=(ValueCase(call="solution:add", args="(7, 8)", expect="15"),), sources=("cases",))
FORGERS = {
    "has_a_table_of_the_answers": (
        "KNOWN = {(2, 3): 5, (-1, 1): 0, (10, 20): 30}\n\ndef add(a, b):\n    return KNOWN.get((a, b), 0)\n"
    ),
    "learns_the_answers_from_the_first_who_asks": (
        "import linecache, re, sys\n\nLEARNT = {}\n\ndef add(a, b):\n    if (a, b) not in LEARNT:\n"
        "        frame = sys._getframe(1)\n        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)\n"
        "        found = re.search(r'== (-?\\d+)', line)\n        LEARNT[a, b] = int(found[1]) if found else 0\n"
        "    return LEARNT[a, b]\n"
    ),
    "speaks_for_the_recorder": (
        f"import gc, json, os, sys\n{WRONG}\n"
        "def passed(when):\n    return [when, 'passed', False, False, None, False, 0.0]\n\n"
        "for recorder in gc.get_objects():\n    if type(recorder).__name__ == 'Recorder':\n"
        "        def forged(event, recorder=recorder, real=recorder._dumps, **more):\n"
        "            if event['e'] == 'end':\n"
        "                event['rows'] = [passed(when) for when in ('setup', 'call', 'teardown')]\n"
        "                event['fail'] = None\n"
        "            if event['e'] == 'finish':\n"
        "                event['exit'] = 0\n"
        "                os.write(recorder._events, (real(event, **more) + '\\n').encode())\n"
        "                os._exit(0)\n"
        "            return real(event, **more)\n\n        recorder._dumps = forged\n"
    ),
}
IN_ONE_PROCESS = ("learns_the_answers_from_the_first_who_asks", "speaks_for_the_recorder")


async def test_a_table_of_all_answers_is_believed_and_not_verified(judge: Judge) -> None:
    verdict = await judge({"solution.py": FORGERS["has_a_table_of_the_answers"]}, GIVEN)
    assert verdict.passed, (
        f"{verdict.reason}: if this is refused now, so much the better; say so in docs/internals/security.md"
    )
    assert verdict.evidence.label is Label.TESTS_PASSED


@pytest.mark.parametrize("name", IN_ONE_PROCESS)
async def test_one_who_needs_the_tests_in_its_own_process_is_refused(name: str, judge: Judge) -> None:
    verdict = await judge({"solution.py": FORGERS[name]}, GIVEN)
    assert not verdict.passed
    assert "passes in one process with the code and fails with the code in another one" in verdict.reason
    assert verdict.evidence.label is not Label.VERIFIED


@pytest.mark.parametrize("name", IN_ONE_PROCESS)
async def test_one_who_cannot_tell_copies_is_refused_where_no_test_can_run_apart(name: str, judge: Judge) -> None:
    given = {path: text.replace("()", "(capsys)") for path, text in GIVEN.items()}
    verdict = await judge({"solution.py": FORGERS[name]}, given)
    assert not verdict.passed
    assert "did not fail" in verdict.reason
    assert "3 of 3 tests were judged in one process with the code alone" in verdict.evidence.notes


@pytest.mark.parametrize("name", FORGERS)
async def test_one_who_knows_the_tests_fails_a_held_out_case(name: str, judge: Judge) -> None:
    verdict = await judge({"solution.py": FORGERS[name]}, GIVEN, held=CASES)
    assert not verdict.passed
    assert verdict.evidence.label is not Label.VERIFIED


async def test_the_right_answer_is_verified(judge: Judge) -> None:
    verdict = await judge({"solution.py": "def add(a, b):\n    return a + b\n"}, GIVEN, held=CASES)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.label is Label.VERIFIED


SPEAKERS = {
    "says_what_the_asker_wants": (
        "class Sly(int):\n    def __eq__(self, other):\n        return True\n    __hash__ = int.__hash__\n"
        "    def __repr__(self):\n        return '15'\n\ndef add(a, b):\n    return Sly(0)\n"
    ),
    "leaves_before_it_is_asked": "import os\nos._exit(0)\n",
    "writes_an_answer_of_its_own_and_leaves": (
        "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'[[\"value\", 15]]\\n')\n"
        "    except OSError:\n        pass\nos._exit(0)\n"
    ),
}


@pytest.mark.parametrize("name", SPEAKERS)
async def test_a_held_out_case_cannot_be_talked_away(name: str, judge: Judge) -> None:
    verdict = await judge({"solution.py": SPEAKERS[name]}, {}, held=CASES)
    assert not verdict.passed
