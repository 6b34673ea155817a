from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nightshift.sandbox.trees import TreeStore
from tests.support.trees import TextTree


class CountingTree(TextTree):
    """Counts what is read."""

    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += 1
        return super().read(path)


def test_a_tree_is_packed_once_and_found_again_by_the_next_daemon(tmp_path: Path) -> None:
    tree = CountingTree({"a.py": "a\nb", "b/c.txt": "c"})
    first, second = TreeStore(tmp_path).get(tree), TreeStore(tmp_path).get(tree)
    assert first == second
    assert first.blob == b"a\nbc"
    assert [(path, size) for path, size, _ in first.index] == [("a.py", 3), ("b/c.txt", 1)]
    assert tree.reads == 2


def test_jobs_on_one_commit_share_its_tree(tmp_path: Path) -> None:
    tree, store = CountingTree({f"{n}.py": "x" for n in range(50)}), TreeStore(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: store.get(tree).blob, range(16)))) == 1
    assert tree.reads == 50


def test_only_the_trees_used_last_stay(tmp_path: Path) -> None:
    store, trees = TreeStore(tmp_path, keep=2), [TextTree({"n.txt": str(n)}) for n in range(5)]
    for tree in (*trees, trees[0]):
        store.get(tree)
    assert {path.stem for path in tmp_path.iterdir()} == {trees[0].commit, trees[4].commit}
    assert store.get(trees[1]).blob == b"1", "a tree that had to go is made anew"


def test_what_earlier_daemons_left_is_removed_when_nobody_used_it_for_long(tmp_path: Path) -> None:
    old, new = TextTree({"a": "old"}), TextTree({"a": "new"})
    store = TreeStore(tmp_path)
    for tree in (old, new):
        store.get(tree)
    os.utime(tmp_path / f"{old.commit}.tree", (0, 0))
    TreeStore(tmp_path)
    assert [path.stem for path in tmp_path.iterdir()] == [new.commit]


def test_the_draft_of_a_dead_process_goes_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    drafts = [tmp_path / f"{'a' * 40}.{pid}" for pid in (dead.pid, os.getpid())]
    for draft in drafts:
        draft.write_text("half")
    TreeStore(tmp_path)
    assert [draft.exists() for draft in drafts] == [False, True]
