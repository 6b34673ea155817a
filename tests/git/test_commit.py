"""A commit contains exactly the change, is on the task's own branch, and touches nothing else of the owner's."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nightshift.core.code.git_ids import blob_id
from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import Author, Commit, Workspace
from nightshift.core.tasks.task import Change
from tests.git.conftest import Bench, message
from tests.support.git_repo import fingerprint, git, make_repo, write

OURS = (".git/objects/", ".git/refs/heads/agent/", ".git/logs/refs/heads/agent/", ".git/refs/notes/nightshift")


def commit(bench: Bench, where: Workspace, change: Change) -> Commit:
    new_commit = bench.git.commit(where, where.base, change, message(where.task_id))
    assert new_commit is not None
    return new_commit


def test_a_commit_holds_the_change_and_nothing_else(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "Add a door")
    new_commit = commit(bench, where, {"a.py": "a = 2\n", "new/ü.py": "ü\n", "pkg/b.py": None})
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
    new_commit = commit(bench, where, {"a.py": "a = 2\n"})
    assert git(repo, "log", "-1", "--format=%an <%ae> %at|%cn <%ce> %ct", new_commit.id) == (
        "Night <night@example.org> 1772366400|Night <night@example.org> 1772366400"
    )
    assert git(repo, "log", "-1", "--format=%(trailers:key=Task,valueonly)", new_commit.id).strip() == "7"
    assert git(repo, "log", "-1", "--format=%B", new_commit.id) == "Do it\n\nTask: 7\nModel: m\nIterations: 1"


def test_an_author_that_is_not_set_is_the_one_of_the_repository(bench: Bench, repo: Path) -> None:
    git(repo, "config", "user.name", "Ow <ner>")
    manager = bench.another(author=Author(email="night@example.org"))
    where = manager.open(str(repo), None, 7, "x")
    new_commit = manager.commit(where, where.base, {"a.py": ""}, message())
    assert new_commit
    assert git(repo, "log", "-1", "--format=%an <%ae>", new_commit.id) == "Ow ner <night@example.org>"


WORK = "[user]\n\tname = Robin Work\n\temail = robin@work.example\n"
OWNERS: dict[str, tuple[str, dict[str, str]]] = {
    # Each case has the content of ~/.gitconfig and the settings of the repository.
    "a folder of its own": (WORK.replace("Work", "Private") + '[includeIf "gitdir:{repo}/"]\n\tpath = work\n', {}),
    "a remote of its own": (
        '[includeIf "hasconfig:remote.*.url:https://git.work.example/**"]\n\tpath = work\n',
        {"remote.origin.url": "https://git.work.example/shop.git"},
    ),
    "the branch": ('[includeIf "onbranch:main"]\n\tpath = work\n', {}),
    "an include": ("[include]\n\tpath = work\n[include]\n\tpath = nowhere\n", {}),
    "one line": ("[user] name = Robin Work\n[user] email = robin@work.example\n", {}),
    "the author alone": ("[author]\n\tname = Robin Work\n\temail = robin@work.example\n" + WORK.replace("W", "X"), {}),
    "the worktree": (WORK.replace("work", "home"), {"extensions.worktreeConfig": "true"}),
    "an include of the repository": ("", {"include.path": "{home}/work"}),
}


@pytest.mark.parametrize("kind", OWNERS)
def test_the_author_is_the_one_whom_git_itself_would_take(bench: Bench, repo: Path, kind: str) -> None:
    home = bench.root / "home"
    text, local = OWNERS[kind]
    write(home, {".gitconfig": text.format(repo=repo), "work": WORK})
    for key, value in local.items():
        git(repo, "config", key, value.format(home=home))
    if "extensions.worktreeConfig" in local:
        git(repo, "config", "--worktree", "user.email", "robin@work.example")
    manager = bench.another(author=Author(name="", email=""))
    where = manager.open(str(repo), None, 7, "x")
    new_commit = manager.commit(where, where.base, {"a.py": ""}, message())
    assert new_commit
    assert git(repo, "log", "-1", "--format=%an <%ae>", new_commit.id) == "Robin Work <robin@work.example>"


def test_a_name_that_is_changed_holds_from_the_next_commit_on(bench: Bench, repo: Path) -> None:
    manager = bench.another(author=Author(email="night@example.org"))
    where = manager.open(str(repo), None, 7, "x")
    git(repo, "config", "user.name", "Zoé")
    new_commit = manager.commit(where, where.base, {"a.py": ""}, message())
    assert new_commit
    assert git(repo, "log", "-1", "--format=%an", new_commit.id) == "Zoé"


@pytest.mark.parametrize(
    ("raw", "name"), [(b"Zo\xe9", "Zoé"), ("\ufeff".encode(), "Robin Work"), (b'"Ann # <O>" ; mine', "Ann # O")]
)
def test_a_configuration_is_read_whatever_its_bytes_are(bench: Bench, repo: Path, raw: bytes, name: str) -> None:
    home = bench.root / "home"
    is_mark = raw == "\ufeff".encode()
    write(
        home, {".gitconfig": (raw if is_mark else b"") + WORK.encode() + (b"" if is_mark else b"name = " + raw + b"\n")}
    )
    manager = bench.another(author=Author())
    where = manager.open(str(repo), None, 7, "x")
    new_commit = manager.commit(where, where.base, {"a.py": ""}, message())
    assert new_commit
    assert git(repo, "log", "-1", "--format=%an", new_commit.id) == name


def test_new_programs_are_executable_and_old_files_stay_what_they_are(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = commit(bench, where, {"new.sh": "#!/bin/sh\n", "b.sh": "x\n", "a.py": "#!/usr/bin/python3\n"})
    listed = git(repo, "ls-tree", new_commit.id, "new.sh", "b.sh", "a.py")
    assert {line.split()[-1]: line.split()[0] for line in listed.splitlines()} == {
        "new.sh": "100755", "b.sh": "100644", "a.py": "100644",
    }  # fmt: skip


def test_another_author_holds_from_the_next_commit_on_also_where_a_task_works_already(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    bench.git.renew(Author(name="Day", email="day@example.org"), auto_push=False, remove_branches=False)
    new_commit = commit(bench, where, {"a.py": "a = 3\n"})
    assert git(repo, "log", "-1", "--format=%an <%ae>", new_commit.id) == "Day <day@example.org>"
    assert where.tree.read("a.py") == b"a = 1\n", "what was read before can still be read"


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
    new_commit = commit(bench, where, {"run.sh": "echo ho\n"})
    after = git(repo, "ls-tree", new_commit.id)
    old, new = blob_id(b"echo hi\n", "sha1"), blob_id(b"echo ho\n", "sha1")
    assert after == before.replace(old, new)
    assert f"100755 blob {new}" in after


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("../out.py", "relative"), ("/etc/passwd", "relative"), (".git/config", "not allowed"),
        ("x/.GIT/y", "not allowed"),
        ("a\nb", "control"), (".gitattributes", "not allowed"), ("link", "symbolic link"),
        ("link/x.py", "not a folder"),
        ("a.py/x.py", "not a folder"), ("pkg", "it is a folder"), ("", "1 to 400"),
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
    new_commit = commit(bench, where, {"a.py": None, "a.py/x.py": "1", "pkg/b.py": None, "pkg": "2"})
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
    new_commit = commit(bench, where, {"a.txt": text})
    assert bench.git.tree(where, new_commit.id).read("a.txt") == text.encode()
    assert where.tree.read("a.py") == b"a = 1\n"


def test_a_branch_of_somebody_else_is_left_alone(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "agent/7-x")
    where = bench.git.open(str(repo), None, 7, "x")
    assert commit(bench, where, {"a.py": ""}).branch == "agent/7-x-2"
    assert git(repo, "rev-parse", "agent/7-x") == where.base


def test_a_branch_below_the_name_of_the_tasks_is_left_alone(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "agent/7-x/review")
    git(repo, "branch", "agent/7-x-2/review")
    git(repo, "pack-refs", "--all")
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = commit(bench, where, {"a.py": ""})
    assert new_commit.branch == "agent/7-x-3"
    assert bench.git.find_commit(where, 7) == new_commit


def test_a_branch_that_no_name_can_be_given_to_says_why(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    git(repo, "branch", "agent")
    with pytest.raises(GitError, match=r"branch agent/7-x could not be made: .*'refs/heads/agent' exists"):
        commit(bench, where, {"a.py": ""})


def test_a_second_attempt_takes_over_the_branch_of_the_first(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x", bench.now)
    commit(bench, where, {"a.py": "1"})
    bench.later(hours=1)
    second = commit(bench, where, {"a.py": "2"})
    assert second.branch == "agent/7-x"
    assert git(repo, "rev-parse", "agent/7-x") == second.id


def test_a_branch_of_an_older_task_of_the_same_number_is_left_alone(bench: Bench, repo: Path) -> None:
    old = commit(bench, bench.git.open(str(repo), None, 7, "x", bench.now), {"a.py": "1"})
    bench.later(days=1)
    where = bench.git.open(str(repo), None, 7, "x", bench.now)
    assert bench.git.find_commit(where, 7) is None
    assert commit(bench, where, {"a.py": "2"}).branch == "agent/7-x-2"
    assert git(repo, "rev-parse", "agent/7-x") == old.id


def test_a_branch_that_the_owner_looks_at_is_not_moved_under_him(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    first = commit(bench, where, {"a.py": "1"})
    git(repo, "checkout", "-q", first.branch)
    assert commit(bench, where, {"a.py": "2"}).branch == "agent/7-x-2"
    assert git(repo, "status", "--porcelain") == ""


def test_nothing_of_the_owners_changes(bench: Bench, repo: Path) -> None:
    write(repo, {"a.py": "a = 'not committed'\n", "untracked.py": "x\n", "staged.py": "y\n", "stashed.py": "z\n"})
    git(repo, "add", "stashed.py")
    git(repo, "stash", "push", "-q", "--", "stashed.py")
    git(repo, "add", "staged.py")
    git(repo, "worktree", "add", "-q", "-b", "side", str(bench.root / "side"))
    before, side = fingerprint(repo, except_=OURS), fingerprint(bench.root / "side")
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = commit(bench, where, {"a.py": "a = 3\n", "staged.py": "mine\n", "untracked.py": "mine\n"})
    rebased = bench.git.rebase(where, new_commit, where.base)
    bench.git.note(where, rebased.id, "evidence")
    bench.git.recent_commits(where, 5)
    bench.git.find_commit(where, 7)
    bench.git.close()
    assert fingerprint(repo, except_=OURS) == before
    assert fingerprint(bench.root / "side") == side


def test_the_fingerprint_would_notice(bench: Bench, repo: Path) -> None:
    before = fingerprint(repo, except_=OURS)
    git(repo, "status")
    git(repo, "update-ref", "refs/heads/other", "HEAD")
    assert fingerprint(repo, except_=OURS) != before


SCRIPT = """
import os, sys
from nightshift.git.manager import Author, GitManager
from nightshift.core.tasks.commit_message import CommitMessage
from pathlib import Path
manager = GitManager(
    workspace=Path(sys.argv[1]), author=Author(), auto_push=False, emit=print, environ=dict(os.environ)
)
where = manager.open(sys.argv[2], None, 7, "x")
made = manager.commit(where, where.base, {"a.py": "2"}, CommitMessage(subject="s", trailers={"Task": "7"}))
print(made.id, where.repo)
manager.close()
"""


def test_the_environment_of_the_daemon_does_not_leak(bench: Bench, repo: Path, tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other")
    before = fingerprint(other)
    leaks = {
        "GIT_DIR": f"{other}/.git", "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": f"{other}/.git/index",
        "GIT_OBJECT_DIRECTORY": f"{other}/.git/objects", "GIT_COMMON_DIR": f"{other}/.git",
        "GIT_AUTHOR_NAME": "Leak", "GIT_COMMITTER_DATE": "1", "GIT_NAMESPACE": "leak",
    }  # fmt: skip
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd()), **leaks}
    command = [sys.executable, "-c", SCRIPT, str(bench.workspace), str(repo)]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()
    assert out == [git(repo, "rev-parse", "agent/7-x"), str(repo)]
    assert fingerprint(other) == before


def test_the_dates_come_from_the_clock(bench: Bench, repo: Path) -> None:
    bench.now = datetime(2031, 5, 6, 7, 8, 9, 999_999, tzinfo=UTC)
    where = bench.git.open(str(repo), None, 7, "x")
    new_commit = commit(bench, where, {"a.py": "2"})
    assert git(repo, "log", "-1", "--format=%cI", new_commit.id) == "2031-05-06T07:08:09+00:00"
    assert bench.git.recent_commits(where, 1, new_commit.id)[0].at == bench.now.replace(microsecond=0)
