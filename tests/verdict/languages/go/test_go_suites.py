"""Go tests in the real sandbox: passes, failures and their messages, and forgeries."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.task import Files, Language, TaskSpec
from nightshift.core.tasks.verdicts import Label, SuiteJob, Verdict
from nightshift.sandbox.go_program import INSTALL
from nightshift.verdict.languages import dialect_of
from nightshift.verdict.languages.go.plan import refusal
from tests.support.sandboxes import Judge, runtime
from tests.support.trees import TextTree

MOD = "module example.org/sums\n\ngo 1.18\n"
CODE = "package sums\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"
TESTS = """package sums

import "testing"

func TestAdd(t *testing.T) {
	for _, c := range []struct{ name string; a, b, want int }{{"small", 1, 2, 3}, {"even", 2, 2, 4}} {
		t.Run(c.name, func(t *testing.T) {
			if got := Add(c.a, c.b); got != c.want {
				t.Errorf("Add(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
			}
		})
	}
}

func TestZero(t *testing.T) {
	if Add(0, 0) != 0 {
		t.Fatal("not zero")
	}
}
"""
OUTSIDE = """package sums_test

import (
	"testing"

	"example.org/sums"
)

func TestFromOutside(t *testing.T) {
	if got := sums.Add(40, 2); got != 42 {
		t.Errorf("got %d", got)
	}
}
"""


async def judge_change(judge: Judge, code: str | Files, given: Files | None = None, **more: Any) -> Verdict:
    change = {"go.mod": MOD, **({"sums.go": code} if isinstance(code, str) else code)}
    return await judge(
        change, {"sums_test.go": TESTS} if given is None else given, language=Language.GO, cpu_s=60, **more
    )


def results(verdict: Verdict) -> dict[str, str]:
    return {result.id: result.result.value for result in verdict.results}


async def test_right_code_passes_and_each_test_has_a_copy_that_failed(judge: Judge) -> None:
    verdict = await judge_change(judge, CODE, {"sums_test.go": TESTS, "outside_test.go": OUTSIDE})
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    names = ("TestAdd/small", "TestAdd/even", "TestAdd", "TestZero")
    wanted = {*(f"sums_test.go::{name}" for name in names), "outside_test.go::TestFromOutside"}
    assert results(verdict) == dict.fromkeys(wanted, "passed")
    assert (verdict.evidence.label, verdict.evidence.twins) == (Label.TESTS_PASSED, 3)


async def test_failures_panics_and_builds_that_fail_are_told_with_their_places(judge: Judge) -> None:
    wrong, panics, broken = await asyncio.gather(
        judge_change(judge, CODE.replace("+", "-")),
        judge_change(judge, CODE.replace("return a + b", "var p *int\n\treturn a + *p")),
        judge_change(judge, CODE.replace("a + b", "a + c")),
    )
    assert wrong.reason == "3 failed of 4 tests"
    assert [(failure.id, failure.message) for failure in wrong.failures][:2] == [
        ("sums_test.go::TestAdd/small", "Add(1, 2) = -1, want 3"),
        ("sums_test.go::TestAdd/even", "Add(2, 2) = 0, want 4"),
    ]  # fmt: skip
    assert wrong.failures[0].frame.startswith("sums_test.go:9 ")
    assert panics.failures[0].kind == "panic"
    assert panics.failures[0].frame.startswith("sums.go:5 ")
    assert broken.reason == "sums_test.go: BuildError: ./sums.go:4:13: undefined: c"
    assert broken.failures[0].frame.startswith("sums.go:4")


FUZZ = """package sums

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	os.Exit(m.Run())
}

func FuzzAdd(f *testing.F) {
	f.Add(1, 2)
	f.Fuzz(func(t *testing.T, a, b int) {
		if Add(a, b) != a+b {
			t.Error(a, b)
		}
	})
}

func ExampleAdd() {
	fmt.Println(Add(1, 2))
	// Output: 3
}
"""


async def test_fuzzing_and_examples_are_tests_too(judge: Judge) -> None:
    right, wrong = await asyncio.gather(
        judge_change(judge, CODE, {"fuzz_test.go": FUZZ}),
        judge_change(judge, CODE.replace("+", "-"), {"fuzz_test.go": FUZZ}),
    )
    assert right.passed, f"{right.reason} {right.failures}"
    assert {test.partition("/")[0] for test in results(right)} == {"fuzz_test.go::FuzzAdd", "fuzz_test.go::ExampleAdd"}
    assert wrong.failing >= {"fuzz_test.go::FuzzAdd", "fuzz_test.go::ExampleAdd"}


EXITS = 'package sums\n\nimport "IMPORT"\n\nfunc Add(a, b int) int {\n\tCALL\n\treturn a - b\n}\n'
FAKE = "--- PASS: TestAdd (0.00s)\\nPASS"
FORGERS = {
    "leaves behind the runner's back": EXITS.replace("IMPORT", "syscall").replace("CALL", "syscall.Exit(0)"),
    "runs no test": EXITS.replace("IMPORT", "os").replace("CALL", "")
    + 'func init() { os.Args = []string{os.Args[0], "-test.run=^$"} }\n',
    "prints a report": EXITS.replace("IMPORT", "fmt").replace("CALL", f'fmt.Println("{FAKE}")'),
}  # fmt: skip


@pytest.mark.parametrize("how", FORGERS)
async def test_a_forger_does_not_pass(judge: Judge, how: str) -> None:
    verdict = await judge_change(judge, FORGERS[how])
    assert not verdict.passed or verdict.evidence.label is Label.DOUBTFUL
    assert "BuildError" not in verdict.reason, "the payload has to be built"
    assert "passed" not in results(verdict).get("sums_test.go::TestAdd", "")


async def test_self_written_tests_must_check_something_that_they_reach(judge: Judge) -> None:
    never = TESTS.replace('{{"small", 1, 2, 3}, {"even", 2, 2, 4}}', "{}")
    idle = 'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tAdd(1, 2)\n}\n'
    weak, nothing, sharp = await asyncio.gather(
        judge_change(judge, CODE, {}, own={"sums_test.go": never}),
        judge_change(judge, CODE, {}, own={"sums_test.go": idle}),
        judge_change(judge, CODE, {}, own={"sums_test.go": TESTS}),
    )
    assert "sums_test.go::TestAdd" in weak.weak
    assert nothing.reason == "the self-written tests compare no value: they prove nothing"
    assert sharp.passed, f"{sharp.reason} {sharp.failures}"
    assert sharp.evidence.label is Label.SELF_TESTED


REPOSITORY = {"go.mod": MOD, "sums.go": CODE, "sums_test.go": TESTS, "other/other.go": "package other\n\nvar One = 1\n"}


async def test_tests_of_the_repository_and_of_a_command_are_judged(judge: Judge) -> None:
    breaks = {"sums.go": CODE.replace("+", "-")}
    go: dict[str, Any] = {"language": Language.GO, "base": REPOSITORY, "cpu_s": 60}
    fine, broken, command, selected = await asyncio.gather(
        judge({"other/other.go": "package other\n\nvar One = 2\n"}, regression=("sums_test.go",), **go),
        judge(breaks, regression=("sums_test.go",), **go),
        judge({}, command=("go", "test", "./..."), **go),
        judge({}, command=("go", "test", "-C", ".", "-run", "Zero", "./..."), **go),
    )
    assert fine.passed, f"{fine.reason} {fine.failures}"
    assert "sums_test.go::TestAdd" in broken.failing
    assert command.passed, f"{command.reason} {command.failures}"
    assert command.evidence.label is Label.TESTS_PASSED
    assert selected.passed, f"{selected.reason} {selected.failures}"
    assert results(selected) == {".::TestZero": "passed"}


async def test_what_go_vet_finds_ends_a_command(judge: Judge) -> None:
    base = {**REPOSITORY, "Makefile": "check:\n\tgo vet ./...\n\tgo -C . test ./...\n"}
    # `go test` looks for some faults itself, but not for an assignment to itself.
    wrong = "package other\n\nfunc One() int {\n\ta := 1\n\ta = a\n\treturn a\n}\n"
    go: dict[str, Any] = {"language": Language.GO, "base": base, "cpu_s": 60, "command": ("make", "check")}
    fine, broken = await asyncio.gather(
        judge({"other/other.go": "package other\n\nvar One = 2\n"}, **go), judge({"other/other.go": wrong}, **go)
    )
    assert fine.passed, f"{fine.reason} {fine.failures}"
    assert not broken.passed


async def test_a_machine_without_go_refuses_with_what_to_install() -> None:
    assert refusal(TaskSpec(description="Write it", language=Language.GO), None) == INSTALL
    assert refusal(TaskSpec(description="Write it"), None) == ""
    job = SuiteJob(base=TextTree(), change={}, given={"a_test.go": TESTS}, language=Language.GO)
    with pytest.raises(SandboxError, match="apt-get install golang-go"):
        dialect_of(Language.GO).make(job, ImportCache(), replace(runtime(), go=None))
