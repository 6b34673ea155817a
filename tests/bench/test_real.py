"""What `bench/real.py` sends and leaves out."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import functions_of_tests as functions
from bench.bare_pytest import Checkout, git
from bench.real import Case, Reader, edits
from nightshift.agent.replies import edits as read
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager

TESTS = """import pytest


def helper():
    return 1


@pytest.mark.parametrize("n", [1, 2])
def test_one(n):
    assert n


class TestIt:
    name = "it"

    def test_two(self):
        assert self.name


class TestOther:
    def test_three(self):
        assert helper()
"""
line = st.sampled_from(["a\n", "b\n", "    c\n", "=======\n", "\n", "d\n", "e = 1\n"])


@given(st.lists(line, min_size=1).map("".join), st.lists(line, min_size=1).map("".join))
def test_edits_make_the_one_text_of_the_other(was: str, text: str) -> None:
    for section in read.sections(edits(was, text)):
        assert not section.fault
        assert was.count(section.search) == 1
        was = was.replace(section.search, section.replace)
    assert was == text


def test_a_test_function_is_left_out_with_its_decorators_and_an_empty_class() -> None:
    left = functions.without(TESTS, {"test_one", "TestOther::test_three"})
    assert functions.names(left) == {"TestIt::test_two"}
    assert "parametrize" not in left
    assert "TestOther" not in left
    assert "def helper" in left


def test_a_class_that_holds_more_than_tests_stays() -> None:
    assert 'name = "it"' in functions.only(TESTS, {"test_one"})


def test_helpers_that_only_other_tests_use_go_with_them() -> None:
    text = f"{TESTS}\n\ndef inner():\n    return 2\n\n\ndef outer():\n    return inner()\n\n\n"
    text += "@fixture(autouse=True)\ndef each():\n    pass\n\n\ndef test_four(outer):\n    assert outer\n"
    left = functions.only(text, {"test_one"})
    assert not any(name in left for name in ("helper", "inner", "outer"))
    assert "def each" in left
    kept = functions.only(text, {"test_four", "TestOther::test_three"})
    assert all(f"def {name}" in kept for name in ("helper", "inner", "outer"))


def test_tests_are_exchanged_for_another_versions_and_what_it_lacks_goes() -> None:
    other = """class TestIt:
    @mark
    def test_two(self):
        assert not self.name
"""
    text = functions.exchanged(TESTS, other, {"TestIt::test_two", "test_one"})
    assert "parametrize" not in text
    assert "    @mark\n    def test_two(self):\n        assert not self.name\n" in text
    others = {"TestOther::test_three"}
    assert functions.only(text, others) == functions.only(TESTS, others)


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ("assert area(2, 3) == 6\n    assert area(1, 7) == 7", ""),
        ("assert isinstance(area(2, 3), int)", "they notice"),
    ],
)
def test_tests_that_bare_pytest_finds_worthless_are_not_sent_as_right_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], checks: str, why: str
) -> None:
    repo = tmp_path / "shop"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    test = f"from area import area\n\n\ndef test_area():\n    {checks}\n"
    for body in ("raise NotImplementedError", "size = width * height\n    return size + 0"):
        (repo / "area.py").write_text(f"def area(width, height):\n    {body}\n")
        (repo / "test_area.py").write_text(test)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "Work")
    trees = GitManager(workspace=tmp_path / "ours", author=Author(), auto_push=False, emit=lambda _event: None)
    checkout = Checkout(repo, tmp_path / "tree", Path(sys.executable))
    try:
        case = Reader(repo, checkout, trees, random.Random(1), 0.0).case(
            "shop 0", {"commit": "HEAD", "description": "x"}
        )
    finally:
        trees.close()
    assert isinstance(case, Case)
    assert list(case.own) == ([] if why else ["test_area_shop_0.py"])
    assert f"has no tests to write: {why}" in capsys.readouterr().out if why else not capsys.readouterr().out


def test_parameters_are_no_part_of_a_bare_id() -> None:
    assert functions.bare_id("tests/test_a.py::TestIt::test_two[a::b]") == "tests/test_a.py::TestIt::test_two"


def test_a_class_that_others_inherit_from_keeps_its_tests() -> None:
    shared = "class Shared:\n    def test_all(self):\n        assert self.it\n\n\n"
    text = f"{shared}class TestOne(Shared):\n    it = 1\n\n    def test_one(self):\n        assert self.it == 1\n"
    assert functions.only(text, {"TestOne::test_one"}) == text
