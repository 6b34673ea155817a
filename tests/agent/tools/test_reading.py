"""The read-only tools return files, matches and lines up to a limit, and state how many they omitted."""

from __future__ import annotations

from typing import Any

import pytest

from nightshift.agent.tools import arguments, reading
from nightshift.agent.tools.corpus import CorpusCache
from nightshift.agent.view import View
from nightshift.core.errors import BadReply
from tests.support.trees import TextTree

FILES = {
    "README.md": "# Shop\n", "shop/__init__.py": "",
    "shop/cart.py": "RATE = 0.2\n\n\nclass Cart:\n    def total(self):\n        return 1  # RATE\n",
    "shop/web/routes.ts": "export const rate = 1;\n", "tests/test_cart.py": "from shop.cart import RATE\n",
}  # fmt: skip


def view(change: dict[str, str | None] | None = None, files: dict[str, str] | None = None) -> View:
    return View(TextTree(FILES if files is None else files), change or {})


def list_all(seen: View | None = None, **asked: Any) -> list[str]:
    return reading.list_files(seen or view(), arguments.ListFiles(**asked)).split("\n")


def search(seen: View | None = None, **asked: Any) -> list[str]:
    return reading.search(seen or view(), CorpusCache(), arguments.Search(**asked)).split("\n")


def read(seen: View | None = None, most_chars: int = 8000, **asked: Any) -> list[str]:
    return reading.read_file(seen or view(), arguments.ReadFile(**asked), most_chars=most_chars).split("\n")


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.py", ["shop/__init__.py", "shop/cart.py", "tests/test_cart.py"]),
        ("**/routes.ts", ["shop/web/routes.ts"]), ("shop/**/*.{ts,tsx}", ["shop/web/routes.ts"]), ("[!R]*.md", None),
    ],
)  # fmt: skip
def test_a_glob_is_about_names_or_whole_paths(glob: str, paths: list[str] | None) -> None:
    expected = (
        [*paths, f"({len(paths)} file{'s' if len(paths) != 1 else ''})"] if paths else [f"No file matches {glob}."]
    )
    assert list_all(glob=glob) == expected


def test_a_large_folder_is_counted() -> None:
    many = {f"src/p{n % 7}/m{n}.py": "" for n in range(500)} | {"src/top.py": ""}
    lines = list_all(view(files=many), path="src")
    assert "src/p0/ (72 files)" in lines
    assert "src/top.py" in lines
    assert lines[-1] == "(501 files; give a path or a glob to see names)"


def test_what_the_change_adds_and_removes_is_seen() -> None:
    seen = view({"new.py": "RATE\n", "shop/cart.py": None})
    assert "new.py" in list_all(seen)
    assert search(seen, pattern="RATE") == [
        "new.py:1: RATE",
        "tests/test_cart.py:1: from shop.cart import RATE",
        "(matches 1-2 of 2, in 2 files)",
    ]


def test_a_search_gives_lines_with_their_numbers_and_counts_them() -> None:
    assert search(pattern="RATE") == [
        "shop/cart.py:1: RATE = 0.2",
        "shop/cart.py:6:         return 1  # RATE",
        "tests/test_cart.py:1: from shop.cart import RATE",
        "(matches 1-3 of 3, in 2 files)",
    ]
    assert search(pattern="(?i)^export.*rate", glob="*.ts")[0] == "shop/web/routes.ts:1: export const rate = 1;"
    assert search(pattern="RATE", path="tests")[0].startswith("tests/")
    assert search(pattern="nowhere", path="shop", glob="*.py") == ["No line matches in shop and *.py."]


def test_a_search_has_pages_and_long_lines_are_cut() -> None:
    seen = view(files={"a.txt": "".join(f"hit {n}\n" for n in range(120)), "b.txt": "hit " + "x" * 900})
    lines = search(seen, pattern="hit", page=3)
    assert lines[0] == "a.txt:101: hit 100"
    assert "… (904 characters)" in lines[-2]
    assert lines[-1] == "(matches 101-121 of 121, in 2 files)"
    assert search(seen, pattern="hit")[-1] == "(matches 1-50 of 121, in 2 files; next page=2)"
    assert search(seen, pattern="hit", page=4) == ["Page 4 is empty: there are 121 matches, 50 a page."]


def test_a_pattern_that_is_none_is_explained() -> None:
    with pytest.raises(BadReply, match=r"search: pattern: missing \)"):
        search(pattern="total(")


def test_a_file_is_numbered_and_says_where_to_go_on() -> None:
    assert read(path="shop/cart.py", start=4, lines=2) == [
        "    4  class Cart:",
        "    5      def total(self):",
        "(shop/cart.py: lines 4-5 of 6; next start=6)",
    ]
    assert read(path="shop/cart.py")[-1] == "(shop/cart.py: lines 1-6 of 6)"
    assert read(path="shop/__init__.py") == ["shop/__init__.py is empty."]


def test_a_long_file_begins_with_its_outline() -> None:
    text = "import os\n\n\nclass A:\n    def go(self, x: int = 1) -> int:\n        return x\n" + "# filler\n" * 500
    lines = read(view(files={"long.py": text}), path="long.py")
    assert lines[0] == "long.py has 506 lines. Its outline, with line numbers; read what you need with start:"
    assert lines[1:] == ["    4  class A", "    5      def go(self, x: int=1) -> int"]
    assert read(view(files={"long.py": text}), path="long.py", start=1)[0] == "    1  import os"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("shop/carts.py", r"no file or folder shop/carts.py. Did you mean shop/cart.py"),
        ("zzz", r"There is no file or folder zzz\.$"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_its_neighbours(path: str, why: str) -> None:
    with pytest.raises(BadReply, match=why):
        read(path=path)
