"""Poor words are told from good ones, and a reply is taken as text or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.report.benchmark.wording import MOST_CHARS, MOST_CHARS_SHOWN, is_poor, prompt_of, read


@pytest.mark.parametrize(
    ("message", "poor"),
    [
        ("Fix", True),
        ("fix #123 (!)", True),
        ("wip: price, again\n\nSigned-off-by: A Very Long Name <a@b.c>", True),
        ("Take the tax off the price of books", False),
        ("Fix\n\nThe tax of books is 7 and not 19 per cent.", False),
    ],
)
def test_words_are_poor_where_they_are_few(message: str, poor: bool) -> None:
    assert is_poor(message) is poor


def test_a_prompt_has_message_change_and_tests_none_of_them_without_end() -> None:
    prompt = prompt_of("Fix", {"price.py": "NET = 2\n", "old.py": None}, {"price.py": "NET = 1\n", "old.py": "x\n"},
                       {"test_price.py": "assert NET == 2\n" * 100_000})  # fmt: skip
    for text in ("Fix", "-NET = 1", "+NET = 2", "-x", "# test_price.py"):
        assert text in prompt
    assert len(prompt) < 2 * MOST_CHARS_SHOWN


def test_the_fence_around_a_reply_is_no_part_of_it() -> None:
    words = "net() takes the tax off the price of a book."
    assert read(f"```text\n{words}\n```\n") == words


@given(st.text() | st.text(min_size=MOST_CHARS))
def test_a_reply_is_words_or_nothing(reply: str) -> None:
    words = read(reply)
    assert words == words.strip()
    assert not words or (len(words) <= MOST_CHARS and not is_poor(words))
