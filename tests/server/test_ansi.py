from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.text.masking import printable
from nightshift.server.log.ansi import has_colours, plain, runs, terminal
from tests.support.hostile_words import hostile_texts

VOCABULARY = {f"a-{kind}{number}" for kind in ("fg", "bg") for number in range(16)}
VOCABULARY |= {f"a-{flag}" for flag in ("bold", "dim", "italic", "underline", "inverse", "strike")}

sequences = st.builds(
    "{}{}{}".format,
    st.sampled_from(["\x1b[", "\\x1b[", "\x9b", "\\x9b", "\x1b]", "\\x1b]8;;", "\x1b"]),
    st.text(alphabet="0123456789;:?<>= ", max_size=12),
    st.sampled_from(["m", "m", "m", "H", "J", "q", "\x07", "\x1b\\", ""]),
)
texts = st.lists(sequences | hostile_texts | st.text(max_size=5), max_size=10).map("".join)


@pytest.mark.parametrize("escape", ["\x1b[", "\\x1b[", "\x9b", "\\x9b"])
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a«31»b«0»c", [("", "a"), ("a-fg1", "b"), ("", "c")]),
        ("«1;31»x«22»y«39»z", [("a-fg1 a-bold", "x"), ("a-fg1", "y"), ("", "z")]),
        ("«»x", [("", "x")]),
        ("«93»x«m", [("a-fg11", "x«m")]),
        ("«104;3;4;9;2»x", [("a-bg12 a-dim a-italic a-underline a-strike", "x")]),
        ("«4»x«4:0»y", [("a-underline", "x"), ("", "y")]),
        ("«38;5;196»x", [("a-fg9", "x")]),
        ("«38:5:9»x«48;5;244»y", [("a-fg9", "x"), ("a-bg8", "y")]),
        ("«38;2;250;5;5;1»x", [("a-fg9 a-bold", "x")]),
        ("«38:2::0:0:230»x", [("a-fg4", "x")]),
        ("«38;5»a«38;2;1»b«38;9;3»c«38;5;999»d", [("", "ab"), ("a-italic", "cd")]),
        ("«31»a«31»b", [("a-fg1", "ab")]),
    ],
)
def test_colours_become_classes(escape: str, said: str, shown: list[tuple[str, str]]) -> None:
    text = re.sub("«([0-9;:]*)»", lambda match: f"{escape}{match[1]}m", said)
    assert runs(text) == shown
    assert has_colours(text)


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[8mhidden", "\x1b[5mblink", "\x1b[31;41mred on red", "\x1b[30;40mblack on black",
        "\x1b[38;2;9;9;9;48;2;9;9;9mx",
    ],
)  # fmt: skip
def test_no_text_can_be_hidden(text: str) -> None:
    for classes, _ in runs(text):
        assert not ("a-fg" in classes and "a-bg" in classes)
    assert plain(text) == text[text.index("m") + 1 :]


@pytest.mark.parametrize(
    "text",
    [
        "\x1b]0;title\x07", "\x1b]8;;http://x.example\x1b\\link\x1b]8;;\x1b\\", "\x1b[2J\x1b[H", "\x1b[?1049h",
        "\x1bP1$r\x1b\\", "\x1bc", "\x07\x08\x00", "\x9b2J", "\x1b[6n", "\x1b[31\x1b[m", "\u202e\u2066", "\x1b[31",
    ],
)  # fmt: skip
def test_what_is_no_colour_stays_as_visible_text(text: str) -> None:
    stripped = text.replace("\x1b[m", "")
    assert plain(text) == printable(stripped)


@given(texts)
def test_any_text_is_shown_whole_inert_and_from_a_fixed_vocabulary(text: str) -> None:
    found = runs(text)
    assert all(set(classes.split()) <= VOCABULARY for classes, _ in found)
    assert all(part for _, part in found)
    shown = "".join(part for _, part in found)
    assert shown == plain(text)
    assert all(c in "\t\n" or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for c in shown)


@given(texts)
def test_stored_texts_look_as_what_was_printed(text: str) -> None:
    stored = printable(text, max_chars=10**6, max_line=10**6)
    assert plain(stored) == plain(text)


@given(texts)
def test_a_terminal_gets_the_same_looks_and_nothing_else(text: str) -> None:
    painted = terminal(text)
    assert re.sub(r"\x1b\[[0-9;]+m", "", painted) == plain(text)
    for line in painted.split("\n"):
        assert line.count("\x1b[0m") * 2 == line.count("\x1b"), "what begins on a line ends there"
    without_breaks = [(c, t.replace("\n", "")) for c, t in runs(text)]
    assert runs(painted.replace("\n", "")) == runs_joined(without_breaks)


def runs_joined(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    joined: list[tuple[str, str]] = []
    for classes, text in found:
        if joined and joined[-1][0] == classes:
            joined[-1] = (classes, joined[-1][1] + text)
        elif text:
            joined.append((classes, text))
    return joined
