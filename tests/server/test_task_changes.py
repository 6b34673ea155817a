"""The changes of a step, a try or a task over the API, read from stored states and from commits in repositories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import Evidence, Label, TriedMutant, Verdict
from nightshift.git.manager import GitManager
from nightshift.server.context import AppContext
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.app_context import Client, make_desk, serving
from tests.support.daemon import git
from tests.support.worked_task import RIGHT, WRONG, claim, save, submit, work_on

LONG = b"x = 1\n" * 100_000


def lines(file: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of a file's diff as (kind, text)."""
    rows = [line for hunk in file["hunks"] for line in hunk["lines"]]
    return [(line["kind"], "".join(text for _, text in line["parts"])) for line in rows]


@pytest.fixture
def worked(context: AppContext) -> int:
    """Create a task that was submitted with a file and has two tries."""
    number = submit(context, "Write calc.py", files={"calc.py": WRONG})
    work_on(context)
    return number


@contextmanager
def reading(folder: Path) -> Iterator[AppContext]:
    """Provide an application context that reads real repositories."""
    manager = GitManager(workspace=folder / "own", author=Author(name="n", email="n@x"), auto_push=False, emit=print)
    context = replace(make_desk(folder), tree=manager.tree)
    try:
        yield context
    finally:
        context.database.close()
        manager.close()


def commit_files(repo: Path, files: dict[str, bytes]) -> str:
    """Commit these files in a repository, which is created if it does not exist; return the commit's id."""
    if not repo.exists():
        repo.mkdir()
        git(repo, "init", "-q", "-b", "main")
    for name, raw in files.items():
        (repo / name).write_bytes(raw)
    git(repo, "add", ".")
    git(repo, "-c", "user.name=o", "-c", "user.email=o@x", "commit", "-qm", "x")
    return git(repo, "rev-parse", "HEAD")


def finish(context: AppContext, task: Task, repo: Path, base: str, commit_id: str) -> None:
    """Record a commit of the task, and end the task with it."""
    entry = Commit(
        task_id=1, attempt=1, repo=str(repo), branch="b", commit=commit_id, base=base, subject="s", label=""
    )  # fmt: skip
    StateStore(context.database).record_commit(entry).result()
    context.queue.finish(1, task.fence, Ending.COMMITTED, commit=commit_id, branch="b").result()


def test_the_whole_change_of_a_commit_is_read_from_the_owners_repository(tmp_path: Path) -> None:
    repo = tmp_path / "owned"
    base = commit_files(repo, {"calc.py": WRONG.encode(), "data.bin": b"\0\1\2"})
    commit_id = commit_files(repo, {"calc.py": RIGHT.encode(), "data.bin": b"\0\1\3", "big.py": LONG})
    with reading(tmp_path) as context, serving(context) as client:
        submit(context, "Mend calc.py", repo=str(repo))
        task = claim(context)
        save(context, task, AttemptState(phase=Phase.COMMIT, base=base, step_no=1, change={"calc.py": RIGHT}))
        finish(context, task, repo, base, commit_id)
        diff = client.get("/api/task/1/diff").json
        assert (diff["commit"], diff["note"]) == (commit_id, "")
        big, calc, data = diff["files"]
        assert (calc["path"], calc["status"], calc["added"], calc["removed"]) == ("calc.py", "changed", 1, 1)
        assert (data["told"], data["hunks"], data["added"]) == ("binary: 3 bytes before, 3 after", [], None)
        assert (big["status"], big["hunks"]) == ("added", [])
        assert big["told"] == "too long to be shown: 0 bytes before, 600,000 after"
        (step,) = client.get("/api/task/1/diff?of=step&attempt=1&step=0").json["files"]
        assert lines(step) == lines(calc), "the base is read from the repository"
        assert client.get("/api/task/1/diff?path=calc.py").json["files"] == [calc]


@pytest.mark.parametrize("judged", [RIGHT, RIGHT + "\n"])
def test_a_file_that_is_committed_as_it_was_judged_has_the_mutants_of_its_verdict(tmp_path: Path, judged: str) -> None:
    repo = tmp_path / "owned"
    base = commit_files(repo, {"calc.py": WRONG.encode(), "other.py": b""})
    commit_id = commit_files(repo, {"calc.py": RIGHT.encode(), "other.py": b"x = 1\n"})
    mutant = TriedMutant(path="calc.py", line=2, noticed=False, what="`a + b` in add (calc.py:2) becomes `a - b`")
    evidence = Evidence(tree="t", sandbox="none", label=Label.SELF_TESTED, mutants=(mutant,))
    verdict = Verdict(passed=True, reason="", evidence=evidence)
    state = AttemptState(phase=Phase.COMMIT, base=base, step_no=1, change={"calc.py": judged}, verdict=verdict)
    with reading(tmp_path) as context, serving(context) as client:
        submit(context, "Mend calc.py", repo=str(repo))
        task = claim(context)
        save(context, task, state)
        finish(context, task, repo, base, commit_id)
        calc, other = client.get("/api/task/1/diff").json["files"]
        shown = [{"path": "calc.py", "line": 2, "noticed": False, "what": mutant.what, "by": ""}]
        assert (calc["mutants"], other["mutants"]) == (shown if judged == RIGHT else [], [])


def test_a_repository_that_cannot_be_read_is_said_and_what_is_known_is_shown(tmp_path: Path) -> None:
    with reading(tmp_path) as context, serving(context) as client:
        submit(context, "Mend calc.py", repo=str(tmp_path / "gone"))
        save(
            context,
            claim(context),
            AttemptState(phase=Phase.TESTING, base="b" * 40, step_no=1, change={"calc.py": RIGHT}),
        )
        diff = client.get("/api/task/1/diff?of=step&attempt=1&step=0").json
        assert str(tmp_path / "gone") in diff["note"]
        assert diff["files"][0]["status"] == "added"


def test_of_very_large_changes_the_rest_is_asked_for_by_path(tmp_path: Path) -> None:
    before = {f"f{n:02}.txt": b"".join(b"%d\n" % line for line in range(400)) for n in range(12)}
    base = commit_files(tmp_path / "owned", before)
    change = {path: raw.decode().replace("\n", "!\n") for path, raw in before.items()}
    with reading(tmp_path) as context, serving(context) as client:
        submit(context, "Change all", repo=str(tmp_path / "owned"))
        save(context, claim(context), AttemptState(phase=Phase.TESTING, base=base, step_no=1, change=change))
        files = client.get("/api/task/1/diff").json["files"]
        left = [file for file in files if file["told"]]
        assert (len(files), len(left)) == (12, 8)
        assert left[0]["told"] == "ask for this file alone to see it"
        (alone,) = client.get(f"/api/task/1/diff?path={left[0]['path']}").json["files"]
        assert (alone["added"], alone["removed"], alone["told"]) == (400, 400, "")


def test_the_diff_of_a_step_and_of_the_task(client: Client, worked: int) -> None:
    base = f"/api/task/{worked}/diff"
    (step,) = client.get(f"{base}?of=step&attempt=1&step=4").json["files"]
    assert (step["status"], step["added"], step["removed"]) == ("changed", 1, 1)
    assert lines(step) == [
        ("same", "def add(a, b):"), ("gone", "    return a - b"), ("added", "    return a + b"),
    ]  # fmt: skip
    task_diff = client.get(base).json
    assert lines(task_diff["files"][0]) == lines(step)
    assert (task_diff["of"], task_diff["commit"]) == ("task", None)


def test_a_fork_begins_with_what_its_source_left_and_that_is_no_change_of_its_own(
    client: Client, context: AppContext, worked: int
) -> None:
    client.post(f"/api/task/{worked}/fork", {"step_no": 4})
    save(
        context,
        claim(context),
        AttemptState(phase=Phase.TESTING, base="c0ffee" * 6, step_no=1, change={"calc.py": RIGHT, "b.py": "b\n"}),
    )
    (file,) = client.get("/api/task/2/diff?of=step&attempt=1&step=0").json["files"]
    assert (file["path"], file["status"]) == ("b.py", "added")
