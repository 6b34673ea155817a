"""Replaces literal values by similar values of the same type and structure.

The change is random. It affects one literal or all of them. A number becomes slightly larger or smaller, and in a text
a letter is changed, added or removed. The change is small, because code that compares with any tolerance would
distinguish a distant value from the right one. It varies, because a constant change would reveal the copy.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import arguments, node_text
from nightshift.sandbox.source import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

_LETTERS = "bcdfghjklmnpqrstvwxz"
_SEQUENCES = frozenset({"Array", "Uint8Array"})
_UNORDERED = frozenset({"Map", "Set"})
_WRAPPERS = frozenset({"parenthesized_expression", "as_expression", "satisfies_expression"})
_STEPS = (1, 2, 3)
_EXACT = 2**53
_LETTER = re.compile(r"[A-Za-z]")


def other(node: Node, chance: random.Random) -> list[Edit]:
    """Return the edits that change the literals of an expression; empty if it contains none.

    Args:
        node: the expression.
        chance: picks the new values.
    """
    leaves = _leaves(node)
    if not leaves:
        return []
    # Change only one item of a Set or Map: if all changed, they could equal the original items in another order.
    alone = _is_among(node, _UNORDERED) or chance.random() < 0.5
    taken = {node_text(leaf) for leaf in leaves}
    return [_change_leaf(leaf, taken, chance) for leaf in ([chance.choice(leaves)] if alone else leaves)]


def _leaves(node: Node) -> list[Node]:
    """Return the literals in an expression, each of which can be changed independently; empty if there are none."""
    match node.type:
        case "string" | "template_string" | "regex" | "number" | "true" | "false" | "null" | "undefined":
            return [node]
        case "unary_expression" if node_text(node.child_by_field_name("operator")) == "-":
            return _below([node.child_by_field_name("argument")])
        case "array" | "object":
            inner = [child for child in node.named_children if child.type != "comment"]
            return _below([_value(child) for child in inner]) if inner else [node]
        case "new_expression" if _is_among(node, _SEQUENCES | _UNORDERED):
            return _below(arguments(node))
    return _below(node.named_children[:1]) if node.type in _WRAPPERS else []


def _below(nodes: Sequence[Node | None]) -> list[Node]:
    return [leaf for node in nodes if node is not None for leaf in _leaves(node)]


def _value(child: Node) -> Node | None:
    return child.child_by_field_name("value") if child.type == "pair" else child


def _is_among(node: Node, names: frozenset[str]) -> bool:
    """Check whether an expression, or a part of it, creates an instance of one of these classes with `new`."""
    if node.type == "new_expression" and node_text(node.child_by_field_name("constructor")) in names:
        return True
    return any(_is_among(child, names) for child in node.named_children)


def _change_leaf(leaf: Node, taken: set[str], chance: random.Random) -> Edit:
    match leaf.type:
        case "number":
            return _put(leaf, _number(node_text(leaf), taken, chance))
        case "true" | "false":
            return _put(leaf, "false" if leaf.type == "true" else "true")
        case "null" | "undefined":
            return _put(leaf, str(chance.choice(_STEPS)))
        case "array" | "object":
            step = chance.choice(_STEPS)
            return Edit(
                leaf.start_byte + 1, leaf.start_byte + 1, str(step) if leaf.type == "array" else f"other: {step}"
            )
    return _text(leaf, chance)


def _put(leaf: Node, text: str) -> Edit:
    return Edit(leaf.start_byte, leaf.end_byte, text)


def _text(leaf: Node, chance: random.Random) -> Edit:
    pattern = leaf.child_by_field_name("pattern")
    if pattern is not None:  # a group keeps alternatives together; a short suffix could still match
        letters = "".join(chance.choices(_LETTERS, k=chance.randint(3, 6)))
        return Edit(pattern.start_byte, pattern.end_byte, f"(?:{node_text(pattern)}){letters}")
    places = [
        (part.start_byte + match.start(), match.group())
        for part in leaf.named_children
        if part.type == "string_fragment" and node_text(part).isascii()
        for match in _LETTER.finditer(node_text(part))
    ]
    letter = chance.choice(_LETTERS)
    if not places or chance.random() < 0.3:
        return Edit(leaf.end_byte - 1, leaf.end_byte - 1, letter)
    start, before = chance.choice(places)
    if len(places) > 1 and chance.random() < 0.3:
        return Edit(start, start + 1, "")
    near = letter.upper() if before.isupper() else letter
    return Edit(start, start + 1, near if near != before else ("y" if before.islower() else "Y"))


def _number(text: str, taken: set[str], chance: random.Random) -> str:
    """Return the text of a number that is near the given one; it has no sign."""
    bare = text.replace("_", "")
    if bare.endswith("n"):
        return f"{_near(int(bare[:-1], 0), taken, chance, 'n')}n"
    value = float(int(bare, 0)) if re.fullmatch(r"0[xXoObB][\da-fA-F]+", bare) else float(bare)
    if value.is_integer() and value < _EXACT:
        return str(_near(int(value), taken, chance))
    if not math.isfinite(value):
        return str(chance.choice(_STEPS))
    moved = value * (1 + chance.choice((-1, 1)) * chance.uniform(0.01, 0.05))
    digits = max(2, len(bare.partition(".")[2]))
    number = f"{moved:.{digits}f}" if value < _EXACT and digits < 12 else repr(moved)
    return number if float(number) != value else repr(moved or 0.5)


def _near(value: int, taken: set[str], chance: random.Random, suffix: str = "") -> int:
    """Return a nearby number that is not negative and does not occur among the expression's literals."""
    candidates = [near for step in _STEPS for near in (value - step, value + step) if near >= 0]
    free = [near for near in candidates if f"{near}{suffix}" not in taken]
    return chance.choice(free) if free else value + len(taken) + 3
