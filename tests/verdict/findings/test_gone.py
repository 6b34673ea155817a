"""Findings about tests that are gone, checks that no longer run, and replaced functions outside the tree."""

from __future__ import annotations

from nightshift.core.tasks.verdicts import CaseResult, Control, Finding, FindingKind, Result
from nightshift.verdict.findings import gone
from nightshift.verdict.run import EXPECTED, NativeRun

PATH = "tests/test_a.py"
TEXT = "def test_one():\n    assert f() == 1\n    if g():\n        assert h()\n\n\ndef test_two():\n    assert True\n"
EXAMPLE = 'def f():\n    """\n    >>> f()\n    1\n    """\n'
PASSED, SKIPPED, FAILED, ERROR = Result.PASSED, Result.SKIPPED, Result.FAILED, Result.ERROR

LATE = CaseResult(id=f"{PATH}::test_x[b]", result=SKIPPED, message="later")


def run(**ends: Result) -> NativeRun:
    cases = (CaseResult(id=f"{PATH}::{name}", result=result, message="rough") for name, result in ends.items())
    return NativeRun(tests=tuple(cases))


def cases_of(*parameters: str) -> NativeRun:
    return NativeRun(tests=tuple(CaseResult(id=f"{PATH}::test_x[{each}]", result=PASSED) for each in parameters))


def trace(*lines: int) -> NativeRun:
    test = CaseResult(id=f"{PATH}::test_one", result=PASSED)
    return NativeRun(tests=(test,), lines={test.id: tuple(f"{PATH}:{line}" for line in lines)})


def compare(native: NativeRun, base: NativeRun, settled: frozenset[str] = frozenset()) -> list[Finding]:
    def read(path: str) -> str | None:
        return TEXT if path == PATH else None

    return list(gone.compare(native, base, settled, read, read))


def test_a_test_that_passed_and_no_longer_runs_is_gone() -> None:
    skipped_file = NativeRun(tests=(CaseResult(id=PATH, result=SKIPPED, message="not here"),))
    for now, says in (
        (run(b=PASSED, a=SKIPPED), "skipped, 'rough'"), (run(b=PASSED), "the test is missing"),
        (skipped_file, "skipped, 'not here'"),
    ):  # fmt: skip
        (finding,) = (each for each in compare(now, run(a=PASSED)) if each.kind is FindingKind.GONE)
        assert (finding.where, finding.control) == (f"{PATH}::a", Control.BASE)
        assert says in finding.says


def test_one_that_runs_or_fails_or_whose_file_may_differ_is_not_gone() -> None:
    for now in (run(a=PASSED), run(a=FAILED), NativeRun(tests=(CaseResult(id=PATH, result=ERROR),))):
        assert compare(now, run(a=PASSED)) == []
    assert compare(run(), run(a=PASSED), frozenset({PATH})) == []


def test_cases_are_compared_by_their_number() -> None:
    assert compare(cases_of("0x1", "0x2"), cases_of("0x3", "0x4")) == []
    (finding,) = compare(cases_of("0x1"), cases_of("0x3", "0x4"))
    assert "2 cases passed before the change, 1 pass now" in finding.says
    assert finding.subject, "the task may remove what a case is about"
    (skipped,) = compare(NativeRun(tests=(*(cases_of("a").tests or ()), LATE)), cases_of("a", "b"))
    assert not skipped.subject


def test_one_whose_examples_pass_in_another_changed_file_is_not_gone() -> None:
    then, now = (NativeRun(tests=(CaseResult(id=name, result=PASSED),)) for name in ("a.py::a.f", "b.py::b.f"))
    for text, count in ((EXAMPLE, 0), (EXAMPLE.replace("1", "2"), 1)):
        findings = list(gone.compare(now, then, (), {"a.py": EXAMPLE}.get, {"b.py": text}.get))
        assert [finding.subject for finding in findings] == [""] * count


def test_a_check_that_a_test_no_longer_reaches_is_lost() -> None:
    (finding,) = compare(trace(2, 3), trace(2, 3, 4))
    assert (finding.kind, finding.control) == (FindingKind.LOST, Control.BASE)
    assert "line 4" in finding.says
    assert compare(trace(2, 4), trace(2, 3, 4)) == [], "no check stands in line 3"
    assert compare(run(test_one=PASSED), trace(2, 3, 4)) == [], "nothing is known of its lines"


def test_what_cannot_run_before_and_now_is_counted() -> None:
    (finding,) = compare(run(a=PASSED, b=SKIPPED), run(a=PASSED, b=SKIPPED))
    assert (finding.kind, finding.says) == (FindingKind.NOT_HERE, "1 test cannot run here: rough")
    expected = NativeRun(tests=(CaseResult(id=f"{PATH}::a", result=SKIPPED, message=EXPECTED),))
    assert not compare(expected, expected)


def test_only_what_the_base_leaves_alone_counts_as_changed() -> None:
    now, base = NativeRun(changed=("time.time", "random.random")), NativeRun(changed=("time.time",))
    (finding,) = gone.find_changed(now, base)
    assert (finding.kind, finding.says) == (FindingKind.SEAL, "random.random was replaced")
    assert list(gone.find_changed(base, base)) == []
    (forged,) = gone.find_changed(NativeRun(is_forged=True), base)
    assert forged.kind is FindingKind.FORGED
    (touched,) = gone.find_changed(NativeRun(altered=(PATH,)), base)
    assert touched.says == f"{PATH} was changed while the tests ran"


def test_a_given_test_has_to_run() -> None:
    required = {PATH: frozenset({"a", "b", "c", "d", "d_more", "e", "A::t"})}  # a decorator made A_0::t_1 of A::t
    ran = run(a=PASSED, b=SKIPPED, c=SKIPPED, d_more=PASSED, e_1_name=PASSED, **{"A_0::t_1": PASSED})
    now = NativeRun(tests=ran.tests, marked=(f"{PATH}::c",))
    sentences = {finding.where: finding.says for finding in gone.find_unrun(now, required)}
    assert set(sentences) == {f"{PATH}::b", f"{PATH}::d"}
    assert sentences[f"{PATH}::d"].endswith("it was left out")


def test_checks_of_a_new_test_that_never_ran_are_told() -> None:
    texts = {PATH: TEXT.replace("assert True", "assert False")}
    assert [finding.kind for finding in gone.find_idle(trace(2, 3), texts)] == [FindingKind.UNREACHED]
    assert [finding.kind for finding in gone.find_idle(trace(3), texts)] == [FindingKind.IDLE]
    assert list(gone.find_idle(trace(2, 3, 4), texts)) == []
