"""The `.git` folder that test runs see can be read by git itself."""

from __future__ import annotations

from pathlib import Path

from nightshift.git.bare_checkout import write_checkout
from tests.support.git_repo import git, make_repo, write
from tests.support.trees import TextTree


class CommittedTree(TextTree):
    """A text tree whose blobs have git's ids, with a link and an executable file."""

    def __init__(self, repo: Path) -> None:
        self._lines = [line.split(maxsplit=3) for line in git(repo, "ls-files", "-s", "-z").split("\0") if line]
        super().__init__({path: "" for _, _, _, path in self._lines})

    def entries(self) -> dict[str, str]:
        """Return a mapping of path to blob id."""
        return {path: blob for mode, blob, _, path in self._lines if mode != "120000"}

    def links(self) -> dict[str, str]:
        """Return the symbolic link that the tree contains."""
        return {path: "data/prices.txt" for mode, _, _, path in self._lines if mode == "120000"}

    def programs(self) -> frozenset[str]:
        """Return the executable files."""
        return frozenset(path for mode, _, _, path in self._lines if mode == "100755")


def lay_out(folder: Path, tree: TextTree) -> Path:
    write(folder, dict(write_checkout(tree)))
    return folder


def test_git_lists_the_files_of_the_tree_as_in_a_checkout(tmp_path: Path) -> None:
    files = {
        "a.py": "A = 1\n",
        "data/prices.txt": "1\n",
        "names/é.txt": "",
        "x" * 200: "long\n",
        "run.sh": "#!/bin/sh\n",
    }
    repo = make_repo(tmp_path / "repo", files)
    (repo / "run.sh").chmod(0o755)
    (repo / "names/link").symlink_to("../data/prices.txt")
    git(repo, "add", "-A")
    seen = lay_out(tmp_path / "seen", CommittedTree(repo))
    assert git(seen, "ls-files", "-s") == git(repo, "ls-files", "-s")
    assert git(seen, "rev-parse", "--show-toplevel") == str(seen)


def test_a_change_is_seen_as_not_committed(tmp_path: Path) -> None:
    files = {"a.py": "A = 1\n", "b.py": "B = 1\n"}
    repo = make_repo(tmp_path / "repo", files)
    seen = lay_out(tmp_path / "seen", CommittedTree(repo))
    write(seen, {**files, "a.py": "A = 2\n", "new.py": ""})
    assert git(seen, "status", "--porcelain").splitlines() == ["AM a.py", "A  b.py", "?? new.py"]
