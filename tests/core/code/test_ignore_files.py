"""Nightshift ignores the same paths as git, whatever the ignore files contain."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from nightshift.core.code.ignore_files import IgnoreRules
from tests.support import tiers

NAMES = st.sampled_from(["a", "b", "ab", "a.b", "dist", ".env", "[a]", "a b", "x-y", "!a", "#a", "a*"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PIECES = st.sampled_from([
    "a", "b", "ab", "*", "?", "**", "/", "/", "dist", ".env", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a", "\\*",
    "\\", "a b", " ", "!", "#", ".", "[[:alpha:]]", "[[:nope:]]", "[\\]a]", "[a-]", "[c-a]", "[[]",
])  # fmt: skip
# git 2.39 compares two unrelated pointers where `**` follows a character and ends a segment, as in `a**/b`.
LINES = st.lists(PIECES, min_size=1, max_size=6).map("".join).filter(lambda line: not re.search(r"[^/]\*\*(/|$)", line))
FILES = st.lists(LINES, max_size=5).map("\n".join)


def by_git(files: Mapping[str, str], paths: Sequence[str]) -> set[str]:
    """Return the paths that git reports as ignored."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text)
        command = ["git", "-C", folder, "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"]
        given_in = "\0".join(paths).encode()
        result = subprocess.run(command, input=given_in, capture_output=True, check=False)
    assert result.returncode in {0, 1}, result.stderr
    return set(result.stdout.decode().rstrip("\0").split("\0")) - {""}


@settings(max_examples=tiers.examples(400), deadline=None)
@given(FILES, st.dictionaries(PATHS, FILES, max_size=2), st.lists(PATHS, min_size=1, max_size=12, unique=True))
@example("a/**", {}, ["a", "a/b"])
@example("**/a", {}, ["a", "b/a"])
@example("*\n!*/\n!a", {}, ["a", "b", "ab/a"])
@example("dist", {"a": "!dist"}, ["a/dist", "dist"])
def test_it_is_what_git_says(top: str, below: Mapping[str, str], paths: list[str]) -> None:
    files = {".gitignore": top, **{f"{folder}/.gitignore": text for folder, text in below.items()}}
    paths = [path for path in paths if not any(f"{folder}/".startswith(f"{path}/") for folder in below)]
    assert {path for path in paths if IgnoreRules(files).ignore(path)} == by_git(files, paths)


def test_a_file_that_is_read_later_counts_from_then_on() -> None:
    rules = IgnoreRules({".gitignore": "out\n"})
    assert not rules.ignore("web/dist/a")
    rules.add("web/.gitignore", "dist\n!out\n")
    assert rules.ignore("web/dist/a")
    assert (rules.ignore("web/out"), rules.ignore("out")) == (False, True)


def test_a_hostile_pattern_takes_no_time() -> None:
    rules = IgnoreRules({".gitignore": "\n".join(["*a" * 60 + "b", "**/" * 60 + "z", "[" * 5000])})
    assert not rules.ignore("/".join(["a" * 200] * 10))
