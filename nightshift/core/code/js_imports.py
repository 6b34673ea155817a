"""References of one JavaScript or TypeScript file, for the import graph. Matching by name errs on the safe side.

A module specifier counts as a use of every file that it may name, wherever that file is. So does any other string that
looks like a path. A file is called dynamic if it loads files whose names are computed, found in a directory listing or
mapped by package.json, because its text does not show these files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import SOURCES, STRINGS, arguments, literal, node_text, parse, walk

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_MENTION = 200
_LOADERS = frozenset({"require", "import", "require.resolve", "import.meta.resolve"})
_DYNAMIC_NAMES = frozenset({
    "createRequire", "readdir", "readdirSync", "opendir", "opendirSync", "glob", "globSync", "eval", "Function",
    "spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork", "cp", "cpSync",
})  # fmt: skip
_DYNAMIC_MODULES = re.compile(r"^(node:)?(child_process|worker_threads|module|vm)$|^#")


def references(path: str, text: str) -> tuple[frozenset[str], bool]:
    """Return the names by which a file may use other files, and whether it may use further files.

    Args:
        path: The file's path, whose suffix selects the language.
        text: The source.
    """
    root = parse(path, text)
    if root.has_error:
        return frozenset(), True
    nodes = list(walk(root))
    values = [value for node in nodes if (value := literal(node)) is not None]
    mentions = frozenset(name for value in values for name in _names(value) if len(name) <= MAX_MENTION)
    return mentions, any(map(_is_dynamic, nodes)) or any(_DYNAMIC_MODULES.match(value) for value in values)


def _names(value: str) -> Iterator[str]:
    """Yield the names of files that a string may stand for.

    These are the string itself and, for a relative path, the string with each suffix that an import may omit.
    """
    stem = re.sub(r"^(\.{0,2}/)+", "", value).rstrip("/")
    if not stem.strip(".") or "\n" in stem:
        return
    yield stem
    if value.startswith("."):
        yield from (stem + ending for ending in (*SOURCES, ".json"))
    if stem.endswith((".js", ".mjs", ".cjs")):  # A TypeScript file may be imported by the name of its compiled file
        yield re.sub(r"js$", "ts", stem)


def _is_dynamic(node: Node) -> bool:
    if node.type in {"identifier", "property_identifier", "shorthand_property_identifier_pattern"}:
        return node_text(node) in _DYNAMIC_NAMES
    if node.type == "call_expression" and node_text(node.child_by_field_name("function")) in _LOADERS:
        return literal(next(iter(arguments(node)), None)) is None
    # A path that is built from parts, such as `./data/${name}.json`.
    return node.type in STRINGS and literal(node) is None and "/" in node_text(node)
