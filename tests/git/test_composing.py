"""Git objects that Nightshift composes are the same as those that git writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.tree import IdFormat
from nightshift.core.errors import GitError
from nightshift.git.composing import NewObjects
from nightshift.git.objects import Edit, differing
from nightshift.git.shared_lock import SharedLock
from nightshift.git.storing import Store
from tests.support.git_repo import git

PARTS = ["a", "a-b", "a.py", "ü", "\udcff"]
"""Git sorts a folder's name with a final slash, so the file `a.py` comes between a file `a` and a folder `a`."""
PATHS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=2).map("/".join)
EDITS = st.dictionaries(PATHS, st.binary(max_size=3), max_size=8)


def nothing(id_: str) -> bytes:
    raise AssertionError(id_)


def no_folder_is_a_file(files: dict[str, bytes]) -> bool:
    return not any(other.startswith(f"{path}/") for path in files for other in files)


def edits(before: dict[str, bytes], after: dict[str, bytes]) -> list[Edit]:
    removals = [Edit(path=path, mode="100644", data=None) for path in before if path not in after]
    return [*removals, *(Edit(path=path, mode="100644", data=data) for path, data in after.items())]


@given(EDITS.filter(no_folder_is_a_file), EDITS.filter(no_folder_is_a_file))
def test_a_tree_that_is_edited_is_the_one_made_at_once(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    once, twice = NewObjects("sha1", nothing), NewObjects("sha1", nothing)
    wanted = once.tree("", edits({}, after))
    first = twice.tree("", edits({}, before))
    later = NewObjects("sha1", lambda id_: twice.objects[id_].partition(b"\0")[2])
    assert later.tree(first, edits(before, after)) == wanted
    assert set(differing("", wanted, lambda id_: once.objects[id_].partition(b"\0")[2])) == set(after)


@pytest.mark.parametrize("id_format", ["sha1", "sha256"])
def test_git_finds_what_was_stored(tmp_path: Path, id_format: IdFormat) -> None:
    git(tmp_path, "init", "-q", f"--object-format={id_format}")
    new = NewObjects(id_format, nothing)
    names = ['quo"te.py', '"', "a b/c d.py", "ü/日本.py", "$HOME `x`.py", "'.py", "a/b", "a.py", "a-b", "\udcff"]
    root = new.tree("", [Edit(path=name, mode="100755", data=os.fsencode(name) + b"\0\n") for name in names])
    Store(tmp_path / ".git" / "objects", SharedLock()).put(new.objects)
    assert git(tmp_path, "fsck", "--strict", "--no-dangling") == ""
    lines = git(tmp_path, "ls-tree", "-r", "-z", root).rstrip("\0").split("\0")
    assert {line.split("\t")[1] for line in lines} == set(names)
    index = "".join(f"{line}\0" for line in lines).encode("utf-8", "surrogateescape")
    git(tmp_path, "update-index", "-z", "--index-info", stdin=index)
    assert git(tmp_path, "write-tree") == root
    assert git(tmp_path, "cat-file", "blob", f"{root}:a/b") == "a/b\0"


def test_a_tree_without_files_is_gits_empty_tree() -> None:
    new = NewObjects("sha1", nothing)
    first = new.tree("", [Edit(path="a/b/c", mode="100644", data=b"")])
    assert first != new.tree("", [])
    later = NewObjects("sha1", lambda id_: new.objects[id_].partition(b"\0")[2])
    gone = Edit(path="a/b/c", mode="100644", data=None)
    assert later.tree(first, [gone]) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_what_is_no_tree_is_refused() -> None:
    broken = NewObjects("sha1", lambda _id: b"100644 a\0" + b"x" * 19)
    with pytest.raises(GitError, match="is not a git tree"):
        broken.tree("ab", [Edit(path="b", mode="100644", data=b"")])
