"""Git objects as Python values: they are read as git wrote them, and forbidden edits are rejected."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.listing import Listing
from nightshift.core.code.paths import path_fault
from nightshift.core.code.tree import blob_id
from nightshift.core.errors import GitError
from nightshift.git.objects import Record, differing, edits_for, find, parse_commit, person
from tests.support.git_repo import git, make_repo

NAMES = [
    'quo"te.py', "a b.py", "tab-less.py", "ü.py", "日本.py", "a.py", "a-b.py", "a/b.py", "a.d/c.py", "$HOME", "*.py",
]  # fmt: skip


def list_files(root: str, load: Callable[[str], bytes]) -> Listing[Record]:
    return Listing[Record]().patch(differing("", root, load))


def test_a_tree_reads_as_git_lists_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {name: name for name in NAMES if name != "a/b.py"} | {"z/a/b.py": "x"})

    def load(id_: str) -> bytes:
        hexed = git(repo, "cat-file", "tree", id_, env={"LC_ALL": "C"}).encode("utf-8", "surrogateescape")
        return hexed + b"\n" * (len(hexed) < int(git(repo, "cat-file", "-s", id_)))

    root = git(repo, "rev-parse", "HEAD^{tree}")
    listed = [line.split("\t") for line in git(repo, "ls-tree", "-r", "-z", "HEAD").split("\0") if line]
    assert list_files(root, load) == {path: Record(head.split()[0], head.split()[2]) for head, path in listed}
    assert find(root, "z/a/b.py", load) == git(repo, "rev-parse", "HEAD:z/a/b.py")
    for path in ("z/a", "z/a/b.py/c", "nothing", "z/nothing"):
        assert find(root, path, load) is None


def read_stored(files: dict[str, int], trees: dict[str, bytes]) -> str:
    """Add the trees of these files to `trees`, and return the id of the root tree.

    `files` maps each path to a number that stands for the file's content.
    """
    below: dict[str, dict[str, int]] = {}
    entries = list[tuple[str, str, str]]()
    for path, number in files.items():
        folder, _, rest = path.partition("/")
        if rest:
            below.setdefault(folder, {})[rest] = number
        else:
            entries.append((path, "100644", f"{number:040x}"))
    entries += [(folder, "40000", read_stored(inside, trees)) for folder, inside in below.items()]
    raw = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(id_) for name, mode, id_ in sorted(entries))
    id_ = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    trees[id_] = raw
    return id_


PATHS = ["a", "b", "b c", "c", "d/a", "d/b", "d/e/a", "e/a", "e.py", *(f"many/{n}" for n in range(60))]


def choose() -> st.SearchStrategy[dict[str, int]]:
    """Return a strategy for mappings of paths to content numbers.

    The same path can be a file in one mapping and a folder in another.
    """
    some = st.dictionaries(st.sampled_from(PATHS), st.integers(0, 2))
    return st.builds(
        lambda files, folder: {f"a/{folder}" if path == "a" and folder else path: n for path, n in files.items()},
        some,
        st.sampled_from(["", "x"]),
    )


@given(choose(), choose())
def test_a_listing_by_what_differs_is_the_whole_listing(before: dict[str, int], after: dict[str, int]) -> None:
    trees: dict[str, bytes] = {}
    old, new = read_stored(before, trees), read_stored(after, trees)
    listed = list_files(old, trees.__getitem__).patch(differing(old, new, trees.__getitem__))
    assert list(listed.items()) == [(path, Record("100644", f"{after[path]:040x}")) for path in sorted(after)]
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert differing(old, new, trees.__getitem__).keys() == changed


HAND_MADE = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 2)), max_size=6).map(
    lambda tree: b"".join(b"100644 %s\0" % name.encode() + number.to_bytes(20, "big") for name, number in tree)
)


@given(HAND_MADE, HAND_MADE)
def test_hand_made_trees_in_any_order_differ_as_they_are_listed(before: bytes, after: bytes) -> None:
    load = {"1" * 40: before, "2" * 40: after}.__getitem__
    old, new = (list_files(number * 40, load) for number in "12")
    differ = differing("1" * 40, "2" * 40, load)
    assert old.patch(differ) == new
    assert differ.keys() == {name for name in {*old, *new} if old.get(name) != new.get(name)}


def test_only_the_folders_around_a_difference_are_read() -> None:
    trees: dict[str, bytes] = {}
    files = {f"{folder}/{name}": 1 for folder in range(20) for name in range(20)}
    old, new = read_stored(files, trees), read_stored({**files, "7/7": 2, "7/70": 1}, trees)
    read = list[str]()

    def load(id_: str) -> bytes:
        read.append(id_)
        return trees[id_]

    assert differing(old, new, load).keys() == {"7/7", "7/70"}
    assert len(read) == 4


def test_a_commit_is_read_and_written_alike() -> None:
    raw = b"tree 1\nparent 2\nparent 3\nauthor A <a> 5 +0200\ncommitter C <c> 7 +0000\n\nSubject\n\nBody\n"
    commit = parse_commit(raw)
    assert (commit.tree, commit.parents, commit.message) == ("1", ("2", "3"), b"Subject\n\nBody\n")
    assert commit.encode() == raw
    assert commit.committed_at == datetime.fromtimestamp(7, UTC)
    signed = raw.replace(b"committer", b"gpgsig -----\n more\ncommitter")
    assert parse_commit(signed).encode() == raw


@given(st.text(), st.text())
def test_no_name_breaks_an_authors_line(name: str, email: str) -> None:
    line = person(name, email, datetime(2026, 3, 1, tzinfo=UTC)).decode()
    assert line.count("<") == line.count(">") == 1
    assert line.endswith("> 1772323200 +0000")
    assert "\n" not in line


BEFORE = {"a.py": Record("100644", blob_id(b"1", "sha1")), "d/x.py": Record("100755", "0" * 40)}


@given(st.dictionaries(st.text(max_size=12), st.none() | st.text(max_size=5), max_size=4))
def test_only_names_that_may_be_written_become_edits(change: dict[str, str | None]) -> None:
    try:
        edits = edits_for(change, BEFORE)
    except GitError:
        return
    assert not any(path_fault(edit.path) for edit in edits)
    assert {edit.path for edit in edits} <= change.keys()


@pytest.mark.parametrize("change", [{"d": "x"}, {"a.py/x": "x"}, {"n": "x", "n/m": "y"}])
def test_files_and_folders_may_not_be_mixed_up(change: dict[str, str]) -> None:
    with pytest.raises(GitError):
        edits_for(change, BEFORE)


@pytest.mark.parametrize(
    ("change", "clash"),
    [
        ({"pkg/B.py": "x"}, "pkg/b.py"),
        ({"n.py": "x", "N.py": "x"}, "N.py"),
    ],
)
def test_a_new_file_that_some_file_systems_take_for_another_is_refused(change: dict[str, str], clash: str) -> None:
    before = {"a.py": Record("100644", "1" * 40), "pkg/b.py": Record("100644", "2" * 40)}
    with pytest.raises(GitError, match=f"do not distinguish it from '{clash}"):
        edits_for(change, before)
    assert edits_for({"A.py": "x", "a.py": None}, before), "a new spelling may take the place of the old one"
