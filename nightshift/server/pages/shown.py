"""How texts are written on the few pages that the server draws: a Jinja filter that masks and makes printable."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask

from nightshift.core.text.masking import printable


def register(app: Flask, mask: Callable[[str], str]) -> None:
    """Give the templates their filter.

    Args:
        app: the application.
        mask: takes secrets out of texts.
    """

    def shown(text: str, max_chars: int = 200_000) -> str:
        return printable(mask(text), max_chars=max_chars)

    app.jinja_env.filters["shown"] = shown
