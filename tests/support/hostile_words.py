"""Texts that try to act as markup or control codes in Markdown, in HTML and in a terminal."""

from __future__ import annotations

from hypothesis import strategies as st

NASTY = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</style><b>", "<!--", "]]>", "&lt;b&gt;", "&#60;",
    "[l](http://x.example)", "![i](//x.example/a.png)", "[x]: http://x.example", "https://x.example", "www.x.example",
    "a@b.example", "**b**", "__b__", "_e_", "*e*", "~~s~~", "`c`", "``", "```py", "~~~", "| a | b |", "|---|",
    "\\|", "\\",
    "# h", "> q", "- l", "+ l", "1. l", "23) l", "---", "***", "===", "\n\n", "\r\n", "\n- x", "\n    code",
    "\t",
    "\x1b[31m", "\x1b]0;t\x07", "\x9b31m", "\x00", "\x08", "\u202e", "\u2066", "\u200b", "\u2028", "\ud800", "\ufeff",
    ":smile:", "@owner", "#12", "$x$", "$$", "{{ page }}", "{% if %}", '"', "'", "=", "onload=", "javascript:alert(1)",
    "a" * 300, "\u0301", "日本語", "\U0001f980",
)  # fmt: skip

hostile_texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=12) | st.just(" "), max_size=8).map("".join)
"""A strategy for texts that combine these hostile texts with random text."""
