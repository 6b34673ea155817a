"""Accepted paths name exactly one file inside the tree, for git, Linux and case-insensitive file systems."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.code.paths import Spellings, clash_among, path_fault
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
    "a.py", ".gitignore", "docs/.gitkeep", "Makefile", ".env.example",
    ".github/workflows/ci.yml", ".github/CODEOWNERS", "gitignore", "x" * 200,
    "日本.py", "u\u0308.py",
]  # fmt: skip


@pytest.mark.parametrize("path", DANGEROUS)
def test_dangerous_paths_are_refused(path: str) -> None:
    assert path_fault(path)


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_paths_pass(path: str) -> None:
    assert path_fault(path) is None


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


@given(st.lists(st.sampled_from(["a", "A", "b", "a/a", "A/b", "a/b/c", "B/a", "b/A/a"]), unique=True, max_size=6))
def test_what_does_not_clash_can_be_written_where_case_is_ignored(paths: list[str]) -> None:
    files = {path.lower() for path in paths}
    folders = {"/".join(path.lower().split("/")[:n]) for path in paths for n in range(1, path.count("/") + 1)}
    apart = len(files) == len(paths) and not files & folders
    assert (clash_among(paths) is None) == apart
