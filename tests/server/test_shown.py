from __future__ import annotations

import pytest
from flask import Flask, render_template_string

from core.masking import Masker
from server.shown import duration, first_line, register


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


def test_a_page_shows_neither_secrets_nor_what_a_reader_would_obey_nor_markup() -> None:
    app = Flask(__name__)
    register(app, Masker(["hunter2-secret"]))
    text = "say hunter2-secret \x1b]0;x\x07 \u202e <b>"
    with app.app_context():
        page = render_template_string("{{ text | shown }}|{{ text | first_line }}", text=text)
    shown = "say *** \\x1b]0;x\\x07 \\u{202e} &lt;b&gt;"
    assert page == f"{shown}|{shown}"
