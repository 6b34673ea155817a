"""A commit contains exactly the change, is on the task's own branch, and touches nothing else of the owner's."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.code.tree import blob_id
from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import Author
from tests.git.conftest import Bench, make_commit, message
from tests.support.git_repo import fingerprint, git, write

OURS = (".git/objects/", ".git/refs/heads/agent/", ".git/logs/refs/heads/agent/", ".git/refs/notes/nightshift")


def test_a_commit_holds_the_change_and_nothing_else(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "Add a door")
    new_commit = make_commit(bench.git, where, {"a.py": "a = 2\n", "new/ü.py": "ü\n", "pkg/b.py": None})
    assert new_commit.branch == "agent/7-add-a-door"
    assert (
        git(repo, "rev-parse", new_commit.branch, f"{new_commit.branch}^{{tree}}")
        == f"{new_commit.id}\n{new_commit.tree}"
    )
    assert git(repo, "-c", "core.quotePath=false", "diff", "--name-status", where.base, new_commit.id).split("\n") == [
        "M\ta.py", "A\tnew/ü.py", "D\tpkg/b.py",
    ]  # fmt: skip
    assert git(repo, "show", f"{new_commit.id}:new/ü.py") == "ü"
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""


def test_message_author_and_date_are_ours(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = make_commit(bench.git, where, {"a.py": "a = 2\n"})
    assert git(repo, "log", "-1", "--format=%an <%ae> %at|%cn <%ce> %ct", new_commit.id) == (
        "Night <night@example.org> 1772366400|Night <night@example.org> 1772366400"
    )
    assert git(repo, "log", "-1", "--format=%(trailers:key=Task,valueonly)", new_commit.id).strip() == "7"
    assert git(repo, "log", "-1", "--format=%B", new_commit.id) == "Do it\n\nTask: 7\nModel: m\nIterations: 1"


def test_an_author_that_is_not_set_is_the_one_of_the_repository(bench: Bench, repo: Path) -> None:
    git(repo, "config", "user.name", "Ow <ner>")
    manager = bench.another(author=Author(email="night@example.org"))
    where = manager.open(str(repo), None, 7, "x")
    new_commit = make_commit(manager, where, {"a.py": ""})
    assert git(repo, "log", "-1", "--format=%an <%ae>", new_commit.id) == "Ow ner <night@example.org>"


def test_new_programs_are_executable_and_old_files_stay_what_they_are(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = make_commit(bench.git, where, {"new.sh": "#!/bin/sh\n", "b.sh": "x\n", "a.py": "#!/usr/bin/python3\n"})
    listed = git(repo, "ls-tree", new_commit.id, "new.sh", "b.sh", "a.py")
    assert {line.split()[-1]: line.split()[0] for line in listed.splitlines()} == {
        "new.sh": "100755", "b.sh": "100644", "a.py": "100644",
    }  # fmt: skip


def test_a_change_that_changes_nothing_is_no_commit(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    assert bench.git.commit(where, where.base, {"a.py": "a = 1\n", "gone.py": None}, message()) is None
    assert bench.git.commit(where, where.base, {}, message()) is None
    assert git(repo, "branch", "--list", "agent/*") == ""


def test_modes_links_and_submodules_are_kept(bench: Bench, repo: Path) -> None:
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("a.py")
    git(repo, "add", "-A")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{git(repo, 'rev-parse', 'HEAD')},sub")
    git(repo, "commit", "-q", "-m", "Second")
    before = git(repo, "ls-tree", "HEAD")
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = make_commit(bench.git, where, {"run.sh": "echo ho\n"})
    after = git(repo, "ls-tree", new_commit.id)
    old, new = blob_id(b"echo hi\n", "sha1"), blob_id(b"echo ho\n", "sha1")
    assert after == before.replace(old, new)
    assert f"100755 blob {new}" in after


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("../out.py", "relative"), (".git/config", "not allowed"), ("link", "symbolic link"),
        ("link/x.py", "not a folder"), ("a.py/x.py", "not a folder"), ("pkg", "it is a folder"),
    ],
)  # fmt: skip
def test_a_path_that_may_not_be_written_is_refused(bench: Bench, repo: Path, path: str, says: str) -> None:
    (repo / "link").symlink_to("pkg")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Second")
    where = bench.git.open(str(repo), None, 7, "x")
    with pytest.raises(GitError, match=says):
        bench.git.commit(where, where.base, {"fine.py": "", path: "x"}, message())
    assert git(repo, "branch", "--list", "agent/*") == ""


def test_a_file_may_become_a_folder_and_back_when_the_change_says_so(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = make_commit(bench.git, where, {"a.py": None, "a.py/x.py": "1", "pkg/b.py": None, "pkg": "2"})
    assert list(bench.git.tree(where, new_commit.id).entries()) == ["a.py/x.py", "pkg", "run.sh"]
    with pytest.raises(GitError, match="not a folder"):
        bench.git.commit(where, where.base, {"q": "1", "q/x.py": "1"}, message())


def test_text_that_is_no_text_is_refused(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    with pytest.raises(GitError, match=r"a\.py: holds half of a surrogate pair, which is no text"):
        bench.git.commit(where, where.base, {"a.py": "\ud800"}, message())


def test_attributes_change_no_byte(bench: Bench, repo: Path) -> None:
    write(repo, {".gitattributes": "* text eol=crlf ident export-subst working-tree-encoding=UTF-16LE\n"})
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "-q", "-m", "Second")
    git(repo, "config", "core.autocrlf", "true")
    where = bench.git.open(str(repo), None, 7, "x")
    text = "$Id$ $Format:%H$\r\nü\n"
    new_commit = make_commit(bench.git, where, {"a.txt": text})
    assert bench.git.tree(where, new_commit.id).read("a.txt") == text.encode()
    assert where.tree.read("a.py") == b"a = 1\n"


def test_a_branch_of_somebody_else_is_left_alone(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "agent/7-x")
    where = bench.git.open(str(repo), None, 7, "x")
    assert make_commit(bench.git, where, {"a.py": ""}).branch == "agent/7-x-2"
    assert git(repo, "rev-parse", "agent/7-x") == where.base


def test_a_branch_below_the_name_of_the_tasks_is_left_alone(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "agent/7-x/review")
    git(repo, "branch", "agent/7-x-2/review")
    git(repo, "pack-refs", "--all")
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = make_commit(bench.git, where, {"a.py": ""})
    assert new_commit.branch == "agent/7-x-3"
    assert bench.git.find_commit(where, 7) == new_commit


def test_a_second_attempt_takes_over_the_branch_of_the_first(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x", bench.now)
    make_commit(bench.git, where, {"a.py": "1"})
    bench.later(hours=1)
    second = make_commit(bench.git, where, {"a.py": "2"})
    assert second.branch == "agent/7-x"
    assert git(repo, "rev-parse", "agent/7-x") == second.id


def test_a_branch_of_an_older_task_of_the_same_number_is_left_alone(bench: Bench, repo: Path) -> None:
    old = make_commit(bench.git, bench.git.open(str(repo), None, 7, "x", bench.now), {"a.py": "1"})
    bench.later(days=1)
    where = bench.git.open(str(repo), None, 7, "x", bench.now)
    assert bench.git.find_commit(where, 7) is None
    assert make_commit(bench.git, where, {"a.py": "2"}).branch == "agent/7-x-2"
    assert git(repo, "rev-parse", "agent/7-x") == old.id


def test_a_branch_that_the_owner_looks_at_is_not_moved_under_him(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    first = make_commit(bench.git, where, {"a.py": "1"})
    git(repo, "checkout", "-q", first.branch)
    assert make_commit(bench.git, where, {"a.py": "2"}).branch == "agent/7-x-2"
    assert git(repo, "status", "--porcelain") == ""


def test_nothing_of_the_owners_changes(bench: Bench, repo: Path) -> None:
    write(repo, {"a.py": "a = 'not committed'\n", "untracked.py": "x\n", "staged.py": "y\n", "stashed.py": "z\n"})
    git(repo, "add", "stashed.py")
    git(repo, "stash", "push", "-q", "--", "stashed.py")
    git(repo, "add", "staged.py")
    git(repo, "worktree", "add", "-q", "-b", "side", str(bench.root / "side"))
    before, side = fingerprint(repo, except_=OURS), fingerprint(bench.root / "side")
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = make_commit(bench.git, where, {"a.py": "a = 3\n", "staged.py": "mine\n", "untracked.py": "mine\n"})
    rebased = bench.git.rebase(where, new_commit, where.base)
    bench.git.note(where, rebased.id, "evidence")
    bench.git.recent_commits(where, 5)
    bench.git.find_commit(where, 7)
    bench.git.close()
    assert fingerprint(repo, except_=OURS) == before
    assert fingerprint(bench.root / "side") == side
