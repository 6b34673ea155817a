"""Texts as Markdown in which they are nothing but texts.

A text becomes one line: printable (no terminal escapes, no bidirectional controls), and each character that Markdown,
its tables, autolinks, emoji or formulas could take for more than itself is escaped. What is Markdown already is
`Markup`, and stays as it is.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from nightshift.core.text.masking import printable

_MARKUP = re.compile(
    r"[\\`*\[\]<|~$]"  # escapes, code, emphasis, links, tags, tables, struck text, formulas
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # emphasis; within a word it is none
    r"|&(?=[#A-Za-z])|:(?=//)|:(?=[a-z_][\w+-]*:)|@(?=\w)"  # character references, links, emoji, mentions
    r"|(?<=www)\.",
    re.IGNORECASE,
)
_AT_START = re.compile(r"^(?:[#>]|[-+=](?![0-9A-Za-z])|(?P<digits>\d{1,9})(?P<dot>[.)])(?=\s|$))")
"""The beginning of a line that makes it a heading, a quotation, a list or a rule."""


def escape(text: object) -> Markup:
    """Any text as a line of Markdown that shows as it is."""
    if isinstance(text, Markup):
        return text
    inline = _MARKUP.sub(lambda match: "\\" + match[0], _flat(str(text)))
    return Markup(_AT_START.sub(_guard, inline))  # noqa: S704  it is Markdown, and escaped as such


def code(text: str, *, in_table: bool = False) -> Markup:
    """Any text as a code span that shows as it is; the fence is longer than any run of backticks in it."""
    flat = _flat(text)
    if not flat:
        return Markup()
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    span = f"{fence}{space}{flat}{space}{fence}"
    return Markup(span.replace("|", "\\|") if in_table else span)  # noqa: S704  as above


def sentence(form: str, *values: object) -> Markup:
    """Markdown of ours with values in the place of its `{}`, each escaped unless it is Markdown itself."""
    return Markup(form.format(*map(escape, values)))  # noqa: S704  as above


def _flat(text: str) -> str:
    return " ".join(printable(text).split())


def _guard(match: re.Match[str]) -> str:
    return f"{match['digits']}\\{match['dot']}" if match["dot"] else f"\\{match[0]}"
