"""The benchmark's use of git: commits with their changes, and a copy of one commit without any other commit."""

from pathlib import Path

from nightshift.core.tasks.revisions import ChangedFile
from tests.git.conftest import Bench
from tests.support.git_repo import git, make_repo, write


def commit(repo: Path, message: str, files: dict[str, str | bytes]) -> str:
    write(repo, files)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-F", "-", stdin=message)
    return git(repo, "rev-parse", "HEAD")


def test_commits_come_with_their_messages_and_what_they_changed(bench: Bench, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"a.py": "1\n2\n", "naïve name.txt": "x\n"})
    commit_id = commit(repo, "Sub\x1fject\n\nBody, \x1e with odd characters\n", {"a.py": "1\n3\n4\n", "b.bin": b"\0\1"})
    git(repo, "rm", "-q", "naïve name.txt")
    git(repo, "commit", "-q", "-m", "Gone")
    gone, second, first = bench.git.changing_commits(str(repo), 10)
    assert second.id == commit_id
    assert second.parents == (first.id,)
    assert second.message == "Sub\x1fject\n\nBody, \x1e with odd characters\n"
    assert second.files == (
        ChangedFile(path="a.py", added=2, removed=1),
        ChangedFile(path="b.bin", added=None, removed=None),
    )
    assert gone.files == (ChangedFile(path="naïve name.txt", added=0, removed=1),)
    assert first.parents == ()
    assert [newest.id for newest in bench.git.changing_commits(str(repo), 1)] == [gone.id]


def test_a_copy_has_the_files_of_one_commit_and_nothing_that_came_before_or_after(bench: Bench, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"a.py": "old\n"})
    git(repo, "tag", "v1.2")
    wanted = commit(repo, "Wanted", {"a.py": "wanted\n", "deep/er/b.sh": "#!/bin/sh\n"})
    commit(repo, "Later", {"a.py": "the answer\n"})
    copy_id = bench.git.copy_of(str(repo), wanted, tmp_path / "copy")
    copy = tmp_path / "copy"
    assert git(copy, "log", "--all", "--format=%H %P").split() == [copy_id]
    assert git(copy, "rev-parse", "main^{tree}") == git(repo, "rev-parse", f"{wanted}^{{tree}}")
    assert git(copy, "tag") == "v1.2"
    kinds = git(copy, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert (kinds.count("commit"), kinds.count("blob")) == (1, 2)
    telltale_files = [path for path in copy.rglob("*") if path.is_file() and str(repo).encode() in path.read_bytes()]
    assert telltale_files == []
    assert not (copy / ".git" / "objects" / "info" / "alternates").exists()
    opened = bench.git.open(str(copy), "main", 1, "Try it")
    assert opened.tree.read("a.py") == b"wanted\n"
    assert bench.git.copy_of(str(repo), wanted, tmp_path / "again") == copy_id
