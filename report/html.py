"""The document as one HTML file that needs nothing else: no script, no host, no font.

The template escapes all that it is given; texts are made printable first, so that no control character, terminal escape
or change of writing direction of theirs reaches the page.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING

from core.masking import printable
from report import plots
from report.document import Page, Series

if TYPE_CHECKING:
    from jinja2 import Template


def render(page: Page) -> str:
    """The document as HTML, ending with a newline."""
    return _template().render(page=page)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  cli.py --status needs none of it

    found = Environment(
        loader=PackageLoader("report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["spaced"] = _spaced
    found.filters["plot"] = lambda series: plots.plot(_visible(series))
    found.filters["segments"] = plots.segments
    found.globals["size"] = {"width": plots.WIDTH, "height": plots.HEIGHT, "stack": plots.STACK_WIDTH}
    return found.get_template("report.html")


def _spaced(text: str) -> str:
    """A text without anything that is no character to be seen, on one line; a space at an end stays one."""
    flat = " ".join(printable(text).split())
    before, after = (" " if edge.isspace() else "" for edge in (text[:1], text[-1:]))
    return f"{before}{flat}{after}" if flat else " " * bool(text)


def _visible(series: Series) -> Series:
    shown, labels = [_spaced(text) for text in series.shown], [_spaced(text) for text in series.labels]
    return dataclasses.replace(series, name=_spaced(series.name), shown=shown, labels=labels)
