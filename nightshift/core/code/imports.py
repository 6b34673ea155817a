"""The references of one source file: imports, strings that may name files, and whether there may be further references.

A file can use others in ways that its text does not show (`importlib`, `exec`, directory listings, child processes or
pickles). Such a file is called dynamic, and a closure that contains a dynamic file is replaced by the whole tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nightshift.core.code.javascript import SOURCES, references
from nightshift.core.code.parsing import parse
from nightshift.core.text.encoding import decode

MAX_MENTION = 200
_MAX_SCRIPT = 200_000  # Longer scripts are generated, and their strings name no files
_DYNAMIC_MODULES = frozenset({
    "importlib", "imp", "pkgutil", "runpy", "zipimport", "glob", "subprocess", "pickle", "_pickle", "dill",
    "cloudpickle", "joblib", "shelve", "marshal", "code", "codeop", "pexpect", "sh",
})  # fmt: skip
_DYNAMIC_CALLS = frozenset({"__import__", "exec", "eval", "compile"})
_DYNAMIC_ATTRIBUTES = frozenset({
    "glob", "rglob", "iglob", "iterdir", "listdir", "scandir", "walk", "fwalk", "system", "popen", "import_module",
    "entry_points", "iter_modules", "walk_packages", "run_module", "run_path", "spec_from_file_location",
    "create_subprocess_exec", "create_subprocess_shell",
})  # fmt: skip
_OS_CALLS = re.compile(r"^(exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|startfile)$")
_OPENERS = frozenset({
    "open", "Path", "PurePath", "PosixPath", "join", "joinpath", "read_text", "read_bytes",
})  # fmt: skip
_TOKEN = re.compile(r"[\w\-.]+(?:/[\w\-.]+)+|[\w\-]+\.[\w\-.]*\w")


_PYTHON = (".py", ".pyi")
_GO_TESTS = "_test.go"
_TEXTS = (
    ".html", ".htm", ".jinja", ".jinja2", ".j2", ".tmpl", ".txt", ".rst", ".json", ".yaml", ".yml", ".toml", ".ini",
    ".cfg", ".sql", ".js", ".mjs", ".ts", ".css",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import. `level` counts the leading dots; `names` are the names of a from-import, which may include `*`."""

    module: str
    level: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All references of one file. `dynamic` is True if the file may use files that are not listed."""

    imports: tuple[Import, ...] = ()
    mentions: frozenset[str] = frozenset()
    dynamic: bool = False


def may_refer(path: str) -> bool:
    """Return True if a file may contain references, as sources and text files do, but not data."""
    return path.endswith((*_PYTHON, *_TEXTS, *SOURCES, _GO_TESTS))


def facts_of(path: str, content: bytes) -> Facts:
    """Read a file's references.

    A Python file that does not parse counts as dynamic, since nothing is known about it.
    """
    text = decode(content)
    if path.endswith(SOURCES) and len(text) <= _MAX_SCRIPT:
        mentions, dynamic = references(path, text)
        return Facts(mentions=mentions, dynamic=dynamic)
    if path.endswith(_GO_TESTS):
        return Facts(dynamic=True)  # Go packages are folders, and files see their whole package and imported packages
    if not path.endswith(_PYTHON):
        return Facts(mentions=frozenset(token for token in _TOKEN.findall(text[:200_000]) if len(token) <= MAX_MENTION))
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return Facts(dynamic=True)
    nodes = list(ast.walk(tree))
    return Facts(
        imports=tuple(_imports(nodes)),
        mentions=frozenset(_mentions(nodes)),
        dynamic=any(_is_dynamic(node) for node in nodes),
    )


def _imports(nodes: list[ast.AST]) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(module=alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import(module=node.module or "", level=node.level, names=names)


def _mentions(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) <= MAX_MENTION:
            text = node.value.removeprefix("./").strip("/")
            if text.strip(".") and "\n" not in text:
                yield text


def _is_dynamic(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(_dynamic_module(alias.name) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.level == 0 and _dynamic_module(node.module or "")) or _takes_dynamic_name(node)
    if isinstance(node, ast.Attribute):
        return _dynamic_attribute(node)
    if isinstance(node, ast.Name):
        return node.id in _DYNAMIC_CALLS
    return isinstance(node, ast.Call) and _opens_computed_path(node)


def _dynamic_module(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in _DYNAMIC_MODULES and not name.startswith("importlib.metadata")


def _takes_dynamic_name(node: ast.ImportFrom) -> bool:
    if node.module == "sys":
        return any(alias.name == "path" for alias in node.names)
    return node.module in {"os", "asyncio"} and any(
        alias.name in _DYNAMIC_ATTRIBUTES or _OS_CALLS.match(alias.name) for alias in node.names
    )


def _dynamic_attribute(node: ast.Attribute) -> bool:
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    if owner in {"ast", "re"}:
        return False  # ast.walk and re.compile reach no files
    if (owner, node.attr) in {("sys", "path"), ("sys", "meta_path"), ("sys", "path_hooks")}:
        return True
    return node.attr in _DYNAMIC_ATTRIBUTES or (owner == "os" and bool(_OS_CALLS.match(node.attr)))


def _opens_computed_path(node: ast.Call) -> bool:
    """Return True if a call opens a path that is computed from parts.

    Such a file may appear nowhere in the text under its full name.
    """
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _OPENERS and any(_is_computed(argument) for argument in node.args)


def _is_computed(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Mod) and not isinstance(node.right, ast.Name)
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "format"
