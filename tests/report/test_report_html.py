"""The HTML: whatever a text holds, the page has our own elements, that text, and nothing from elsewhere."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from html.parser import HTMLParser

from hypothesis import given, settings

from core.masking import printable
from report import html
from report.document import (
    Block,
    Bullets,
    Entries,
    Entry,
    Fact,
    Page,
    Paragraph,
    Part,
    Piece,
    Section,
    Series,
    Stack,
    Style,
    Table,
    Trend,
    code,
    dim,
    line,
    strong,
)
from tests.support.hostile_words import hostile_texts

VOID = {"meta"}
ELEMENTS = frozenset({
    "html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "h1", "h2", "p", "span",
    "strong", "code", "ul", "ol", "li", "a", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th",
    "td", "figure", "figcaption", "svg", "desc", "rect", "circle", "line", "polyline", "i", "b",
})  # fmt: skip
ATTRIBUTES = frozenset({
    "lang", "charset", "name", "content", "http-equiv", "id", "class", "href", "scope", "role", "tabindex",
    "aria-label", "aria-labelledby", "viewbox", "preserveaspectratio", "x", "y", "width", "height", "x1", "x2", "y1",
    "y2", "cx", "cy", "r", "points",
})  # fmt: skip


@dataclass
class Found(HTMLParser):
    """A page as a browser takes it apart."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def flat(text: str) -> str:
    return " ".join(printable(text).split())


def full(text: str) -> Page:
    """A page in which a text stands wherever one can."""
    series = Series(
        name=text, values=[1, None, 2], shown=[text] * 3, labels=[text] * 3, bars=True, usual=text, change=text
    )
    styles = [Piece(text, style) for style in Style]
    blocks: list[Block] = [
        Paragraph(text=tuple(styles), aside=True),
        Bullets(items=[line(text, code(text))]),
        Table(head=(text, text), rows=[[line(text), line(strong(text))]], numbers=frozenset({1}), title=text),
        Stack(title=text, parts=[Part(name=text, count=1), Part(name=text, count=2, style=Style.BAD)]),
        Trend(series=[series, Series(name=text, values=[1, 2], shown=[text] * 2, labels=[text] * 2)]),
        Entries(items=[Entry(head=line(text), style=Style.BAD, lines=[line(dim(text))], commands=[(text, text)])]),
    ]
    sections = [Section(name=name, title=text, blocks=blocks) for name in ("one", "two")]
    return Page(
        title=text,
        span=text,
        lead=[line(text)],
        facts=[Fact(name=text, shown=text)],
        advice=[line(text)],
        sections=sections,
    )


def parsed(written: str) -> Found:
    found = Found()
    found.feed(written)
    found.close()
    assert not found.open
    return found


@settings(deadline=None)
@given(hostile_texts.filter(flat))
def test_a_text_stays_a_text(text: str) -> None:
    written = html.render(full(text))
    found = parsed(written)
    assert {tag for tag, _ in found.tags} <= ELEMENTS
    assert {name for _, attrs in found.tags for name in attrs} <= ATTRIBUTES
    assert not found.comments
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in parsed(html.render(full("x"))).tags]
    assert all(char == "\n" or unicodedata.category(char)[0] != "C" for char in written)
    assert sum(" ".join(one.split()) == flat(text) for one in found.texts) >= 40


@settings(deadline=None)
@given(hostile_texts)
def test_nothing_is_asked_of_any_host_and_nothing_runs(text: str) -> None:
    found = parsed(html.render(full(text)))
    links = {attrs["href"] for tag, attrs in found.tags if "href" in attrs}
    assert links == {"#one", "#two"}
    policy = [attrs.get("content") for tag, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]
    style = re.findall("<style>(.*?)</style>", html.render(full("x")), re.DOTALL)
    assert len(style) == 1
    assert not re.search(r"url\(|@import|expression|//", style[0])


def test_names_within_the_page_are_used_once_and_all_that_is_named_is_there() -> None:
    found = parsed(html.render(full("text")))
    ids = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {name for _, attrs in found.tags for name in (attrs.get("aria-labelledby") or "").split()}
    assert named <= set(ids)


def test_every_picture_has_a_name_and_its_values_in_words() -> None:
    found = parsed(html.render(full("text")))
    pictures = [attrs for tag, attrs in found.tags if tag == "svg"]
    assert pictures
    assert all(attrs.get("role") == "img" and attrs.get("aria-labelledby") for attrs in pictures)


def test_the_page_follows_light_and_dark_and_prints() -> None:
    written = html.render(full("text"))
    assert "@media (prefers-color-scheme: dark)" in written
    assert "@media print" in written
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in written


def luminance(color: str) -> float:
    """Relative luminance after WCAG 2.2."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_all_text_has_the_contrast_that_reading_needs_in_light_in_dark_and_on_paper() -> None:
    style = re.findall("<style>(.*?)</style>", html.render(full("x")), re.DOTALL)[0]
    for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL):
        colors = dict(re.findall(r"--(\w+): (#\w{6});", re.sub(r"#(\w)(\w)(\w);", r"#\1\1\2\2\3\3;", block)))
        for name in ("ink", "soft", "accent", "good", "warn", "bad"):
            for ground in ("paper", "wash"):
                low, high = sorted((luminance(colors[name]), luminance(colors[ground])))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground, block)
