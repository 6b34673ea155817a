"""The HTML: whatever a text holds, the page has our own elements, that text, and nothing from elsewhere."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from html.parser import HTMLParser

from hypothesis import given, settings

from nightshift.core.text.masking import printable
from nightshift.report.elements import element, written
from nightshift.report.figures import Summary
from nightshift.report.weekly import render_html
from tests.support.hostile_words import hostile_texts

VOID = {"meta"}
ELEMENTS = frozenset({
    "html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "h1", "h2", "p", "strong",
    "code", "blockquote", "ul", "ol", "li", "a", "dl", "dt", "dd", "div", "table", "thead", "tbody", "tr", "th", "td",
    "figure", "figcaption", "svg", "rect", "circle", "line", "polyline", "i", "b",
})  # fmt: skip
ATTRIBUTES = frozenset({
    "lang", "charset", "name", "content", "http-equiv", "id", "class", "href", "role", "tabindex",
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


def parsed(written: str) -> Found:
    found = Found()
    found.feed(written)
    found.close()
    assert not found.open
    return found


@settings(deadline=None)
@given(text=hostile_texts.filter(flat))
def test_a_text_stays_a_text(week: Summary, text: str) -> None:
    page = render_html(week, lambda _: text)
    found = parsed(page)
    assert {tag for tag, _ in found.tags} <= ELEMENTS
    assert {name for _, attrs in found.tags for name in attrs} <= ATTRIBUTES
    assert not found.comments
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in parsed(render_html(week, lambda _: "x")).tags]
    assert all(char == "\n" or unicodedata.category(char)[0] != "C" for char in page)
    assert sum(flat(text)[:30].rstrip() in one for one in found.texts) >= 40


@settings(deadline=None)
@given(text=hostile_texts)
def test_nothing_is_asked_of_any_host_and_nothing_runs(week: Summary, text: str) -> None:
    page = render_html(week, lambda _: text)
    found = parsed(page)
    links = {attrs["href"] for tag, attrs in found.tags if "href" in attrs}
    assert links == {
        "#recommendations", "#reading", "#tasks", "#trends", "#models", "#commits", "#failures", "#memory", "#guards",
        "#daemon",
    }  # fmt: skip
    policy = [attrs.get("content") for tag, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]
    style = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    assert len(style) == 1
    assert not re.search(r"url\(|@import|expression|//", style[0])


@given(hostile_texts)
def test_a_text_stays_a_text_in_elements_and_in_their_attributes(text: str) -> None:
    found = parsed(written(element("p", text, element("b", text, aria_label=text))))
    assert [tag for tag, _ in found.tags] == ["p", "b"]
    assert found.tags[1][1].keys() == {"aria-label"}


def test_names_within_the_page_are_used_once_and_all_that_is_named_is_there(week: Summary) -> None:
    found = parsed(render_html(week))
    ids = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {name for _, attrs in found.tags for name in (attrs.get("aria-labelledby") or "").split()}
    assert named <= set(ids)


def test_every_picture_has_a_name_with_its_values_in_words(week: Summary) -> None:
    pictures = [attrs for tag, attrs in parsed(render_html(week)).tags if tag == "svg"]
    assert all(attrs.get("role") == "img" for attrs in pictures)
    names = [attrs.get("aria-label") or "" for attrs in pictures]
    assert [name.partition(":")[0] for name in names] == [
        "How they ended", "tasks done", "succeeded", "at the first try", "median iterations", "median wait", "tokens",
        "cost", "What vouches for them",
    ]  # fmt: skip
    assert all(re.search(r": \$?\d", name) for name in names)


def test_commits_stand_out_by_their_risk_and_commands_can_be_copied(week: Summary) -> None:
    page = render_html(week)
    first = week.commits.ranked[0]
    assert f'<li class="{first.level}"><strong>{first.points} points</strong>' in page
    assert f'<li class="command">keep: <code>./cli.py review {first.commit.task_id} --read</code></li>' in page


def test_the_page_follows_light_and_dark_and_prints(week: Summary) -> None:
    page = render_html(week)
    assert "@media (prefers-color-scheme: dark)" in page
    assert "@media print" in page
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page


def luminance(color: str) -> float:
    """Relative luminance after WCAG 2.2."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_all_text_has_the_contrast_that_reading_needs_in_light_in_dark_and_on_paper(week: Summary) -> None:
    style = re.findall("<style>(.*?)</style>", render_html(week), re.DOTALL)[0]
    for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL):
        colors = dict(re.findall(r"--(\w+): (#\w{6});", re.sub(r"#(\w)(\w)(\w);", r"#\1\1\2\2\3\3;", block)))
        for name in ("ink", "soft", "accent", "good", "warn", "bad"):
            for ground in ("paper", "wash"):
                low, high = sorted((luminance(colors[name]), luminance(colors[ground])))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground, block)
