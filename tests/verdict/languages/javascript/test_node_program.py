"""The choice of Node.js, the commands that run node:test, and the lines of its reporters."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.sandbox import node_program
from nightshift.sandbox.inside.node import FORGED, Total, events_of_command
from nightshift.sandbox.node_program import Node
from nightshift.verdict.languages.javascript import commands
from nightshift.verdict.languages.javascript import plan as javascript
from nightshift.verdict.languages.javascript.commands import parse, with_reporter
from tests.support.sandboxes import open_folder, runtime


@pytest.fixture
def path_with(tmp_path: Path) -> Iterator[Path]:
    """A folder that is the only entry in this process's `PATH`."""
    runtime()  # finds the node of this machine while it is in the path
    before = os.environ["PATH"]
    os.environ["PATH"] = str(tmp_path)
    yield tmp_path
    os.environ["PATH"] = before


def fake(folder: Path, version: str) -> None:
    script = folder / "node"
    script.write_text(f'#!/bin/sh\necho \'["{script}", "{version}"]\'\n')
    script.chmod(0o755)


@pytest.mark.parametrize("version", ["18.19.0", "21.7.3"])
def test_one_that_is_too_old_is_not_taken(version: str, path_with: Path) -> None:
    fake(path_with, version)
    assert node_program.find(path_with) is None


def test_one_that_jobs_can_run_is_shown_by_its_folder(path_with: Path) -> None:
    with open_folder() as folder:
        fake(folder, "22.18.0")
        os.environ["PATH"] = str(folder)
        node = node_program.find(path_with)
    assert node == Node(path=str(folder / "node"), version="22.18.0", folder=str(folder))


def test_a_link_into_the_system_is_followed(path_with: Path) -> None:
    node = runtime().node
    assert node, "install nodejs: this test needs it"
    (path_with / "node").symlink_to(node.path)
    assert node_program.find(path_with) == node


def test_a_task_that_cannot_be_judged_here_is_told_why() -> None:
    old = Node(path="/usr/bin/node", version="20.20.2")
    task = TaskSpec(description="x", language=Language.JAVASCRIPT, tests={"test/a.test.ts": ""})
    assert "needs Node.js 22.6 or newer" in javascript.refusal(task, old)
    assert "install it" in javascript.refusal(task, None)
    assert javascript.refusal(TaskSpec(description="x"), None) == ""
    assert javascript.refusal(TaskSpec(description="x", language=Language.JAVASCRIPT), old) == ""


PACKAGE = '{"scripts": {"test": "node --test --test-reporter spec src test/"}}'


@pytest.mark.parametrize(
    ("argv", "targets"),
    [
        (("/usr/bin/node", "--test", "./test", "a.test.js"), ("./test", "a.test.js")),
        (("npm", "test"), ("src", "test/")), (("node", "--test", "--test-name-pattern=a"), None),
        (("node", "--test", "**/*.test.js"), None), (("npm", "run", "build"), None),
    ],
)  # fmt: skip
def test_commands_are_read(argv: tuple[str, ...], targets: tuple[str, ...] | None) -> None:
    command = commands.parse(argv, {"package.json": PACKAGE}.get)
    assert (command.targets if command else None) == targets


@pytest.mark.parametrize("text", ['{"scripts": {"test": "node --test && echo"}}', "not json"])
def test_other_scripts_are_left_as_they_are(text: str) -> None:
    assert commands.parse(("npm", "test"), {"package.json": text}.get) is None


HERE = Path.cwd()
NODE = {"scripts": ["s.mjs"], "marked": ["a.mjs::later"]}


def line(event: str, file: str = "a.mjs", **more: object) -> str:
    return "S" + json.dumps({"e": event, "file": f"{HERE}/{file}", **more})


def case(how: str, *titles: str, file: str = "a.mjs", **error: object) -> str:
    return line("test", file, titles=titles or ("x",), how=how, seconds=0.1, error=error or None)


CHECK: dict[str, Any] = {
    "name": "AssertionError", "code": "ERR_ASSERTION", "message": "1 !== 2", "stack": "", "isCheck": True,
}  # fmt: skip
END = line("end")


def end(*lines: str, status: int = 0, how: str = "exited", output: str = "") -> dict[str, Any]:
    return {
        "ended": how, "exit": status, "events": "\n".join(lines), "output": {"a.mjs": output}, "duration_s": 0.1,
        "cpu_s": 0.1, "limit": "",
    }  # fmt: skip


def weigh(outcome: dict[str, Any]) -> tuple[str, int | None, list[str]]:
    total = Total({"node": NODE})
    total.take(outcome, "S")
    answer = total.answer(total.stopped or "exited")
    return answer["ended"], answer["exit"], answer["events"].splitlines()


def events(kind: str, *lines: str, **more: Any) -> dict[str, dict[str, Any]]:
    """Return the events of one kind in the reporter's lines, by event id."""
    all_events = [json.loads(line) for line in weigh(end(*lines, END, **more))[2]]
    return {event["id"]: event for event in all_events if event["e"] == kind}


def test_a_test_is_named_by_its_titles_and_numbered_where_there_are_several() -> None:
    events_by_id = events(
        "end", case("passed", "s", "x"), case("passed", "s", "x"), case("skipped", "[1]"), case("skipped", "later")
    )
    assert list(events_by_id) == ["a.mjs::s > x", "a.mjs::s > x #2", "a.mjs::\u27e61]", "a.mjs::later"]
    ends = [(event["result"], event["marked"]) for event in events_by_id.values()]
    assert ends[2:] == [("skipped", False), ("skipped", True)]


def test_a_failure_has_its_kind_and_the_frames_of_the_workspace() -> None:
    places = (f"f (file://{HERE}/a.mjs:3:1)", "node:internal/x:1:1", f"{HERE}/b.mjs:9:2")
    stack = "Error: x\n" + "\n".join(f"    at {frame}" for frame in places)
    failure = events("end", case("failed", **{**CHECK, "stack": stack}))["a.mjs::x"]["fail"]
    assert (failure["kind"], failure["frames"]) == ("AssertionError", [["b.mjs", 9, "<module>"], ["a.mjs", 3, "f"]])
    missing = {**CHECK, "isCheck": False, "code": "ERR_MODULE_NOT_FOUND"}
    assert events("end", case("failed", **missing))["a.mjs::x"]["fail"]["kind"] == "ModuleNotFoundError"


def test_a_line_without_the_secret_is_forged_and_one_of_another_recorder_is_kept() -> None:
    assert FORGED in weigh(end(case("passed")[1:], END))[2]
    other = '{"e": "end", "id": "test_a.py::test_a", "result": "passed"}'
    assert other in weigh(end(f"S{other}", END))[2]


def test_a_process_without_an_end_of_its_report_ends_the_run() -> None:
    how, status, lines = weigh(end(case("passed"), status=0))
    assert (how, status) == ("exited", 0)
    assert not any('"finish"' in line for line in lines)
    assert weigh(end(status=1, output="JavaScript heap out of memory"))[0] == "memory"
    assert weigh(end(case("passed"), how="timeout"))[0] == "timeout"


def test_a_file_of_tests_that_reports_none_fails_and_a_script_is_a_test_itself() -> None:
    assert "no test of this file came to its end" in str(events("collect", line("file", how="passed"))["a.mjs"])
    assert list(events("end", line("file", "s.mjs", how="passed"))) == ["s.mjs::s.mjs"]
    helped = (case("passed", file="s.mjs"), line("file", "s.mjs", how="passed"))
    assert list(events("end", *helped)) == ["s.mjs::x"]


def test_what_ended_a_file_is_read_from_what_it_printed() -> None:
    output = f"file://{HERE}/a.mjs:4\nthrow x;\n\nRangeError [ERR_X]: too\nfar\n    at f (file://{HERE}/a.mjs:4:1)\n"
    fail = events("collect", line("file", how="failed", status="1"), status=1, output=output)["a.mjs"]["fail"]
    assert (fail["kind"], fail["message"], fail["frames"]) == ("RangeError", "too\nfar", [["a.mjs", 4, "f"]])
    late = events("collect", case("passed"), line("file", how="failed", status="7"), status=1)["a.mjs"]["fail"]
    assert "ended with status 7: something failed after its test had ended" in late["message"]


def test_the_lines_of_a_command_bear_its_secret() -> None:
    text = events_of_command("\n".join((case("passed"), line("changed", names=["Math.abs"]))), "S", {"node": NODE})
    assert all(line.startswith("S{") for line in text.split("\n"))
    assert '"changed": ["Math.abs"]' in text


PRINTING = ("--test-reporter=spec", "--test-reporter-destination=stdout")
VITEST = ("--reporter=default", "--reporter=/ours/vitest_reporter.mjs")
JEST = ("--reporters=default", "--reporters=/ours/jest_reporter.cjs")


def describe(argv: tuple[str, ...], **scripts: str) -> tuple[str, ...]:
    package = json.dumps({"scripts": scripts})
    return with_reporter(argv, {"package.json": package}.get, "/ours").words


@pytest.mark.parametrize(
    ("argv", "script", "more"),
    [
        (("npm", "test"), "vitest run", ("--", *VITEST)), (("npm", "test", "--", "src"), "vitest run", VITEST),
        (("pnpm", "run", "test"), "jest", JEST), (("npx", "vitest"), "", ("--run", *VITEST)),
        (("npm", "test"), "jest --watch", ("--", "--watchAll=false", *JEST)),
        (("npm", "test"), "tsc && A=1 vitest", ("--", "--run")),
    ],
)  # fmt: skip
def test_vitest_and_jest_get_one_reporter_more(argv: tuple[str, ...], script: str, more: tuple[str, ...]) -> None:
    assert describe(argv, test=script) == (*argv, *more)


@pytest.mark.parametrize("script", ["mocha", "tsc && vitest run", "vitest run --reporter=dot"])
def test_other_commands_stay_as_they_are_typed(script: str) -> None:
    assert describe(("npm", "test"), test=script) == ("npm", "test")


@pytest.mark.parametrize(
    ("script", "printing"),
    [("", PRINTING), (" --test-reporter=dot", PRINTING[1:]), (" --test-reporter-destination=y", ())],
)
def test_node_test_prints_by_its_owners_reporter_or_by_its_own(script: str, printing: tuple[str, ...]) -> None:
    package = json.dumps({"scripts": {"test": f"node --test{script}"}})
    assert with_reporter(("npm", "test"), {"package.json": package}.get, "/ours").printing == printing
    assert (
        with_reporter(("make", "test"), {"Makefile": f"test:\n\tnode --test{script}\n"}.get, "/ours").printing
        == printing
    )


def test_the_files_of_node_test_are_those_that_it_finds_by_itself() -> None:
    command = parse(("node", "--test"), lambda _path: None)
    assert command is not None
    paths = ["a.test.js", "a_test.mjs", "test.js", "test-a.cjs", "src/test/deep/help.js", "tests/a.js", "a.spec.js"]
    assert command.files([*paths, "node_modules/x/a.test.js"]) == paths[:5]


def test_yarn_and_pnpm_run_node_test_like_npm() -> None:
    package = {"package.json": json.dumps({"scripts": {"test": "node --test", "unit": "node --test test/"}})}
    for argv in (("npm", "test"), ("yarn", "test"), ("pnpm", "test"), ("npm", "run", "unit"), ("yarn", "unit")):
        command = parse(argv, package.get)
        assert command is not None
        assert command.files(["test/a.test.js", "b.js"]) == ["test/a.test.js"]
