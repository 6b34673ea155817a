"""The checker as a gate: only what a change adds is judged, and the owner's settings apply."""

from __future__ import annotations

from dataclasses import replace

from nightshift.core.tasks.change_checks import AskKind, ChangeCheckJob, ChangeCheckReport, Severity
from nightshift.core.tasks.task import Kind, TaskSpec
from nightshift.verdict.checks.checker import StaticChecker
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.checks.policy import Policy
from tests.support.trees import TextTree

GATE = StaticChecker(Policy(), CommandHooks(["terraform apply *"]))


async def report(
    change: dict[str, str | None], base: dict[str, str] | None = None, **fields: object
) -> ChangeCheckReport:
    spec = TaskSpec(description="Write it", **{"kind": Kind.LIBRARY, **fields})  # type: ignore[arg-type]
    return await GATE.examine(ChangeCheckJob(spec=spec, tree=TextTree(base or {}), change=change))


def describe(check_report: ChangeCheckReport) -> list[tuple[str, Severity, str, int]]:
    return [(finding.rule, finding.severity, finding.path, finding.line) for finding in check_report.findings]


async def test_a_plain_change_is_let_through() -> None:
    change = {"a.py": "def add(a, b):\n    return a + b\n", "notes.md": "eval(x)", "gone.py": None}
    assert await report(change) == ChangeCheckReport()


async def test_what_stood_there_before_is_not_told_again_but_one_more_is() -> None:
    old = "def f(x):\n    return eval(x)\n"
    moved = f"import math\n\n{old}"
    assert (await report({"a.py": moved}, {"a.py": old})).findings == ()
    assert (await report({"a.py": None, "b.py": old}, {"a.py": old})).findings == ()
    assert describe(await report({"a.py": moved + "\n\ndef g(x):\n    return eval(x)\n"}, {"a.py": old})) == [
        ("python.eval", Severity.BLOCK, "a.py", 8)
    ]
    assert describe(await report({"b.py": old}, {"a.py": old}))


async def test_a_module_that_a_file_had_imported_may_be_imported_there_in_other_words() -> None:
    old = "import ctypes\n\nSIZE = ctypes.sizeof(ctypes.c_int)\n"
    changed = f"import ctypes  # noqa: X\nfrom ctypes import Array\n{old.partition(chr(10))[2]}"
    assert (await report({"a.py": changed}, {"a.py": old})).findings == ()
    assert describe(await report({"a.py": old, "b.py": "from ctypes import Array\n"}, {"a.py": old}))
    assert describe(await report({"a.py": old.replace("SIZE", "eval(x)\nSIZE")}, {"a.py": old}))


PAGER = "import subprocess\n\n\ndef page(x):\n    return subprocess.run(['less', x], check=True)\n"


async def test_a_program_that_a_function_started_it_may_start_with_other_words_and_no_other() -> None:
    for changed, count in (
        (PAGER.replace("['less', x]", "['less', '-R', x], env={}"), 0),
        (PAGER.replace("['less', x]", "['less'] + [x]"), 0),
        (PAGER.replace("['less', x]", "x"), 1),
        (PAGER.replace("subprocess.run", "subprocess.Popen"), 1),
        (PAGER + "    subprocess.run(['less', 'y'])\n", 1),
        (PAGER.replace("check=True", "shell=True"), 1),
    ):
        assert len((await report({"a.py": changed}, {"a.py": PAGER})).findings) == count, changed


async def test_files_that_the_owner_gave_are_his() -> None:
    given = {"a.py": "def f(x):\n    return eval(x)\n"}
    assert (await report(dict(given), files=given)).findings == ()
    assert (await report({"a.py": given["a.py"] + "y = 1\n"}, files=given)).findings == ()


async def test_the_agents_own_tests_are_read_as_tests() -> None:
    spec = TaskSpec(description="Write it", kind=Kind.CLI_TOOL)
    own = {"tests/test_a.py": "import os, subprocess, pytest\nsubprocess.run(['a'])\nos._exit(0)\n"}
    check_report = await GATE.examine(ChangeCheckJob(spec=spec, tree=TextTree(), change={}, own=own))
    assert describe(check_report) == [("python.hard-exit", Severity.BLOCK, "tests/test_a.py", 3)]


async def test_what_the_owner_must_decide_is_asked_once_for_each_rule_and_file() -> None:
    text = "import subprocess\nsubprocess.run(['a'])\nsubprocess.run(['b'])\n"
    check_report = await report({"a.py": text})
    (ask,) = check_report.asks
    assert (ask.kind, ask.subject) == (AskKind.FINDING, "finding:python.subprocess:a.py")
    assert "a.py:2" in ask.question
    assert [severity for _, severity, _, _ in describe(check_report)] == [Severity.ASK, Severity.ASK]


async def test_the_owners_answer_counts() -> None:
    spec, change = TaskSpec(description="Write it"), {"a.py": "import subprocess\nsubprocess.run(['a'])\n"}
    yes = frozenset({"finding:python.subprocess:a.py"})
    job = ChangeCheckJob(spec=spec, tree=TextTree(), change=change, granted=yes)
    assert await GATE.examine(job) == ChangeCheckReport()
    denied = await GATE.examine(replace(job, granted=frozenset(), denied=job.granted))
    (finding,) = denied.findings
    assert finding.severity is Severity.BLOCK
    assert finding.message.startswith("The owner denied this.")
    assert denied.asks == ()


async def test_commands_in_scripts_recipes_and_packages_are_read() -> None:
    check_report = await report({
        "run.sh": "#!/bin/sh\nset -e\nrm -rf ~/x\n", "Makefile": "all:\n\tgit push --force\n",
        "package.json": '{"scripts": {\n"x": "curl u | sh"}}', "deploy": "#!/usr/bin/env bash\n\nterraform apply\n",
        "a.mjs": "import { execFileSync } from 'child_process';\nexecFileSync('sudo', ['ls']);\n",
    })  # fmt: skip
    commands = {(f.rule, f.path, f.line, f.argv) for f in check_report.findings if f.rule.startswith("command.")}
    assert commands == {
        ("command.rm-outside", "run.sh", 3, ("rm", "-rf", "~/x")),
        ("command.force-push", "Makefile", 2, ("git", "push", "--force")),
        ("command.pipe-to-shell", "package.json", 2, ("sh",)),
        ("command.own.terraform-apply", "deploy", 3, ("terraform", "apply")),
        ("command.privilege", "a.mjs", 2, ("sudo", "ls")),
    }


async def test_a_line_is_not_told_by_two_readers() -> None:
    check_report = await report({"a.py": "import subprocess\nsubprocess.run(x, shell=True)\n"})
    assert describe(check_report) == [("python.subprocess-shell", Severity.BLOCK, "a.py", 2)]
    check_report = await report({"a.py": "import jinja2\ne = jinja2.Environment()\n"})
    assert describe(check_report) == [("bandit.B701", Severity.BLOCK, "a.py", 2)]


async def test_trifles_do_not_push_out_what_matters_and_nothing_steers_the_terminal() -> None:
    text = "import pickle\n" + "pickle.loads(x)\n" * 400 + "eval('\\x1b[2J' + x, y)\neval(z)\n"
    check_report = await report({"a.py": text, "b.sh": "rm -rf /a\x1b[2Jb\n"})
    assert len(check_report.findings) == 200
    assert [f.rule for f in check_report.findings[:2]] == ["python.eval", "command.rm-outside"]
    assert all(finding.message.isprintable() for finding in check_report.findings)


async def test_a_misspelt_rule_in_a_task_is_told() -> None:
    (finding,) = (await report({}, allow=("python.evil",))).findings
    assert (finding.rule, finding.severity) == ("checker.allow", Severity.NOTE)
    assert "did you mean python.eval" in finding.message
