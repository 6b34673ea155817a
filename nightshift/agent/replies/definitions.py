"""Merges the definitions of a Python answer into the file to which they belong.

A small model that is asked for one function of a long file sends only that function. To send the whole file would take
minutes, and would change lines that nobody asked about.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Iterator, Sequence

from nightshift.agent.python_outline import first_line, parse_python

_CONSTANT_LINES = 15
"""Maximum number of lines of a constant that is quoted because a quoted definition uses it."""
_Slice = tuple[int, int, list[str]]
"""A replacement of lines: the first line and the line after the last one (both counted from 0), and the new lines."""


def merge_definitions(text: str, answer: str) -> str:
    """Return a file in which an answer's definitions replace the definitions of the same names; new ones are appended.

    Imports that the file lacks are added after its last import. If the answer has all definitions of the file, or if
    the file or the answer is not valid Python, the answer itself is returned.
    """
    old, new = parse_python(text), parse_python(answer)
    if old is None or new is None or _list_names(old.body) <= _list_names(new.body):
        return answer
    lines = text.split("\n")  # not `splitlines`: for the parser, a form feed ends no line
    for first, last, put in sorted(_edit(old.body, new.body, answer.split("\n")), key=lambda edit: edit[:2])[::-1]:
        lines[first:last] = put
    return "\n".join(lines)


def quote_definitions(text: str, words: str) -> str:
    """Return the imports of a Python file, the definitions named in a text, and the short constants that these use.

    Empty if the text names no definition.
    """
    tree = parse_python(text)
    if tree is None:
        return ""
    named = [node for node in tree.body if _names(node) & set(words.split())]
    used = {node.id for definition in named for node in ast.walk(definition) if isinstance(node, ast.Name)}
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = text.split("\n")
    parts = ["\n".join("\n".join(_lines(node, lines)) for node in imports)]
    parts += ["\n".join(_lines(node, lines)) for node in tree.body if node in named or _is_used(node, used)]
    return "\n\n\n".join(filter(None, parts)) if named else ""


def _is_used(node: ast.stmt, used: Collection[str]) -> bool:
    """Check whether a statement defines a constant of few lines that is among the used names."""
    is_constant = isinstance(node, ast.Assign | ast.AnnAssign)
    is_short = (node.end_lineno or 0) - node.lineno < _CONSTANT_LINES
    return is_constant and is_short and not _names(node).isdisjoint(used)


def _edit(old: Sequence[ast.stmt], new: Sequence[ast.stmt], source: Sequence[str]) -> Iterator[_Slice]:
    """Yield the replacements that merge the statements `new` into a module or class body with the statements `old`."""
    here = {name: node for node in old for name in _names(node)}
    imports = {ast.unparse(node): node for node in old if isinstance(node, ast.Import | ast.ImportFrom)}
    added = list[list[str]]()
    for node in new:
        if isinstance(node, ast.Import | ast.ImportFrom):
            is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"  # must come first in a file
            if not is_future and ast.unparse(node) not in imports:
                at = max((each.end_lineno or 0 for each in imports.values()), default=_find_head_end(old))
                yield at, at, _lines(node, source)
            continue
        present = next((here[name] for name in _names(node) if name in here), None)
        if isinstance(present, ast.ClassDef) and isinstance(node, ast.ClassDef) and not _has_all(node, present):
            yield from _edit(present.body, node.body, source)
        elif present is not None:
            yield first_line(present) - 1, present.end_lineno or 0, _indent(_lines(node, source), present.col_offset)
        elif _names(node):
            added.append(_indent(_lines(node, source), old[0].col_offset))
    if added:
        ends = [node.end_lineno or 0 for node in old if not isinstance(node, ast.If)]
        at = max(ends, default=0)
        gap = [""] if old[0].col_offset else ["", ""]
        yield at, at, [line for part in added for line in (*gap, *part)]


def _has_all(node: ast.ClassDef, present: ast.ClassDef) -> bool:
    return _list_names(present.body) <= _list_names(node.body)


def _list_names(body: Sequence[ast.stmt]) -> set[str]:
    return {name for node in body for name in _names(node)}


def _names(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a body defines, except imports."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _find_head_end(body: Sequence[ast.stmt]) -> int:
    """Return the number of lines above the first statement of a body.

    If that is a docstring, its lines are included.
    """
    first = body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (first.end_lineno or 0) if is_docstring else first_line(first) - 1


def _lines(node: ast.stmt, source: Sequence[str]) -> list[str]:
    return list(source[first_line(node) - 1 : node.end_lineno])


def _indent(lines: list[str], columns: int) -> list[str]:
    if len(lines[0]) - len(lines[0].lstrip()) == columns:
        return lines
    return textwrap.indent(textwrap.dedent("\n".join(lines)), " " * columns).split("\n")
