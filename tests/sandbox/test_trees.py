from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.sandbox.trees import SENT_FILES, TreeStore
from tests.support.trees import TextTree


class CountingTree(TextTree):
    """A tree that counts how often its files are read."""

    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += 1
        return super().read(path)


MANY = {f"area{n % 7}/m{n}.py": f"V = {n}\n" for n in range(SENT_FILES + 20)}


def lying(store: TreeStore, tree: TextTree) -> dict[str, str]:
    """Return the files of a tree as a job sees them: those of the layers, except the removed ones."""
    laid = store.get(tree)
    texts = {
        str(path.relative_to(layer.host)): path.read_text()
        for layer in laid.layers
        for path in sorted(layer.host.rglob("*"))
        if path.is_file()
    }
    return {path: text for path, text in texts.items() if path not in laid.gone}


def trees_in(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.json")}


def test_a_tree_is_laid_out_once_and_found_again_by_the_next_daemon(folder: Path) -> None:
    tree = CountingTree({**MANY, "b/run": "#!/bin/sh\n"})
    first, second = TreeStore(folder).get(tree), TreeStore(folder).get(tree)
    assert first == second
    assert lying(TreeStore(folder), tree) == tree.files
    assert (first.layers[0].host / "b/run").stat().st_mode & 0o777 == 0o755
    assert tree.reads == len(tree.files)


def test_jobs_on_one_commit_share_its_tree(folder: Path) -> None:
    tree, store = CountingTree({f"{n}.py": "x" for n in range(50)}), TreeStore(folder)
    with ThreadPoolExecutor(8) as pool:
        assert len({laid.layers for laid in pool.map(lambda _: store.get(tree), range(16))}) == 1
    assert tree.reads == 50


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"area1/m1.py": "changed\n", "area2/m2.py": None}, 1),
        ({"area3/m3.py/inner.py": "a folder where a file was\n", "area3/m3.py": None}, None),
        ({**{path: None for path in MANY if path.startswith("area4/")}, "area4": "a file for a folder\n"}, None),
        (dict.fromkeys(MANY, "all are others\n"), None),
    ],
    ids=["changed and gone", "folder for file", "file for folder", "all changed"],
)
def test_a_tree_costs_what_differs_from_one_that_lies_there(
    folder: Path, change: Mapping[str, str | None], read: int | None
) -> None:
    store = TreeStore(folder)
    store.get(TextTree(MANY))
    tree = CountingTree({path: text for path, text in {**MANY, **change}.items() if text is not None})
    assert lying(store, tree) == tree.files
    assert tree.reads == (len(tree.files) if read is None else read)
    assert {path: size for path, (_, size, _) in store.get(tree).files.items()} == {
        path: len(text) for path, text in tree.files.items()
    }


def test_a_small_tree_is_sent_and_a_large_one_lies_in_the_sandbox(folder: Path) -> None:
    store = TreeStore(folder)
    small = store.get(TextTree({"a.py": "a", "b/c.py": "c", "d.py": "d"})).below(["b"], ["d.py"])
    assert (small.layers, small.gone, small.packed.blob, set(small.digests)) == ((), (), b"a", {"a.py"})
    large = store.get(TextTree(MANY)).below(["area1/m1.py", "area2"], ["area3/m3.py", "never.py"])
    hidden = {path for path in MANY if path.startswith("area2/")} | {"area1/m1.py", "area3/m3.py"}
    assert (set(large.gone), large.packed.blob, set(large.digests)) == (hidden, b"", MANY.keys() - hidden)


def test_only_the_trees_used_last_stay_where_nobody_uses_the_others(folder: Path) -> None:
    store, trees = TreeStore(folder, keep=2, idle_s=0), [TextTree({"n.txt": str(n)}) for n in range(5)]
    for tree in (*trees, trees[0]):
        store.get(tree)
    assert trees_in(folder) == {trees[0].commit, trees[4].commit}
    assert lying(store, trees[1]) == {"n.txt": "1"}, "a tree that had to go is made anew"
    used = TreeStore(folder, keep=1)
    used.get(trees[2])
    assert {trees[1].commit, trees[2].commit} <= trees_in(folder), "a run may still be in it"


def test_what_earlier_daemons_left_is_removed_when_nobody_used_it_for_long(folder: Path) -> None:
    old, new = TextTree({"a": "old"}), TextTree({"a": "new"})
    store = TreeStore(folder)
    for tree in (old, new):
        store.get(tree)
    (folder / f"{'a' * 40}.tree").write_text("of an older version")
    (folder / f"{'b' * 40}").mkdir()
    os.utime(folder / f"{old.commit}.json", (0, 0))
    TreeStore(folder)
    assert {path.name for path in folder.iterdir()} == {".lock", new.commit, f"{new.commit}.json"}


def test_a_tree_stays_where_the_clock_is_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system's clock decides the age of a file, not the daemon's clock."""
    store, tree, now = TreeStore(folder, keep=0), TextTree({"a": "x"}), time.time
    monkeypatch.setattr(time, "time", lambda: now() + 40 * 86_400)
    assert lying(store, tree) == tree.files == lying(store, tree)


def test_a_name_that_leaves_the_folder_is_refused_and_a_large_file_is_not(folder: Path) -> None:
    with pytest.raises(SandboxError, match="cannot be staged"):
        TreeStore(folder).get(TextTree({"../outside": "x"}))
    large = TextTree({"model.bin": "x" * (65 << 20)})
    assert TreeStore(folder).get(large).below(()).layers[0].size_mb == 65
    assert subprocess.run(["find", folder, "-links", "+1", "-type", "f"], capture_output=True, check=True).stdout == b""
