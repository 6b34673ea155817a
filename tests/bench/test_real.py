"""What `bench/real.py` sends and leaves out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.replies import edits as read
from bench import functions_of_tests as functions
from bench.real import edits

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


def test_parameters_are_no_part_of_a_bare_id() -> None:
    assert functions.bare_id("tests/test_a.py::TestIt::test_two[a::b]") == "tests/test_a.py::TestIt::test_two"


def test_a_class_that_others_inherit_from_keeps_its_tests() -> None:
    shared = "class Shared:\n    def test_all(self):\n        assert self.it\n\n\n"
    text = f"{shared}class TestOne(Shared):\n    it = 1\n\n    def test_one(self):\n        assert self.it == 1\n"
    assert functions.only(text, {"TestOne::test_one"}) == text
