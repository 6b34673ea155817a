from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandbox.trees import TreeStore
from tests.support.trees import TextTree


class CountingTree(TextTree):
    """Counts what is read."""

    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += 1
        return super().read(path)


def test_a_tree_is_written_once_and_found_again_by_the_next_daemon(tmp_path: Path) -> None:
    tree = CountingTree({"a.py": "a", "b/c.txt": "c"})
    with TreeStore(tmp_path).lease(tree) as first, TreeStore(tmp_path).lease(tree) as second:
        assert first.folder == second.folder
        assert (first.folder / "b/c.txt").read_text() == "c"
        assert first.digests == second.digests
        assert first.size_bytes == 2
    assert tree.reads == 2


def test_jobs_on_one_commit_share_its_tree(tmp_path: Path) -> None:
    tree, store = CountingTree({f"{n}.py": "x" for n in range(50)}), TreeStore(tmp_path)

    def use(_: int) -> Path:
        with store.lease(tree) as stored:
            return stored.folder

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(use, range(16)))) == 1
    assert tree.reads == 50


def test_only_the_trees_used_last_stay_and_never_goes_one_in_use(tmp_path: Path) -> None:
    store = TreeStore(tmp_path, keep=2)
    trees = [TextTree({"n.txt": str(n)}) for n in range(5)]
    with store.lease(trees[0]) as held:
        for tree in trees[1:]:
            with store.lease(tree):
                continue
        assert held.folder.exists()
        assert len(list(tmp_path.iterdir())) == 2
    assert {path.name for path in tmp_path.iterdir()} == {trees[0].commit, trees[4].commit}
    with store.lease(trees[1]) as again:
        assert (again.folder / "n.txt").read_text() == "1", "a tree that had to go is made anew"


def test_what_earlier_daemons_left_is_removed_when_nobody_used_it_for_long(tmp_path: Path) -> None:
    old, new = TextTree({"a": "old"}), TextTree({"a": "new"})
    store = TreeStore(tmp_path)
    for tree in (old, new):
        with store.lease(tree):
            continue
    os.utime(tmp_path / old.commit / "digests.json", (0, 0))
    TreeStore(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [new.commit]
