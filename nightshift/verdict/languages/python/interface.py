"""Describes the interface of changed Python files: definitions with docstrings, routes, options and defaults.

Function bodies are not shown. For a long file, only the changed definitions are shown, with the definitions that they
use and those that use them. For other files, only the definitions that the changed code imports are shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

from nightshift.agent.python_outline import parse_python, places
from nightshift.core.ports import LEFT_OUT
from nightshift.verdict.languages.python.outline import last_name

_DOC_LINES, _LINE_CHARS, _VALUE_CHARS = 30, 200, 60
_MOST_OPTIONS, _MOST_IMPORTED = 30, 12
_OPTIONS = frozenset({"add_argument", "add_parser", "add_option"})
_ROUTES = frozenset({"add_url_rule", "add_route", "add_api_route", "add_get", "add_post", "add_put", "add_patch",
                     "add_delete", "Route", "path", "re_path"})  # fmt: skip
_PATH = re.compile(r"/[\w/{}<>:.*-]*")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, a class without its methods, or an assignment.

    Attributes:
        node: the syntax node.
        name: the defined name.
        holder: the class that contains the definition; empty at the top level.
        lines: the lines of the definition, counted from 1.
    """

    node: ast.stmt
    name: str
    holder: str = ""
    lines: frozenset[int] = frozenset()

    @property
    def is_public(self) -> bool:
        """True if the name does not begin with an underscore."""
        return not self.name.startswith("_")


def describe_offer(text: str, lines: frozenset[int], short: int) -> list[str]:
    """Describe the definitions of a changed file, one per line, indented as in the file.

    Args:
        text: the file with the change.
        lines: the lines that the change wrote, counted from 1.
        short: if a file has more definitions than this, only the changed definitions and related ones are described.
            Related definitions use a changed definition, or are used by one.
    """
    tree = parse_python(text)
    if tree is None:
        return []
    definitions = list(_definitions(tree.body))
    touched = [definition for definition in definitions if definition.lines & lines]
    chosen = definitions if len(definitions) <= short else _near(definitions, touched)
    shown = [line for definition in chosen for line in _show_definition(definition, is_full=definition in touched)]
    more = len(definitions) - len(chosen)
    return [*shown, *_calls(tree), *([f"{LEFT_OUT}{more} other definitions"] if more else [])]


def list_touched_names(text: str, lines: frozenset[int]) -> list[str]:
    """List the public functions and classes that a change touches, those with most new lines first."""
    tree = parse_python(text)
    if tree is None:
        return []
    named = [
        definition
        for definition in _definitions(tree.body)
        if isinstance(definition.node, _Function | ast.ClassDef) and definition.is_public
    ]
    touched = sorted(
        (definition for definition in named if definition.lines & lines),
        key=lambda definition: -len(definition.lines & lines),
    )
    return [definition.name for definition in touched]


def describe_imports(
    path: str, text: str, lines: frozenset[int], files: Container[str], read: Callable[[str], str | None]
) -> str:
    """Describe the definitions that the changed code imports from other files and uses; empty if there are none."""
    tree = parse_python(text)
    if tree is None:
        return ""
    used = frozenset[str]().union(
        *(_names(definition.node) for definition in _definitions(tree.body) if definition.lines & lines)
    )
    shown = dict[str, list[str]]()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        source = next((candidate for candidate in _sources(path, node) if candidate in files), None)
        wanted = [alias.name for alias in node.names if (alias.asname or alias.name) in used]
        if source and wanted and sum(map(len, shown.values())) < _MOST_IMPORTED:
            shown.setdefault(source, []).extend(_find_named(read(source) or "", wanted))
    return "\n\n".join("\n".join([name, *("    " + line for line in body)]) for name, body in shown.items() if body)


def _sources(path: str, node: ast.ImportFrom) -> Iterator[str]:
    """List possible paths of an imported module."""
    if not node.level:
        yield from places(node.module or "")
        return
    folder = path.split("/")[: -node.level]
    stem = "/".join([*folder, *(node.module or "__init__").split(".")])
    yield from (f"{stem}.py", f"{stem}/__init__.py")


def _find_named(text: str, names: Sequence[str]) -> list[str]:
    tree = parse_python(text)
    definitions = list(_definitions(tree.body)) if tree else []
    mine = (
        definition
        for definition in definitions
        if definition.name in names or (definition.holder in names and _is_interface(definition))
    )
    return [line for definition in mine for line in _show_definition(definition, is_full=False)]


def _is_interface(definition: Definition) -> bool:
    return definition.is_public or definition.name == "__init__"


def _definitions(body: Sequence[ast.stmt], holder: str = "") -> Iterator[Definition]:
    for node in body:
        if isinstance(node, _Function):
            yield Definition(node=node, name=node.name, holder=holder, lines=_lines(node))
        elif isinstance(node, ast.ClassDef):
            members = list(_definitions(node.body, node.name))
            methods = (member.lines for member in members if isinstance(member.node, _Function | ast.ClassDef))
            own = _lines(node) - frozenset[int]().union(*methods)
            yield Definition(node=node, name=node.name, holder=holder, lines=own)
            yield from members
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                yield Definition(node=node, name=target.id, holder=holder, lines=_lines(node))
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(node.body, holder)


def _lines(node: ast.stmt) -> frozenset[int]:
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return frozenset(range(first, (node.end_lineno or node.lineno) + 1))


def _near(definitions: Sequence[Definition], touched: Sequence[Definition]) -> list[Definition]:
    """List the changed definitions and their surroundings.

    The surroundings are the definitions that the changed ones use or that use them, and the enclosing classes with
    their constructors and fields.
    """
    names = {definition.name for definition in touched}
    used = frozenset[str]().union(*(_names(definition.node) for definition in touched))
    chosen = [
        definition
        for definition in definitions
        if definition in touched
        or definition.name in used
        or (isinstance(definition.node, _Function) and names & _names(definition.node))
    ]
    holders = {definition.holder for definition in chosen} | {
        definition.name for definition in chosen if isinstance(definition.node, ast.ClassDef)
    }
    return [
        definition
        for definition in definitions
        if definition in chosen or definition.name in holders or _makes(definition, holders)
    ]


def _makes(definition: Definition, holders: Container[str]) -> bool:
    return definition.holder in holders and (
        definition.name == "__init__" or isinstance(definition.node, ast.AnnAssign)
    )


def _names(node: ast.AST) -> frozenset[str]:
    names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    return frozenset(names | {child.attr for child in ast.walk(node) if isinstance(child, ast.Attribute)})


def _show_definition(definition: Definition, *, is_full: bool) -> Iterator[str]:
    """Yield the lines that describe a definition; the docstring is shortened to its first line unless `is_full`."""
    indent, node = "    " if definition.holder else "", definition.node
    if isinstance(node, _Function | ast.ClassDef):
        yield from (f"{indent}@{ast.unparse(each)}"[:_LINE_CHARS] for each in node.decorator_list)
        doc = (ast.get_docstring(node) or "").strip().split("\n")[: _DOC_LINES if is_full else 1]
        yield indent + _head(node)
        yield from (f"{indent}    {line}".rstrip()[:_LINE_CHARS] for line in _quote_lines(doc) if doc != [""])
    elif isinstance(node, ast.AnnAssign):
        value = f" = {_value(node.value)}" if node.value else ""
        yield f"{indent}{definition.name}: {ast.unparse(node.annotation)}{value}"[:_LINE_CHARS]
    elif isinstance(node, ast.Assign):
        yield f"{indent}{definition.name} = {_value(node.value)}"


def _quote_lines(doc: list[str]) -> list[str]:
    return [f'"""{doc[0]}"""'] if len(doc) == 1 else [f'"""{doc[0]}', *doc[1:], '"""']


def _head(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, (*node.bases, *(each.value for each in node.keywords))))
        return f"class {node.name}{f'({bases})' if bases else ''}"
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{word} {node.name}({ast.unparse(node.args)}){returns}"


def _value(node: ast.expr) -> str:
    """Return the source of a default value if it is short and computes nothing; otherwise an ellipsis."""
    text = ast.unparse(node)
    is_simple = not any(isinstance(child, ast.BinOp | ast.Lambda | ast.comprehension) for child in ast.walk(node))
    return text if is_simple and len(text) <= _VALUE_CHARS else "…"


def _calls(tree: ast.Module) -> Iterator[str]:
    """Describe the options and routes that calls declare, and the URL paths that the code compares requests with."""
    options, paths = list[str](), dict[str, None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in _OPTIONS | _ROUTES and _opens_with_text(node):
            options.append(ast.unparse(node)[:_LINE_CHARS])
        elif isinstance(node, ast.Compare | ast.MatchValue):
            texts = (constant.value for constant in ast.walk(node) if isinstance(constant, ast.Constant))
            paths |= dict.fromkeys(text for text in texts if isinstance(text, str) and _PATH.fullmatch(text))
    if options:
        yield "options and routes:"
        yield from (f"    {option}" for option in options[:_MOST_OPTIONS])
    if paths:
        yield f"paths that it compares with: {', '.join(list(paths)[:_MOST_OPTIONS])}"


def _opens_with_text(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
