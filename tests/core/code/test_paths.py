"""Accepted paths name exactly one file inside the tree, for git, Linux and case-insensitive file systems."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.code.paths import Spellings, at_or_below, clash_among, is_test_path, path_fault
from nightshift.sandbox.inside.files import put
from nightshift.sandbox.packing import pack
from tests.support import tiers

DANGEROUS = [
    "", "/x", "../x", "a/../b", "a/..", "a//b", "./a", "a/", "a\\b", "a\nb", "a\x00b", "a\x1b[2Jb", "-x", "~x", "a /b",
    "a.", "a. ", "x" * 500, "ü" * 120, "a/" * 30 + "b", "ａ\u202e.py", "a\ud800b", "\ufeffa", "a\u2028b",
    ".git", ".git/config", "a/.GIT/x", ".Git/hooks/pre-commit", "．git/config", ".ｇit/config", ".git\u200b/x",
    ".git\u200d", ".git ", ".git./x", ".git. ./x", ".git::$INDEX_ALLOCATION/x", ".git:x", "GIT~1/x", "git~1", "git~2",
    "git~1:x", "GI7EBA~1", "gitmod~1", ".gitmodules", ".gitattributes", ".GitModules", ".gitconfig", ".githooks/a",
    ".github ", ".github.", ".github:x/y",
]  # fmt: skip
ORDINARY = [
    "a.py", "src/pkg/__init__.py", ".gitignore", "docs/.gitkeep", "docs/ü.md", "Makefile", "a b.txt", ".env.example",
    ".github/workflows/ci.yml", ".github/CODEOWNERS", ".gitlab-ci.yml", "gitignore", "digit~1.txt", "x" * 200,
    "日本.py", "u\u0308.py",
]  # fmt: skip


@pytest.mark.parametrize("path", DANGEROUS)
def test_dangerous_paths_are_refused(path: str) -> None:
    assert path_fault(path)


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_paths_pass(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.parametrize(
    ("path", "is_test"),
    [("test_a.py", True), ("a/b_test.py", True), ("conftest.py", True), ("a.test.js", True), ("a.spec.mjs", True),
     ("testing.py", False), ("latest.py", False), ("contest.js", False)],
)  # fmt: skip
def test_test_files_are_known_by_their_names(path: str, is_test: bool) -> None:
    assert is_test_path(path) is is_test


PIECES = [
    *(".", "..", "/", "\\", "~", "~1", ":", " ", "-", "git", "GIT", "ＧＩＴ", "hub", "modules", "a", "Ü", "ß", "İ"),
    *("\u200c", "\u202e", "\u0301", "\ufeff", "\u00ad", "\x7f", "\n", "::$INDEX_ALLOCATION", "gi7eba", "日"),
]  # fmt: skip
names = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), min_size=1, max_size=8).map("".join)


@contextmanager
def fresh_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@settings(deadline=None, max_examples=tiers.examples(400))
@given(names)
def test_whatever_passes_is_written_inside_the_folder_and_found_under_the_same_name(path: str) -> None:
    if path_fault(path):
        return
    assert pack([(path, b"x")]).digests.keys() == {path}
    with fresh_folder() as folder:
        with contextlib.chdir(folder):
            put(path, b"x", {""})
        assert (folder / path).resolve() == folder.resolve() / path
        assert [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()] == [path]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    return folder


def accept_by_git(folder: Path, path: str) -> bool:
    """Return True if git adds a path to an index while git's protections for all systems are on."""
    (folder / "index").unlink(missing_ok=True)
    git = ["git", "-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "--git-dir", str(folder)]
    blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    line = f"100644 {blob}\t".encode() + path.encode("utf-8", "surrogatepass") + b"\0"
    subprocess.run([*git, "update-index", "-z", "--index-info"], input=line, check=False, capture_output=True)
    listed = subprocess.run([*git, "ls-files", "-z"], check=True, capture_output=True).stdout
    return os.fsdecode(listed) == path + "\0"


@settings(deadline=None, max_examples=tiers.examples(60))
@given(path=names)
def test_git_accepts_whatever_passes(bare: Path, path: str) -> None:
    assert path_fault(path) or accept_by_git(bare, path)


@pytest.mark.parametrize("path", [".git/config", "a/.GIT/x", ".git\u200d/x", ".git./x", "GIT~1/x", "git~1:x/y"])
def test_git_is_a_judge_that_can_refuse(bare: Path, path: str) -> None:
    assert not accept_by_git(bare, path)


@pytest.mark.parametrize(
    ("there", "new", "other"),
    [
        ("Foo.py", "foo.py", "Foo.py"), ("a/Straße.py", "A/STRASSE.py", "a/Straße.py"), ("a", "a/b", "a"),
        ("A", "a/b/c", "A"), ("a/b/c", "A", "a/b/c"), ("a/b/c", "a/B", "a/b/c"), ("a/b", "a/b", None),
        ("Docs/a.md", "docs/b.md", None), ("ab", "a", None),
    ],
)  # fmt: skip
def test_two_files_that_some_file_system_cannot_hold_apart_clash(there: str, new: str, other: str | None) -> None:
    assert Spellings([there]).clash(new) == other
    assert clash_among([there, new]) == ((new, other) if other else None)


def test_paths_at_or_below_a_place_are_found() -> None:
    assert at_or_below(["a.py", "link/x/y.py"], {"link"}) == ("link/x/y.py", "link")
    assert at_or_below(["link"], {"link"}) == ("link", "link")
    assert at_or_below(["linked/x.py", "x/link"], {"link"}) is None
    assert at_or_below(["a"], ()) is None


@given(st.lists(st.sampled_from(["a", "A", "b", "a/a", "A/b", "a/b/c", "B/a", "b/A/a"]), unique=True, max_size=6))
def test_what_does_not_clash_can_be_written_where_case_is_ignored(paths: list[str]) -> None:
    files = {path.lower() for path in paths}
    folders = {"/".join(path.lower().split("/")[:n]) for path in paths for n in range(1, path.count("/") + 1)}
    apart = len(files) == len(paths) and not files & folders
    assert (clash_among(paths) is None) == apart
