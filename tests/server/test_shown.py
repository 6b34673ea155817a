from __future__ import annotations

from flask import Flask, render_template_string

from nightshift.core.text.masking import Masker
from nightshift.server.pages.frame import add_filter


def test_a_page_shows_neither_secrets_nor_what_a_reader_would_obey_nor_markup() -> None:
    app = Flask(__name__)
    add_filter(app, Masker(["hunter2-secret"]))
    text = "say hunter2-secret \x1b]0;x\x07 \u202e <b>"
    with app.app_context():
        page = render_template_string("{{ text | shown }}", text=text)
    assert page == "say *** \\x1b]0;x\\x07 \\u{202e} &lt;b&gt;"
