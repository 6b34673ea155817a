"""Reports of test commands: from real runners, from hostile ones, and malformed ones that no runner writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.verdicts import Result
from nightshift.verdict import reports
from nightshift.verdict.answer import Session
from nightshift.verdict.reports import Reported, cargo, go_json, tap
from nightshift.verdict.reports.collected import MOST, Collected

JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="all"><testsuite name="pytest" errors="0" failures="2" skipped="1" tests="5" time="0.03">
  <testcase classname="tests.test_a.TestX" name="test_one" time="0.001"/>
  <testcase classname="tests.test_a" name="test_two[a&lt;b]" time="1,002.5">
    <failure message="assert 1 == 2">def test_two():
    assert 1 == 2</failure><system-out>printed</system-out></testcase>
  <testcase file="src/a.test.js" name="adds"><error type="java.net.ConnectException" message="refused"/></testcase>
  <testcase name="waits"><skipped message="later"/></testcase>
  <testcase name="imports"><failure>ModuleNotFoundError: No module named 'x'
at line 3</failure></testcase>
</testsuite></testsuites>"""
TAP = """TAP version 14
# Subtest: sums
    ok 1 - adds # time=16.286ms
      ---
      duration_ms: 0.4
      ...
    not ok 2 - subtracts
      ---
      message: 'Expected 1'
      name: 'AssertionError'
      ...
    ok 3 - adds
    1..3
not ok 1 - sums
ok 2 - waits # SKIP no clock
not ok 3 - later # time=3.5ms # TODO
ok 4 - colour \\# 7
ok 5
1..5
"""
CARGO = """   Compiling parts v0.1.0 (/work)
     Running unittests src/lib.rs (target/debug/deps/parts-5c1f)

running 4 tests
test tests::adds ... ok
test tests::divides - should panic ... ok
test tests::later ... ignored, needs a clock
test tests::subtracts ... FAILED

failures:

---- tests::subtracts stdout ----
thread 'tests::subtracts' panicked at src/lib.rs:9:9:
 right: 2

failures:
    tests::subtracts

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/whole.rs (target/debug/deps/whole-77aa)

running 1 test
test tests::adds ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests parts

running 1 test
test src/lib.rs - add (line 3) ... ok

"""


def go_lines(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


GO = go_lines(
    {"Action": "run", "Package": "m/a", "Test": "TestAdds"},
    {"Action": "output", "Package": "m/a", "Test": "TestAdds", "Output": "    a_test.go:7: got 3, want 4\n"},
    {"Action": "output", "Package": "m/a", "Test": "TestAdds", "Output": "--- FAIL: TestAdds (0.00s)\n"},
    {"Action": "fail", "Package": "m/a", "Test": "TestAdds", "Elapsed": 0.25},
    {"Action": "run", "Package": "m/a", "Test": "TestFine"},
    {"Action": "pass", "Package": "m/a", "Test": "TestFine", "Elapsed": 0},
    {"Action": "fail", "Package": "m/a", "Elapsed": 0.3},
    {"Action": "output", "Package": "m/b", "Output": "b.go:3: undefined: x\n"},
    {"Action": "fail", "Package": "m/b"},
    {"Action": "run", "Package": "m/c", "Test": "TestHangs"},
)


def session(printed: str = "", left_out: int = 0, files: Iterable[tuple[str, str | None]] = ()) -> Session:
    return Session(how="exited", exit_code=0, output={}, printed=(printed, "", left_out), reports=tuple(files))


def read(printed: str = "", left_out: int = 0, files: Iterable[tuple[str, str | None]] = ()) -> Reported:
    report = reports.read(session(printed, left_out, files))
    assert report is not None
    return report


def outcomes(report: Reported) -> dict[str, str]:
    return {test.id: test.result.value for test in report.tests}


def test_junit_xml_is_read_with_names_outcomes_and_why() -> None:
    report = read(files=[("out/junit.xml", JUNIT)])
    assert outcomes(report) == {
        "tests.test_a.TestX::test_one": "passed", "tests.test_a::test_two[a<b]": "failed",
        "src/a.test.js::adds": "error", "pytest::waits": "skipped", "pytest::imports": "failed",
    }  # fmt: skip
    tests = {test.id: test for test in report.tests}
    two = tests["tests.test_a::test_two[a<b]"]
    assert (two.message, two.duration_s) == ("assert 1 == 2", 1002.5)
    assert two.output == "printed\ndef test_two():\n    assert 1 == 2"
    assert tests["src/a.test.js::adds"].kind == "ConnectException"
    imports = tests["pytest::imports"]
    assert (imports.kind, imports.message) == ("ModuleNotFoundError", "ModuleNotFoundError: No module named 'x'")


def test_several_files_are_one_report_and_the_worst_of_a_test_counts() -> None:
    first = '<testsuite name="s"><testcase name="a"/><testcase name="b"><error/></testcase></testsuite>'
    second = '<testsuite name="s"><testcase name="a"><failure/></testcase><testcase name="b"/></testsuite>'
    report = read(files=[("TEST-1.xml", first), ("TEST-2.xml", second)])
    assert outcomes(report) == {"s::a": "failed", "s::b": "error"}


def test_failures_that_a_report_counts_and_does_not_name_are_a_fault() -> None:
    report = read(files=[("junit.xml", '<testsuite name="s" errors="2"><testcase name="a"/></testsuite>')])
    assert report.faults == ("it counts 2 failures and names none",)


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<testsuite name="&b;"><testcase name="&b;"/></testsuite>'
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&a;"/></testsuite>'


def test_a_file_that_is_no_report_is_named_in_a_note() -> None:
    for text, why in (
        (BOMB, "document type"), (OUTSIDE, "document type"), ("<testsuite>" * 200_000, "nested too deep"),
        ("<project><testcase name='a'/></project>", "no report of tests"), ("<testsuite>", "no element found"),
        ("<testsuite name='\ud800'/>", "no text"), (None, "larger than what is read"),
    ):  # fmt: skip
        report = read(files=[("junit.xml", text)])
        assert (report.form, report.tests) == ("", ())
        (note,) = report.notes
        assert note.startswith("the report junit.xml was not read to its end: ")
        assert why in note


def test_more_tests_than_are_listed_are_counted_and_no_failure_is_lost() -> None:
    cases = "".join(f'<testcase name="{number}"/>' for number in range(2 * MOST))
    report = read(files=[("junit.xml", f'<testsuite>{cases}<testcase name="last"><error/></testcase></testsuite>')])
    assert (len(report.tests), report.unlisted) == (MOST + 1, MOST)
    assert (report.tests[0].id, report.tests[0].result) == ("last", Result.ERROR)


def test_tap_is_read_with_subtests_under_their_tests() -> None:
    report = read(f"> node --test\n{TAP}done\n")
    assert outcomes(report) == {
        "sums > adds": "passed", "sums > subtracts": "failed", "sums": "failed", "waits": "skipped",
        "sums > adds #2": "passed", "later": "skipped", "colour \\# 7": "passed", "test 5": "passed",
    }  # fmt: skip
    subtest = {test.id: test for test in report.tests}["sums > subtracts"]
    assert (subtest.kind, subtest.message) == ("AssertionError", "Expected 1")
    assert report.faults == ()


def test_tap_that_promises_more_than_it_tells_of_or_bails_out_is_a_fault() -> None:
    assert read("1..3\nok 1\nok 2\n").faults == ("it promises 3 tests and tells of 2",)
    assert read("1..3\nok 1\n", left_out=9).faults == (), "the rest may have been in the middle"
    assert read("TAP version 13\nok 1\nBail out! no database\n").faults == ("Bail out! no database",)


def test_lines_that_only_look_like_tap_are_no_report() -> None:
    assert reports.read(session("ok 1 file copied\nnot ok to go on\n")) is None


def test_the_lines_of_cargo_are_read_program_by_program() -> None:
    report = read(CARGO)
    assert outcomes(report) == {
        "src/lib.rs::tests::adds": "passed", "src/lib.rs::tests::divides": "passed",
        "src/lib.rs::tests::later": "skipped", "src/lib.rs::tests::subtracts": "failed",
        "tests/whole.rs::tests::adds": "passed", "parts::src/lib.rs - add (line 3)": "passed",
    }  # fmt: skip
    test = report.tests[0]
    assert test.message == "thread 'tests::subtracts' panicked at src/lib.rs:9:9:"
    assert "right: 2" in test.output
    hidden = "test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n"
    assert read(hidden).faults == ("a test program: 2 tests failed that it does not name",)


def test_the_events_of_go_are_read_and_one_without_an_end_has_not_passed() -> None:
    report = read(GO)
    assert outcomes(report) == {
        "m/a::TestAdds": "failed", "m/a::TestFine": "passed", "m/b": "error", "m/c::TestHangs": "error",
    }  # fmt: skip
    tests = {test.id: test for test in report.tests}
    assert (tests["m/a::TestAdds"].message, tests["m/a::TestAdds"].duration_s) == (
        "    a_test.go:7: got 3, want 4",
        0.25,
    )
    assert tests["m/b"].message == "b.go:3: undefined: x"


def test_of_two_reports_the_one_that_tells_of_a_failure_counts() -> None:
    fine = '<testsuite name="s"><testcase name="a"/></testsuite>'
    report = read("TAP version 13\nnot ok 1 - b\n1..1\n", files=[("junit.xml", fine)])
    assert (report.form, outcomes(report)) == ("TAP", {"b": "failed"})
    assert read("TAP version 13\nok 1 - b\n1..1\n", files=[("junit.xml", fine)]).form == "JUnit XML"


LINES = (tap.read, cargo.read, go_json.read)
WORDS = st.sampled_from([
    "ok", "not ok", " 1", "1..2", "TAP version 13", " - ", "#", " # SKIP", "---", "...", "message: x", "    ",
    "Bail out!",
    "test ", " ... ok", " ... FAILED", " ... ignored, x", "test result: FAILED. 1 passed; 1 failed; 0 ignored",
    "     Running src/a.rs (x)", "---- a stdout ----", "failures:", '{"Action":"run","Package":"p","Test":"T"}',
    '{"Action":"fail","Package":"p"', ',"Elapsed":1e999}', "\x1b[31m", "\ud800",
])  # fmt: skip
TEXTS = st.lists(st.one_of(WORDS, st.text(max_size=8), st.just("\n")), max_size=60).map("".join)


@pytest.mark.parametrize("reader", LINES, ids=lambda reader: reader.__module__.rpartition(".")[2])
@given(text=TEXTS, is_complete=st.booleans())
def test_any_lines_are_read_without_a_fault(reader: Callable[..., Collected], text: str, is_complete: bool) -> None:
    collected = reader(text.split("\n"), is_complete=is_complete)
    assert len(list(collected)) == len({test.id for test in collected})
    assert all(test.duration_s >= 0 for test in collected)
