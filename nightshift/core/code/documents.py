"""Decides whether a change alters only documentation: neither code tokens nor any line that a tool or program reads."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from nightshift.core.code import javascript
from nightshift.core.code.parsing import parse_quietly
from nightshift.core.tasks.task import Change
from nightshift.core.text.encoding import encode

_ENDINGS = (".md", ".markdown", ".rst", ".adoc")
_NAMES = re.compile(
    r"(readme|license|licence|copying|changelog|changes|contributing|authors|notice)(\.txt)?", re.IGNORECASE
)


def is_markdown(path: str) -> bool:
    """Return True if a path is a Markdown page."""
    return path.casefold().endswith(_ENDINGS[:2])


def is_document(path: str) -> bool:
    """Return True if a path is a page that is written for people."""
    return path.casefold().endswith(_ENDINGS) or _NAMES.fullmatch(path.rpartition("/")[2]) is not None


_FOR_TOOLS = re.compile(
    r"[-#/*\s]*(?:coding[:=]|-\*-|vim?:|noqa\b|(?:type|pragma|pylint|flake8|mypy|ruff|pyright|isort|fmt|yapf|doctest|cython"
    r"|distutils|biome|webpack\w+|pyre)\s*:|nosec\b|nosemgrep|eslint-|eslint\s|prettier-ignore"
    r"|(?:istanbul|[cv]8) ignore|@ts-|@jsx|@flow|@jest-|@vitest-|@preserve|@__|#__|<reference\b|<amd|#\s*source\w*url)",
    re.IGNORECASE,
)
"""Pattern of the beginning of a comment that tools read."""
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=]")
_HELP = re.compile(r"\b(?:import|from)\s+(?:click|typer|docopt|fire|cyclopts|plac|fastapi|flask_restx|apispec)\b")
"""Libraries with which programs show their docstrings to users."""
Sources = Callable[[], Iterable[tuple[str, str]]]
"""Functions that return the path and the text of each code file of a tree."""


def is_documentation(change: Change, before: Callable[[str], str | None], sources: Sources = tuple) -> bool:
    """Return True if a change alters nothing that a machine reads.

    Args:
        change: Maps paths to new texts; None stands for a removed file.
        before: Returns the text of a file without the change.
        sources: Lists the files that may read the changed files; called only if that matters.
    """
    return all(
        _is_unread(path, text, sources) if is_document(path) else _is_same_code(path, before(path), text, sources)
        for path, text in change.items()
    )


def _is_unread(path: str, text: str | None, sources: Sources) -> bool:
    """Return True if only people read a page: it is not a program, and no code names it as data."""
    if (text or "").startswith("#!"):
        return False
    name = PurePosixPath(path).name
    if _NAMES.match(name) or "/" not in path:
        return True
    return not any(
        f"{quote}{name}{quote}" in code or f"/{name}{quote}" in code for _, code in sources() for quote in "'\""
    )


def _is_same_code(path: str, before: str | None, after: str | None, sources: Sources) -> bool:
    if before is None or after is None:
        return False
    if path.endswith(".py"):
        old_tree, new_tree = parse_quietly(before), parse_quietly(after)
        if old_tree is None or new_tree is None or _list_for_tools(before) != _list_for_tools(after):
            return False
        documented, now = _list_docstrings(old_tree), _list_docstrings(new_tree)
        altered = {name for name in documented.keys() | now.keys() if documented.get(name) != now.get(name)}
        return _bare(old_tree) == _bare(new_tree) and not _reads_docstrings(path, altered, new_tree, after, sources)
    return javascript.is_source(path) and _list_tokens(path, before) == _list_tokens(path, after)


def _list_for_tools(text: str) -> tuple[str, Counter[str]]:
    """Return the first lines that start a program or name the encoding, and the comments for tools, in any order.

    Text in a string that looks like a comment for tools counts as such a comment.
    """
    first = "\n".join(line for line in text.split("\n")[:2] if line.startswith("#!") or _CODING.match(line))
    comments = (comment for line in text.split("\n") for comment in line.split("#")[1:])
    return first, Counter(comment.strip() for comment in comments if _FOR_TOOLS.match(comment))


def _list_docstrings(tree: ast.Module) -> dict[str, str | None]:
    """Map the names of the classes, the functions and the module (an empty name) to their docstrings.

    If several definitions have the same name, the docstring of the last one counts.
    """
    nodes = (
        n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return {getattr(node, "name", ""): ast.get_docstring(node, clean=False) for node in nodes}


def _reads_docstrings(path: str, altered: set[str], tree: ast.Module, text: str, sources: Sources) -> bool:
    """Return True if a program may read one of the altered docstrings.

    `altered` contains the names whose docstrings were altered, as returned by `_list_docstrings`.
    """
    if not altered:
        return False
    if altered - {""} and _HELP.search(text):
        return True
    names = {getattr(node, "name", "") for node in ast.walk(tree)}
    if any(name in altered or (name not in names and altered - {""}) for name in _list_read(tree, "")):
        return True
    names = altered - {""} | ({PurePosixPath(path).stem} if "" in altered else set())
    others = (parse_quietly(code) for other, code in sources() if other != path and "__doc__" in code)
    return any(name in names for other in others if other for name in _list_read(other, None))


def _list_read(tree: ast.Module, own: str | None) -> Iterator[str]:
    """Yield the names of the objects whose docstrings the code reads; only the last part of a dotted name.

    If the code reads the docstring of its own module, `own` is yielded as the module's name; nothing if `own` is None.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__doc__" and own is not None:
            yield own
        elif isinstance(node, ast.Attribute) and node.attr == "__doc__":
            value = node.value
            yield value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "?")
        elif isinstance(node, ast.Attribute | ast.Name) and getattr(node, "attr", getattr(node, "id", "")) == "getdoc":
            yield "?"


def _bare(tree: ast.Module) -> str:
    """Return a dump of a module without its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            has_doc = ast.get_docstring(node, clean=False) is not None
            node.body = (node.body[1:] if has_doc else node.body) or [ast.Pass()]
    return ast.dump(tree)


def _list_tokens(path: str, text: str) -> tuple[str, list[tuple[str, str, bool]], Counter[str]]:
    """Return the line that starts a script, the code tokens, and the comments for tools.

    Each token has a flag that is True if a line ends before it, even within a comment, because a line end may end a
    statement.
    """
    tokens, comments, at = list[tuple[str, str, bool]](), Counter[str](), None
    source = encode(text)
    for node in javascript.walk(javascript.parse(path, text)):
        if node.type == "comment":
            lines = (line.strip().strip("/*").strip() for line in javascript.node_text(node).split("\n"))
            comments.update(line for line in lines if _FOR_TOOLS.match(line))
        elif not node.children:
            is_next_line = at is not None and b"\n" in source[at : node.start_byte]
            tokens.append((node.type, javascript.node_text(node), is_next_line))
            at = node.end_byte
    return text.partition("\n")[0] if text.startswith("#!") else "", tokens, comments
