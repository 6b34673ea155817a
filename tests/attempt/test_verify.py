"""A commit is verified again.

The real commit of a task passes, and each forgery is reported for the right reason.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from nightshift.attempt.verify import Judgement, OpenedSuite, Report, Standing, Verification
from nightshift.core.errors import NoEvidence, UnknownCommit
from tests.support.git_repo import git, make_repo
from tests.support.landing_site import Site, open_site

ADD = {"calc.py": "def add(a, b):\n    return a + b\n"}
TESTS = {
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(1, 0) == 1\n"
}
NOTES = "--ref=nightshift"


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def standings(report: Report) -> dict[str, str]:
    return {check.what: str(check.standing) for check in report.checks}


def detail(report: Report, what: str) -> str:
    return next(check.detail for check in report.checks if check.what == what)


def wrong(report: Report) -> set[str]:
    return {check.what for check in report.checks if check.standing is Standing.FAILED}


def note_of(repo: Path, commit: str) -> dict[str, Any]:
    note: dict[str, Any] = json.loads(git(repo, "notes", NOTES, "show", commit))
    return note


def write_note(repo: Path, commit: str, note: dict[str, Any]) -> None:
    git(repo, "notes", NOTES, "add", "-f", "-F", "-", commit, stdin=json.dumps(note))


def commit_files(repo: Path, parent: str, files: dict[str, str], message: str) -> str:
    """Commit these files on top of the parent, without touching the checkout."""
    index = {"GIT_INDEX_FILE": str(repo / ".git" / "scratch")}
    git(repo, "read-tree", parent, env=index)
    for path, text in files.items():
        blob = git(repo, "hash-object", "-w", "--stdin", stdin=text)
        git(repo, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=index)
    tree = git(repo, "write-tree", env=index)
    return git(repo, "commit-tree", tree, "-p", parent, stdin=message)


def forge(site: Site, commit: str, files: dict[str, str]) -> str:
    """Return a commit with other files on the same parent.

    Its note is the original note, changed to name the new commit.
    """
    repo, note = site.settings.workspace, note_of(site.settings.workspace, commit)
    new_commit = commit_files(
        repo, f"{commit}^", {**TESTS, **ADD, **files}, git(repo, "log", "-1", "--format=%B", commit)
    )
    note |= {"commit": new_commit, "tree": git(repo, "rev-parse", f"{new_commit}^{{tree}}")}
    del note["seal"]
    write_note(repo, new_commit, note)
    return new_commit


async def test_what_a_task_made_holds(site: Site) -> None:
    commit = await site.commit(1, ADD, tests=TESTS)
    report = await site.verify(commit[:9])
    assert report.judgement is Judgement.HOLDS, report.checks
    assert set(standings(report).values()) == {"ok"}
    assert (report.commit, report.task, report.subject) == (commit, 1, "Do task 1")
    assert detail(report, "trailers") == "Task, Verdict, Model, Iterations agree with the note"
    assert detail(report, "tests") == "the same test passes"
    assert detail(report, "label") == "tests_passed"
    assert report.sentence.startswith("holds: tests_passed, run again in ")


async def test_tests_of_its_own_are_found_red_again_and_meet_the_mutants_again(site: Site) -> None:
    await site.commit(1, ADD, own=TESTS)
    report = await site.verify("main")
    assert report.judgement is Judgement.HOLDS, report.checks
    assert detail(report, "label") == "self_tested"
    assert " mutants killed" in detail(report, "red").removeprefix("the self-written tests fail without the change; ")


async def test_documentation_is_checked_again(site: Site) -> None:
    await site.commit(1, ADD, own=TESTS)
    page = "# Sums\n\n[the code](calc.py)\n\n```python\nfrom calc import add\n```\n"
    await site.commit(2, {"README.md": page}, documents=True)
    report = await site.verify("main")
    assert report.judgement is Judgement.HOLDS, report.checks
    assert detail(report, "label") == "documented"
    assert detail(report, "tests") == "the documentation was checked again, and no test reaches it"


async def test_a_refactoring_that_kept_the_behaviour_holds(site: Site) -> None:
    await site.commit(1, ADD, own=TESTS)
    (path,) = ADD
    await site.commit(2, {path: f"{ADD[path]}\n# Addition is commutative.\n"}, keeps_behaviour=True)
    report = await site.verify("main")
    assert report.judgement is Judgement.HOLDS, report.checks
    assert detail(report, "label") == "behaviour_kept"


async def test_a_commit_of_an_older_version_that_moved_a_project_is_not_judged_again_and_not_doubted(
    site: Site,
) -> None:
    await site.commit(1, ADD, own=TESTS)
    repo = site.settings.workspace
    commit = git(repo, "rev-parse", "main")
    note = note_of(repo, commit)
    write_note(repo, commit, note | {"moved": ["stat"]})
    report = await site.verify("main")
    assert not wrong(report)
    assert not report.ran
    assert "moved all files of stat" in detail(report, "tests")
    write_note(repo, commit, note | {"moved": ["../stat"]})
    assert "project: must be lower-case" in detail(await site.verify("main"), "note")


async def test_a_commit_in_javascript_is_run_again_with_its_own_framework(site: Site) -> None:
    code = {"add.mjs": "export const add = (a, b) => a + b;\n"}
    head = "import assert from 'node:assert';\nimport test from 'node:test';\nimport { add } from './add.mjs';\n\n"
    tests = {"add.test.mjs": f"{head}test('adds', () => {{\n  assert.equal(add(2, 3), 5);\n}});\n"}
    report = await site.verify(await site.commit(1, code, tests=tests, language="javascript"))
    assert report.judgement is Judgement.HOLDS, report.checks


async def test_a_test_that_was_weakened_in_a_new_commit_does_not_inherit_the_note(site: Site) -> None:
    commit = await site.commit(1, ADD, tests=TESTS)
    repo = site.settings.workspace
    weak = {"test_calc.py": "def test_add():\n    assert True\n"}
    weak_commit = commit_files(repo, commit, weak, git(repo, "log", "-1", "--format=%B", commit))
    git(repo, "notes", NOTES, "copy", commit, weak_commit)
    report = await site.verify(weak_commit)
    assert wrong(report) == {"commit", "tree", "base"}
    assert not report.ran


async def test_a_note_that_was_edited_is_told_by_its_seal_and_by_the_run(site: Site) -> None:
    commit = await site.commit(1, ADD, own=TESTS)
    note = note_of(site.settings.workspace, commit)
    note["evidence"]["label"] = "tests_passed"
    write_note(site.settings.workspace, commit, note)
    report = await site.verify(commit)
    assert wrong(report) == {"seal", "label", "trailers"}
    assert detail(report, "label") == "the note says tests_passed, the run gives self_tested"
    assert detail(report, "seal") == "the note was altered after this home had sealed it"
    note["evidence"]["label"], note["evidence"]["ids"] = (
        "self_tested",
        [*note["evidence"]["ids"], "test_calc.py::test_x"],
    )
    write_note(site.settings.workspace, commit, note)
    assert wrong(await site.verify(commit)) == {"seal", "tests"}


async def test_code_that_was_changed_under_a_forged_note_is_told_by_the_bytes_and_by_its_tests(site: Site) -> None:
    commit = await site.commit(1, ADD, tests=TESTS)
    other = forge(site, commit, {"calc.py": "def add(a, b):\n    return b + a\n"})
    report = await site.verify(other)
    assert wrong(report) == {"bytes"}
    assert standings(report)["seal"] == "not checked"
    broken = await site.verify(forge(site, commit, {"calc.py": "def add(a, b):\n    return a * b\n"}))
    assert wrong(broken) == {"bytes", "tests"}
    assert "test_calc.py::test_add" in detail(broken, "tests")
    stray = await site.verify(forge(site, commit, {"extra.py": "import os\n"}))
    assert "files" in wrong(stray)
    assert detail(stray, "files") == "the commit changes extra.py, which was not judged"


async def test_tests_that_prove_nothing_any_more_are_told(site: Site) -> None:
    commit = await site.commit(1, ADD, own=TESTS)
    blunt = "from calc import add\n\n\ndef test_add():\n    assert isinstance(add(2, 3), int)\n"
    report = await site.verify(forge(site, commit, {"test_calc.py": blunt}))
    assert wrong(report) == {"bytes", "red"}
    assert "compare no value" in detail(report, "red")


async def test_an_empty_commit_does_not_hold_and_claims_nothing_of_its_tests(site: Site) -> None:
    commit = await site.commit(1, ADD, own=TESTS)
    repo, note = site.settings.workspace, note_of(site.settings.workspace, commit)
    tree, message = git(repo, "rev-parse", f"{commit}^{{tree}}"), git(repo, "log", "-1", "--format=%B", commit)
    empty = git(repo, "commit-tree", tree, "-p", commit, stdin=message)
    del note["seal"]
    write_note(repo, empty, note | {"commit": empty, "base": commit})
    report = await site.verify(empty)
    assert report.judgement is Judgement.BROKEN
    assert wrong(report) == {"files"}
    assert standings(report)["red"] == "not checked"


async def test_a_note_of_the_first_format_is_read(site: Site) -> None:
    commit = await site.commit(1, ADD, tests=TESTS)
    note = note_of(site.settings.workspace, commit)
    first_fields = ("task", "commit", "tree", "base", "tests", "own_tests", "command", "passed", "evidence")
    old = {name: note[name] for name in first_fields} | {"format": 1}
    del old["evidence"]["suites"]
    write_note(site.settings.workspace, commit, old)
    report = await site.verify(commit)
    assert report.judgement is Judgement.HOLDS, report.checks
    assert standings(report)["seal"] == "not checked"


async def test_a_note_that_is_no_evidence_is_a_fault_and_no_crash(site: Site) -> None:
    commit = await site.commit(1, ADD, tests=TESTS)
    for text in ("", "[]", "{}", '{"format": 3}', "no json", '{"format": 2, "task": "x"}', "[" * 9999):
        git(site.settings.workspace, "notes", NOTES, "add", "--allow-empty", "-f", "-F", "-", commit, stdin=text)
        assert wrong(await site.verify(commit)) == {"note"}, text


async def test_a_clone_without_notes_is_told_how_to_fetch_them(site: Site, tmp_path: Path) -> None:
    await site.commit(1, ADD, tests=TESTS)
    git(tmp_path, "clone", "-q", str(site.settings.workspace), "copy")
    with pytest.raises(NoEvidence, match="git fetch origin refs/notes/nightshift:refs/notes/nightshift"):
        await site.verify("HEAD", tmp_path / "copy")
    git(tmp_path / "copy", "fetch", "-q", "origin", "refs/notes/nightshift:refs/notes/nightshift")
    report = await site.verify("HEAD", tmp_path / "copy", key=b"another home's")
    assert report.judgement is Judgement.HOLDS, report.checks
    assert detail(report, "seal").startswith("another home sealed the note")
    with pytest.raises(NoEvidence, match="Nightshift did not make it"):
        await site.verify("HEAD^", tmp_path / "copy")
    with pytest.raises(UnknownCommit, match="there is no commit 'nothing'"):
        await site.verify("nothing", tmp_path / "copy")


async def test_without_a_sandbox_nothing_is_executed_and_nothing_holds(site: Site) -> None:
    commit = await site.commit(1, ADD, tests=TESTS)

    async def none() -> OpenedSuite:
        return OpenedSuite(suite=None, why_not="there is no sandbox")

    report = await Verification(site.parts.git, str(site.settings.workspace), none).verify(commit)
    assert (report.judgement, report.ran) == (Judgement.UNKNOWN, False)
    assert detail(report, "tests") == "nothing was executed: there is no sandbox"
    assert report.sentence == "not verified: nothing was run"


async def test_work_in_a_repository_of_the_owners_holds_with_its_own_tests_and_settings(
    site: Site, tmp_path: Path
) -> None:
    files = {
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
        "shop/__init__.py": "",
        "shop/price.py": "def net(x):\n    return x\n",
        "tests/test_price.py": "from shop.price import net\n\n\ndef test_net(two):\n    assert net(two) == 2\n",
        "link": "x",
    }
    repo = make_repo(tmp_path / "shop", files)
    given = {
        "tests/test_gross.py": "from shop.price import gross\n\n\ndef test_gross(two):\n    assert gross(two) == 4\n"
    }
    change = {"shop/price.py": "def net(x):\n    return x\n\n\ndef gross(x):\n    return x * 2\n"}
    commit = await site.commit(1, change, tests=given, repo=str(repo))
    report = await site.verify(commit, repo)
    assert report.judgement is Judgement.HOLDS, report.checks
    assert detail(report, "tests") == "the same 2 tests pass"
    git(repo, "checkout", "-q", "--orphan", "gone")
    assert (await site.verify("agent/1-task-1", repo)).judgement is Judgement.HOLDS


async def test_tests_with_parameters_hold_where_some_of_their_cases_were_held_out(site: Site) -> None:
    rows = "[(1, 2, 3), (2, 2, 4), (5, 1, 6), (0, 9, 9), (7, 1, 8)]"
    head = f"import pytest\n\nfrom calc import add\n\n\n@pytest.mark.parametrize(('x', 'y', 'z'), {rows})\n"
    commit = await site.commit(
        1, ADD, tests={"test_add.py": f"{head}def test_add(x, y, z):\n    assert add(x, y) == z\n"}
    )
    report = await site.verify(commit)
    assert (report.label, wrong(report)) == ("verified", set())
    assert detail(report, "tests") == "the same test passes"


async def test_cases_that_no_prompt_showed_are_judged_again(site: Site) -> None:
    cases = [{"call": "calc.add", "args": [7, 8], "expect": 15}, {"call": "calc.add", "args": [1, 1]}]
    commit = await site.commit(1, ADD, tests=TESTS, cases=cases, oracle="def add(x, y):\n    return y + x\n")
    report = await site.verify(commit)
    assert (report.label, wrong(report)) == ("verified", set())
    assert "that no prompt showed gave the right value" in detail(report, "held-out")
    note = note_of(site.settings.workspace, commit)
    note["held"]["cases"][0]["expect"] = "16"
    write_note(site.settings.workspace, commit, note)
    report = await site.verify(commit)
    assert {"seal", "held-out", "label"} <= wrong(report)
    assert "calc:add(7, 8) gives a wrong value; expected (strict): 16" in detail(report, "held-out")


@pytest.mark.parametrize("broken", [{"args": "open('x')"}, {"call": "calc"}])
async def test_a_note_with_a_case_that_cannot_be_read_is_a_fault_and_no_crash(
    site: Site, broken: dict[str, str]
) -> None:
    commit = await site.commit(1, ADD, tests=TESTS, cases=[{"call": "calc.add", "args": [7, 8], "expect": 15}])
    note = note_of(site.settings.workspace, commit)
    note["held"]["cases"][0] |= broken
    write_note(site.settings.workspace, commit, note)
    assert wrong(await site.verify(commit)) == {"note"}
