"""Whether a change is documentation alone: pages, docstrings and comments, and no line of code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from nightshift.core.code import javascript
from nightshift.core.code.parsing import parse_quietly
from nightshift.core.tasks.task import Change

_ENDINGS = (".md", ".markdown", ".rst", ".adoc")
_NAMES = re.compile(
    r"(readme|license|licence|copying|changelog|changes|contributing|authors|notice)(\.txt)?", re.IGNORECASE
)


def is_markdown(path: str) -> bool:
    """Tell whether a path is that of a Markdown page."""
    return path.casefold().endswith(_ENDINGS[:2])


def is_document(path: str) -> bool:
    """Tell whether a path is that of a page for people."""
    return path.casefold().endswith(_ENDINGS) or _NAMES.fullmatch(path.rpartition("/")[2]) is not None


def is_documentation(change: Change, before: Callable[[str], str | None]) -> bool:
    """Tell whether a change leaves all code as it was.

    Args:
        change: path to new text, None for a removed file.
        before: gives the text of a file without the change.
    """
    return all(is_document(path) or _same_code(path, before(path), text) for path, text in change.items())


def _same_code(path: str, before: str | None, after: str | None) -> bool:
    if before is None or after is None:
        return False
    if path.endswith(".py"):
        one, other = parse_quietly(before), parse_quietly(after)
        return one is not None and other is not None and _bare(one) == _bare(other)
    return javascript.is_source(path) and _leaves(path, before) == _leaves(path, after)


def _bare(tree: ast.Module) -> str:
    """A module without its docstrings, as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            has_doc = ast.get_docstring(node, clean=False) is not None
            node.body = (node.body[1:] if has_doc else node.body) or [ast.Pass()]
    return ast.dump(tree)


def _leaves(path: str, text: str) -> list[tuple[str, str]]:
    """The tokens of a script without its comments."""
    nodes = javascript.walk(javascript.parse(path, text))
    return [(node.type, javascript.node_text(node)) for node in nodes if not node.children and node.type != "comment"]
