"""Styles of Go tests: right code passes with each of them, and faulty code does not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from nightshift.core.tasks.task import Files, Language
from tests.support.sandboxes import Judge

MOD = "module example.org/sums\n\ngo 1.18\n"
CODE = "package sums\n\n// Add adds.\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A style of tests: the tests that the owner supplies, the other files, and the number of reported tests."""

    tests: Files
    count: int
    files: Files = field(default_factory=dict)


def file(body: str, *imports: str, package: str = "sums") -> str:
    named = "".join(f'\t"{name}"\n' for name in ("testing", *imports))
    return f"package {package}\n\nimport (\n{named})\n\n{body}"


ADDS = 'func TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n'
WAYS = {
    "a main of its own": Way(
        tests={"a_test.go": file(f"func TestMain(m *testing.M) {{\n\tos.Exit(m.Run())\n}}\n\n{ADDS}", "os")},
        count=1,
    ),
    "at the same time": Way(
        tests={
            "a_test.go": file(
                "func TestAdd(t *testing.T) {\n\tfor _, n := range []int{1, 2, 3} {\n\t\tn := n\n"
                '\t\tt.Run(fmt.Sprint(n), func(t *testing.T) {\n\t\t\tt.Parallel()\n\t\t\tif Add(n, n) != n+n {\n'
                "\t\t\t\tt.Fail()\n\t\t\t}\n\t\t})\n\t}\n}\n\nfunc TestZero(t *testing.T) {\n\tt.Parallel()\n"
                "\tif Add(2, 0) != 2 || Add(0, 2) != 2 {\n\t\tt.Fatal()\n\t}\n}\n",
                "fmt",
            )
        },
        count=2,
    ),
    "helpers in a file of their own": Way(
        tests={
            "a_test.go": file("func TestAdd(t *testing.T) {\n\tsame(t, Add(1, 2), 3)\n}\n"),
            "helpers_test.go": file(
                "func same(t testing.TB, got, want int) {\n\tt.Helper()\n\tif got != want {\n"
                '\t\tt.Errorf("got %d, want %d", got, want)\n\t}\n}\n'
            ),
        },
        count=1,
    ),
    "fuzzing and examples": Way(
        tests={
            "a_test.go": file(
                "func FuzzAdd(f *testing.F) {\n\tf.Add(1, 2)\n\tf.Fuzz(func(t *testing.T, a, b int) {\n"
                "\t\tif Add(a, b) != a+b {\n\t\t\tt.Error(a, b)\n\t\t}\n\t})\n}\n\n"
                "func ExampleAdd() {\n\tfmt.Println(Add(1, 2))\n\t// Output: 3\n}\n\n" + ADDS,
                "fmt",
            )
        },
        count=2,
    ),
    "files beside the tests": Way(
        tests={
            "inner/a_test.go": file(
                'func TestAdd(t *testing.T) {\n\traw, err := os.ReadFile("testdata/want.txt")\n\tif err != nil {\n'
                "\t\tt.Fatal(err.Error())\n\t}\n\tif got := strconv.Itoa(sums.Add(1, 2)); got != string(raw) {\n"
                "\t\tt.Error(got)\n\t}\n}\n",
                "os", "strconv", "example.org/sums",
                package="inner_test",
            )
        },
        files={"inner/testdata/want.txt": "3", "inner/inner.go": "package inner\n"},
        count=1,
    ),
    "its own program again": Way(
        tests={
            "a_test.go": file(
                'func TestAdd(t *testing.T) {\n\tif os.Getenv("AGAIN") == "1" {\n'
                "\t\tfmt.Println(Add(1, 2))\n\t\treturn\n\t}\n"
                '\tcommand := exec.Command(os.Args[0], "-test.run=^TestAdd$")\n'
                '\tcommand.Env = append(os.Environ(), "AGAIN=1")\n\tout, err := command.Output()\n'
                '\tif err != nil || !strings.HasPrefix(string(out), "3") {\n\t\tt.Fatalf("%s %v", out, err)\n\t}\n}\n',
                "fmt", "os", "os/exec", "strings",
            )
        },
        count=1,
    ),
    "some are skipped": Way(
        tests={
            "a_test.go": file('func TestLater(t *testing.T) {\n\tt.Skip("later")\n}\n\n' + ADDS),
            "b_windows_test.go": file("func TestElsewhere(t *testing.T) {\n\tt.Fail()\n}\n"),
        },
        count=1,
    ),
    "a golden name": Way(
        tests={
            "a_test.go": file(
                'func TestAdd(t *testing.T) {\n\tif got := fmt.Sprint(t.Name(), Add(1, 2)); got != "TestAdd3" {\n'
                "\t\tt.Error(got)\n\t}\n}\n",
                "fmt",
            )
        },
        count=1,
    ),
    "a package with a program": Way(
        tests={"a_test.go": file(ADDS, package="main")},
        files={"main.go": "package main\n\nfunc main() {}\n"},
        count=1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_right_code_passes_and_wrong_code_fails(judge: Judge, way: str) -> None:
    case = WAYS[way]
    package = "main" if "main.go" in case.files else "sums"
    right = {"go.mod": MOD, "sums.go": CODE.replace("package sums", f"package {package}"), **case.files}
    wrong = {**right, "sums.go": right["sums.go"].replace("a + b", "a - b")}
    passed, failed = await asyncio.gather(
        *(judge(change, case.tests, language=Language.GO, cpu_s=60) for change in (right, wrong))
    )
    assert passed.passed, f"{passed.reason} {passed.failures}"
    assert len({result.id.partition("/")[0] for result in passed.results}) == case.count
    assert not failed.passed
