"""Other values in the place of those that are written out: every leaf changed, the form and the shape kept."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.javascript import arguments, said
from sandbox.source import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

_LETTERS = "bcdfghjklmnpqrstvwxz"
_COLLECTIONS = frozenset({"Map", "Set", "Array", "Uint8Array"})
_WRAPPERS = frozenset({"parenthesized_expression", "as_expression", "satisfies_expression"})
_WHOLE = re.compile(r"\d[\d_]*")


def other(node: Node, chance: random.Random) -> list[Edit]:
    """The edits that change what an expression has written out; none where nothing is.

    Args:
        node: an expression.
        chance: picks the new values.
    """
    return list(_changes(node, chance))


def _changes(node: Node, chance: random.Random) -> Iterator[Edit]:
    if node.type in {"string", "template_string", "regex"}:
        yield from _text(node, chance)
    elif node.type == "number":
        yield Edit(node.start_byte, node.end_byte, _number(said(node), chance))
    elif node.type in {"true", "false"}:
        yield Edit(node.start_byte, node.end_byte, "false" if node.type == "true" else "true")
    elif node.type in {"null", "undefined"}:
        yield Edit(node.start_byte, node.end_byte, str(chance.randint(1000, 9999)))
    elif node.type == "unary_expression" and said(node.child_by_field_name("operator")) == "-":
        yield from _inside([node.child_by_field_name("argument")], chance)
    elif node.type in {"array", "object"}:
        yield from _container(node, chance)
    elif node.type in _WRAPPERS:
        yield from _inside(node.named_children[:1], chance)
    elif node.type == "new_expression" and said(node.child_by_field_name("constructor")) in _COLLECTIONS:
        yield from _inside(arguments(node), chance)


def _inside(nodes: list[Node] | list[Node | None], chance: random.Random) -> Iterator[Edit]:
    for node in nodes:
        if node is not None:
            yield from _changes(node, chance)


def _text(node: Node, chance: random.Random) -> Iterator[Edit]:
    letters = "".join(chance.choices(_LETTERS, k=6))
    pattern = node.child_by_field_name("pattern")
    if pattern is None:
        yield Edit(node.end_byte - 1, node.end_byte - 1, letters)
    else:  # a group, since the pattern may hold alternatives
        yield Edit(pattern.start_byte, pattern.end_byte, f"(?:{said(pattern)}){letters}")


def _number(text: str, chance: random.Random) -> str:
    step = chance.randint(1000, 9999)
    if text.endswith("n"):
        return f"{int(text[:-1].replace('_', ''), 0) + step}n"
    if _WHOLE.fullmatch(text):
        return str(int(text.replace("_", "")) + step)
    return f"{step}.25" if text != f"{step}.25" else f"{step}.5"


def _container(node: Node, chance: random.Random) -> Iterator[Edit]:
    inner = [child for child in node.named_children if child.type != "comment"]
    if not inner:
        added = str(chance.randint(1000, 9999)) if node.type == "array" else f"other: {chance.randint(1000, 9999)}"
        yield Edit(node.start_byte + 1, node.start_byte + 1, added)
    for child in inner:
        yield from _inside([child.child_by_field_name("value") if child.type == "pair" else child], chance)
