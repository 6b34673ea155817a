"""The Markdown of a report as HTML: its sections, tables that scroll, plots as SVG, and commands that can be copied.

It reads what `markdown` wrote, so reports of earlier versions, of which the Markdown is always there, are shown alike.
Nothing in a report is a link, a picture or HTML, and none is read from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from nightshift.report import plots
from nightshift.report.elements import Element, Node, element, written
from nightshift.report.plots import Series

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

_TEMPLATES = Path(__file__).parent / "templates"
_COMMANDS = frozenset({"look again: ", "keep: ", "revert: "})
_RANK = re.compile(r"\*\*\d+ points\*\* \((high|medium|low)\)(?: · (read|reverted|taken back) ·)?")
_NAMES = {
    "Commits worth reading": "reading",
    "Git activity": "commits",
    "Commonest failures": "failures",
    "Does memory help?": "memory",
    "Sandbox and approvals": "guards",
    "The daemon": "daemon",
}
"""Anchors of sections that are not called as their titles are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the report with a heading; `name` is its anchor."""

    name: str
    title: str
    body: Sequence[Element]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The whole report; `lead` is what stands before the first section: the week in short."""

    title: str
    span: str
    lead: Sequence[Element]
    sections: Sequence[Section]


def read(markdown: str, trend: Sequence[Series] = ()) -> Document:
    """The document that a Markdown text holds; `trend` is drawn in the place of its row of bars."""
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415  only a report needs it

    head: list[SyntaxTreeNode] = []
    sections: list[tuple[str, list[SyntaxTreeNode]]] = []
    for block in SyntaxTreeNode(_reader().parse(markdown)).children:
        if block.type == "heading" and block.tag == "h2":
            sections.append((_text(block), []))
        else:
            (sections[-1][1] if sections else head).append(block)
    title, span = ([*map(_text, head[:2]), "", ""])[:2]
    return Document(
        title=title,
        span=span,
        lead=[each for block in head[2:] for each in (_glance(block) if block.type == "table" else _blocks([block]))],
        sections=[_section(*each, trend) for each in sections],
    )


def render(markdown: str, trend: Sequence[Series] = ()) -> str:
    """The report as one HTML file that needs nothing else: no script, no host, no font."""
    found = read(markdown, trend)
    links = [element("li", element("a", section.title, href=f"#{section.name}")) for section in found.sections]
    head = element("header", element("h1", found.title), element("p", found.span, class_="span"), *found.lead)
    parts = [
        element("section", element("h2", each.title, id=f"h-{each.name}"), *each.body, id=each.name,
                aria_labelledby=f"h-{each.name}")
        for each in found.sections
    ]  # fmt: skip
    main = element("main", head, element("nav", element("ul", *links), aria_label="Sections"), *parts)
    page = Template((_TEMPLATES / "report.html").read_text(encoding="utf-8"))
    style = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    return page.substitute(title=escape(found.title), style=style, main=written(main))


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  as above

    unwanted = ["link", "image", "autolink", "reference", "code", "html_block", "html_inline"]
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(unwanted)


def _section(title: str, blocks: Sequence[SyntaxTreeNode], trend: Sequence[Series]) -> Section:
    name, body = _NAMES.get(title) or "-".join(re.findall(r"[a-z0-9]+", title.lower())), _blocks(blocks)
    if name == "trends" and trend:
        tables = [at for at, block in enumerate(blocks) if block.type == "table"]
        body[tables[0] : tables[0] + 1] = [plots.trend(trend)] * bool(tables)
    return Section(name=name, title=title, body=body)


def _glance(table: SyntaxTreeNode) -> list[Element]:
    """The figures for a glance, each with its name; the table has them in its only row."""
    rows = [[_text(cell) for cell in row.children] for part in table.children for row in part.children]
    pairs = zip(*rows[:2], strict=True) if len(rows) > 1 else ()
    return [element("dl", *(element("div", element("dt", one), element("dd", other)) for one, other in pairs),
                    class_="glance")]  # fmt: skip


def _blocks(blocks: Iterable[SyntaxTreeNode]) -> list[Element]:
    return [found for block in blocks for found in _nodes(block) if isinstance(found, Element)]


def _nodes(node: SyntaxTreeNode) -> Iterator[Node]:
    """Draw a node of the syntax tree; a node without a tag of its own is drawn as its content."""
    if node.type in {"text", "softbreak", "hardbreak"}:
        yield node.content if node.type == "text" else "\n"
    elif node.type in {"code_inline", "fence"}:
        yield element("code" if node.type == "code_inline" else "pre", node.content)
    elif node.type == "inline" or node.hidden:
        yield from _children(node)
    elif node.type == "paragraph" and (parts := _parts(node)):
        yield plots.stack(*parts)
    elif node.type == "table":
        label = ", ".join(filter(None, map(_text, node.children[0].children[0].children)))
        yield element("div", element("table", *_children(node)), class_="scroll", tabindex=0, role="region",
                      aria_label=label)  # fmt: skip
    else:
        kind = _kind(node)
        yield element(node.tag, *_children(node), **({"class": kind} if kind else {}))


def _children(node: SyntaxTreeNode) -> list[Node]:
    return [found for child in node.children for found in _nodes(child)]


def _kind(node: SyntaxTreeNode) -> str:
    """The class of an element, by what it says: a column of figures, a commit by its risk, a command."""
    if node.type in {"th", "td"}:
        return "number" if "right" in str(node.attrs.get("style")) else ""
    if node.type != "list_item" or not node.children or node.children[0].type != "paragraph":
        return ""
    pieces = _pieces(node.children[0])
    if [piece.type for piece in pieces] == ["text", "code_inline"] and pieces[0].content in _COMMANDS:
        return "command"
    rank = _RANK.match(node.children[0].children[0].content)
    return f"{rank[1]} settled" if rank and rank[2] else rank[1] if rank else ""


def _parts(paragraph: SyntaxTreeNode) -> tuple[str, list[plots.Part]] | None:
    """Title and parts where a paragraph is a bar with its legend."""
    pieces = _pieces(paragraph)
    if [piece.type for piece in pieces] != ["strong", "text", "code_inline", "text"]:
        return None
    return (_text(pieces[0]), plots.parts_of(pieces[3].content)) if plots.is_bar(pieces[2].content) else None


def _pieces(paragraph: SyntaxTreeNode) -> list[SyntaxTreeNode]:
    return [piece for piece in paragraph.children[0].children if piece.type != "text" or piece.content]


def _text(node: SyntaxTreeNode) -> str:
    """All that is said in a node, without marks."""
    return "".join(child.content for child in node.walk() if child.type in {"text", "code_inline"})
