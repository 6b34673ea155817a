"""The daemon's own repository looks normal to a visitor, and keeps every change that the visitor made there."""

from __future__ import annotations

from nightshift.core.events import Kind
from nightshift.core.tasks.revisions import Commit
from nightshift.core.tasks.task import Change
from tests.git.conftest import Bench
from tests.git.test_integrate import land
from tests.support.git_repo import git, write


def task(bench: Bench, task_id: int, change: Change) -> Commit:
    return land(bench.git, bench.git.open(None, None, task_id, "x"), change)


def status(bench: Bench) -> str:
    return git(bench.workspace, "status", "--porcelain")


def read(bench: Bench, name: str) -> str:
    return (bench.workspace / name).read_text()


def test_the_files_follow_the_tip(bench: Bench) -> None:
    task(bench, 1, {"a.py": "1\n", "pkg/b.py": "1\n"})
    assert (read(bench, "a.py"), status(bench)) == ("1\n", "")
    task(bench, 2, {"a.py": "2\n", "pkg/b.py": None})
    assert (read(bench, "a.py"), status(bench)) == ("2\n", "")
    assert not (bench.workspace / "pkg").exists()
    assert git(bench.workspace, "log", "--format=%s") == "Do it\nDo it\nBegin"
    assert bench.events == []


def test_edits_elsewhere_are_kept_and_do_not_stand_in_the_way(bench: Bench) -> None:
    task(bench, 1, {"a.py": "1\n", "b.py": "1\n"})
    write(bench.workspace, {"b.py": "mine\n", "notes.txt": "mine\n", "staged.txt": "mine\n"})
    git(bench.workspace, "add", "staged.txt")
    task(bench, 2, {"a.py": "2\n"})
    assert (read(bench, "a.py"), read(bench, "b.py")) == ("2\n", "mine\n")
    assert status(bench) == " M b.py\nA  staged.txt\n?? notes.txt"


def test_an_edit_in_the_way_is_never_overwritten(bench: Bench) -> None:
    task(bench, 1, {"a.py": "1\n", "b.py": "1\n"})
    write(bench.workspace, {"a.py": "mine\n"})
    task(bench, 2, {"a.py": "2\n", "b.py": "2\n"})
    assert (read(bench, "a.py"), read(bench, "b.py")) == ("mine\n", "1\n")
    task(bench, 3, {"c.py": "3\n"})
    assert [event.kind for event in bench.events] == [Kind.CHECKOUT_LEFT]
    assert "stay as they are" in bench.events[0].message
    git(bench.workspace, "checkout", "-q", "a.py")
    task(bench, 4, {"d.py": "4\n"})
    assert [read(bench, f"{name}.py") for name in "abcd"] == ["2\n", "2\n", "3\n", "4\n"]
    assert status(bench) == ""


def test_an_unknown_file_in_the_way_is_never_overwritten(bench: Bench) -> None:
    task(bench, 1, {".gitignore": "secret.txt\n"})
    write(bench.workspace, {"new.py": "mine\n", "secret.txt": "mine\n"})
    task(bench, 2, {"new.py": "2\n"})
    assert read(bench, "new.py") == "mine\n"
    (bench.workspace / "new.py").unlink()
    task(bench, 3, {"secret.txt": "theirs\n"})
    assert read(bench, "secret.txt") == "mine\n"


def test_a_visitor_on_another_branch_is_left_there(bench: Bench) -> None:
    task(bench, 1, {"a.py": "1\n"})
    git(bench.workspace, "checkout", "-q", "-b", "look")
    task(bench, 2, {"a.py": "2\n"})
    assert (read(bench, "a.py"), status(bench)) == ("1\n", "")
    git(bench.workspace, "checkout", "-q", "main")
    task(bench, 3, {"a.py": "3\n"})
    assert (read(bench, "a.py"), status(bench)) == ("3\n", "")


def test_files_that_were_touched_but_not_changed_are_not_edits(bench: Bench) -> None:
    task(bench, 1, {"a.py": "1\n"})
    (bench.workspace / "a.py").unlink()
    write(bench.workspace, {"a.py": "1\n"})
    task(bench, 2, {"a.py": "2\n"})
    assert (read(bench, "a.py"), status(bench)) == ("2\n", "")


def test_a_locked_index_delays_the_files_and_nothing_else(bench: Bench) -> None:
    task(bench, 1, {"a.py": "1\n"})
    lock = bench.workspace / ".git" / "index.lock"
    lock.touch()
    commit = task(bench, 2, {"a.py": "2\n"})
    assert (git(bench.workspace, "rev-parse", "main"), read(bench, "a.py")) == (commit.id, "1\n")
    lock.unlink()
    task(bench, 3, {"b.py": "3\n"})
    assert (read(bench, "a.py"), status(bench)) == ("2\n", "")


def test_whatever_was_committed_elsewhere_is_followed(bench: Bench) -> None:
    task(bench, 1, {"a.py": "1\n", "b.py": "1\n", "pkg/c.py": "1\n", "same.py": "1\n", "d": "1\n", "sub.txt": ""})
    root, clone = bench.workspace, bench.root / "clone"
    git(bench.root, "clone", "-q", str(root), str(clone))
    (clone / "a.py").chmod(0o755)
    write(clone, {"b.py": "2\n", 'quo"te\\ \n\t.py': "", "bytes": bytes(range(256)), "empty": "", "ü/x": "no newline"})
    (clone / "b.py").chmod(0o755)
    for name in ("d", "pkg/c.py", "sub.txt"):
        (clone / name).unlink()
    write(clone, {"d/e.py": "1\n"})
    (clone / "pkg").rmdir()
    (clone / "pkg").symlink_to("a.py")
    (clone / "same.py").unlink()
    (clone / "same.py").symlink_to("b.py")
    git(clone, "add", "-A")
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{git(root, 'rev-parse', 'main')},module")
    git(clone, "commit", "-q", "-m", "Odd")
    git(root, "fetch", "-q", str(clone), "main:refs/heads/odd")
    git(root, "update-ref", "refs/heads/main", "refs/heads/odd")
    task(bench, 2, {"e.py": "2\n"})
    assert (status(bench), bench.events) == ("", [])
    assert git(root, "write-tree") == git(root, "rev-parse", "main^{tree}")
    assert (root / "bytes").read_bytes() == bytes(range(256))
