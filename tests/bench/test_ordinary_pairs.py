"""The reader of the corpus of ordinary code changes, and the form that the corpus must have."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import ordinary
from nightshift.core.tasks.task import Language

ONE = """=== adds: shop/add.py, tests/test_add.py
from shop.add import add

def test_add():
    assert add(1, 2) == 3
--- right
def add(a, b):
    return a + b
--- wrong
-    return a + b
+    return a - b
--- wrong
def add(a, b):
    return 3
--- also shop/__init__.py

--- beside tests/samples.py
NUMBERS = [1]
--- base README.md
Shop.
--- packages numpy attrs
"""


def test_a_pair_is_read_with_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(ONE)
    (pair,) = ordinary.pairs(tmp_path)
    assert (pair.name, pair.path, pair.language) == ("adds", "shop/add.py", Language.PYTHON)
    assert pair.wrong == ("def add(a, b):\n    return a - b\n", "def add(a, b):\n    return 3\n")
    assert pair.change(pair.right) == {"shop/add.py": "def add(a, b):\n    return a + b\n", "shop/__init__.py": "\n"}
    assert set(pair.given) == {"tests/test_add.py", "tests/samples.py"}
    assert pair.base == {"README.md": "Shop.\n"}
    assert pair.packages == ("numpy", "attrs")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-    return a + b", "-    return a * b", "stands 0 times"),
        ("-    return a + b", "-a", "stands 0 times"),
        ("--- right", "--- also x.py", "has 0 right answers"),
    ],
)
def test_what_breaks_the_form_is_refused_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "one.txt").write_text(ONE.replace(old, new))
    with pytest.raises(ValueError, match=rf"one\.txt, 'adds: .*{message}"):
        ordinary.pairs(tmp_path)


def test_two_pairs_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(f"{ONE}\n{ONE}")
    with pytest.raises(ValueError, match="two pairs are called 'adds'"):
        ordinary.pairs(tmp_path)


def test_the_corpus_is_large_and_its_wrong_answers_are_others() -> None:
    pairs = ordinary.pairs()
    assert sum(pair.language is Language.PYTHON for pair in pairs) >= 150
    assert sum(pair.language is Language.JAVASCRIPT for pair in pairs) >= 30
    for pair in pairs:
        assert pair.wrong, pair.name
        assert pair.right not in pair.wrong, pair.name
        assert pair.path not in {**pair.given, **pair.also}, pair.name


def test_no_file_of_the_corpus_is_long() -> None:
    assert all(path.read_text().count("\n") <= 300 for path in ordinary.FOLDER.glob("*.txt"))
