"""How values are written as YAML, and where in a text the parts of a document stand.

PyYAML reads the settings, so PyYAML writes them: one that follows YAML 1.2 would leave a text such as `off` or `22:00`
without quotes, which the reader then takes for a truth value or a number.
"""

from __future__ import annotations

from typing import Any

import yaml

WIDE = 1 << 30
"""No line is ever broken."""


class _Dumper(yaml.SafeDumper):
    """Writes a text with line breaks in one line, with escapes."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def inline(value: Any) -> str:
    """A value in one line, as it may stand anywhere, between brackets too."""
    text: str = yaml.dump(
        [value], Dumper=_Dumper, default_flow_style=True, width=WIDE, allow_unicode=True, sort_keys=False
    )
    return text.strip()[1:-1]


def entry(name: str, value: Any, *, column: int = 0) -> list[str]:
    """A name with its value in lines that are indented so far; a mapping has a line for each of its own."""
    head = " " * column + inline(name) + ":"
    if not (isinstance(value, dict) and value):
        return [f"{head} {inline(value)}"]
    return [head, *(line for key, below in value.items() for line in entry(key, below, column=column + 2))]


def is_block(node: yaml.Node) -> bool:
    """Whether a value is a list or a mapping with lines of its own."""
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def end_of(node: yaml.Node, text: str) -> int:
    """The index behind the last letter of a value; the marks of blocks lie behind what follows them."""
    if is_block(node) and node.value:
        last = node.value[-1]
        return end_of(last[1] if isinstance(last, tuple) else last, text)
    end = int(node.end_mark.index)
    if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
        return len(text[:end].rstrip())
    return end


def line_start(text: str, index: int) -> int:
    """The index of the first letter of the line in which this one stands."""
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int) -> int:
    """The index of the first letter of the next line."""
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def with_lines(text: str, at: int, lines: list[str]) -> str:
    """The text with further lines at the beginning of a line, or at its end; they end as the others do."""
    feed = "\r\n" if "\r\n" in text else "\n"
    gap = feed if at and text[at - 1] != "\n" else ""
    return text[:at] + gap + "".join(line + feed for line in lines) + text[at:]
