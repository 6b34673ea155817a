from __future__ import annotations

import pytest

from server.shown import duration, first_line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.34, "340 ms"),
        (12.34, "12.3 s"),
        (59.99, "60.0 s"),
        (245, "4 min 5 s"),
        (12_000, "3 h 20 min"),
        (187_200, "2 d 4 h"),
    ],
)
def test_seconds_are_told_as_people_say_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_the_first_line_that_says_something_is_cut_to_a_length() -> None:
    assert first_line("\n\n  Do this \nthen that") == "Do this"
    assert first_line("") == ""
    assert first_line("x" * 200) == "x" * 139 + "…"
