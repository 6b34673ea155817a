"""Tests of page_count() and page()."""

from examples.pages import page, page_count

LETTERS = ["a", "b", "c", "d", "e"]


def test_first_page() -> None:
    """It begins with the first item."""
    assert page(LETTERS, 1, 2) == ["a", "b"]


def test_last_page() -> None:
    """It may be short."""
    assert page(LETTERS, 3, 2) == ["e"]


def test_beyond_the_last() -> None:
    """There is nothing."""
    assert page(LETTERS, 4, 2) == []


def test_page_count() -> None:
    """A short page counts too."""
    assert page_count(LETTERS, 2) == 3
    assert page_count(LETTERS[:4], 2) == 2
    assert page_count([], 2) == 0
