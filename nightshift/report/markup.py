"""Escapes texts for Markdown, so that they are shown literally and have no other effect.

A text becomes one printable line (no terminal escapes, no bidirectional controls). Every character that Markdown, its
tables, autolinks, emoji or formulas could interpret is escaped. Text that already is Markdown has the type `Markup` and
stays unchanged.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from nightshift.core.text.masking import printable

_MARKUP = re.compile(
    r"[\\`*\[\]<|~$]"  # code, emphasis, links, tags, tables, strikethrough, formulas and escapes
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # underscores outside words, which can begin or end emphasis
    r"|&(?=[#A-Za-z])|:(?=//)|:(?=[a-z_][\w+-]*:)|@(?=\w)"  # character references, links, emoji, mentions
    r"|(?<=www)\.",
    re.IGNORECASE,
)
_AT_START = re.compile(r"^(?:[#>]|[-+=](?![0-9A-Za-z])|(?P<digits>\d{1,9})(?P<dot>[.)])(?=\s|$))")
"""Matches a line start that would turn the line into a heading, a quotation, a list or a rule."""


def escape(text: object) -> Markup:
    """Escape any text as one line of Markdown that shows it literally."""
    if isinstance(text, Markup):
        return text
    inline = _MARKUP.sub(lambda match: "\\" + match[0], _flat(str(text)))
    return Markup(_AT_START.sub(_guard, inline))  # noqa: S704  escaped as Markdown


def code(text: str, *, in_table: bool = False) -> Markup:
    """Return any text as a code span that shows it literally.

    The fence is longer than any run of backticks in the text.
    """
    flat = _flat(text)
    if not flat:
        return Markup()
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    span = f"{fence}{space}{flat}{space}{fence}"
    return Markup(span.replace("|", "\\|") if in_table else span)  # noqa: S704  as above


def sentence(form: str, *values: object) -> Markup:
    """Fill the `{}` in a Markdown text of the program with values; a value is escaped unless it already is `Markup`."""
    return Markup(form.format(*map(escape, values)))  # noqa: S704  as above


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _guard(match: re.Match[str]) -> str:
    return f"{match['digits']}\\{match['dot']}" if match["dot"] else f"\\{match[0]}"
