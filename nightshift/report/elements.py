"""HTML as values: the dashboard draws them, and a file has them written out; a text in them can be no markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Element:
    """An element with its attributes, and what stands in it: texts and other elements."""

    tag: str
    attributes: Mapping[str, str]
    children: Sequence[Element | str]


Node = Element | str


def element(tag: str, *children: Node, **attributes: object) -> Element:
    """An element; `class_` and `aria_label` are the attributes `class` and `aria-label`."""
    named = {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()}
    return Element(tag, named, children)


def written(*nodes: Node) -> str:
    """The nodes as HTML."""
    return "".join(escape(node, quote=False) if isinstance(node, str) else _written(node) for node in nodes)


def _written(node: Element) -> str:
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes.items())
    return f"<{node.tag}{attributes}>{written(*node.children)}</{node.tag}>"
