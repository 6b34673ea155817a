"""Describes the declarations of changed Go files that tests can use."""

from __future__ import annotations

from nightshift.agent.golang_outline import MAX_CHARS, MAX_LINE, describe
from nightshift.core.code.golang import node_text, parse


def describe_offer(text: str, lines: frozenset[int], short: int) -> list[str]:
    """Describe the declarations of a file; a changed declaration includes the comment directly above it.

    Args:
        text: the text of the file.
        lines: the lines that the change wrote, counted from 1.
        short: if a file has more declarations than this, only the changed declarations are described.
    """
    root = parse(text) if len(text) <= MAX_CHARS else None
    declarations = [node for node in (root.named_children if root else ()) if describe(node)]
    touched = [
        node for node in declarations if not lines.isdisjoint(range(node.start_point[0] + 1, node.end_point[0] + 2))
    ]
    shown = list[str]()
    for node in declarations if len(declarations) <= short else touched:
        above = node.prev_named_sibling
        if node in touched and above is not None and above.type == "comment":
            shown += node_text(above).split("\n")
        shown += [line.rstrip()[:MAX_LINE] for line in describe(node).split("\n")]
    return shown
