"""References of one JavaScript or TypeScript file, for the import graph: by names, to err on the safe side.

A specifier counts as a use of every file that it may name, wherever that file is; so does any other string that has the
form of a path. Files that are loaded by a computed name, found in a directory listing or mapped by package.json cannot
be read from the text: a file that loads such files is called dynamic.
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
    """Return the names by which a file may use other files, and whether it may use more files than those.

    Args:
        path: Its suffix selects the language.
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
    """Yield a string as the end of a path, also with the suffixes that an import may omit."""
    stem = re.sub(r"^(\.{0,2}/)+", "", value).rstrip("/")
    if not stem.strip(".") or "\n" in stem:
        return
    yield stem
    if value.startswith("."):
        yield from (stem + ending for ending in (*SOURCES, ".json"))
    if stem.endswith((".js", ".mjs", ".cjs")):  # TypeScript may be imported by the name of its output
        yield re.sub(r"js$", "ts", stem)


def _is_dynamic(node: Node) -> bool:
    if node.type in {"identifier", "property_identifier", "shorthand_property_identifier_pattern"}:
        return node_text(node) in _DYNAMIC_NAMES
    if node.type == "call_expression" and node_text(node.child_by_field_name("function")) in _LOADERS:
        return literal(next(iter(arguments(node)), None)) is None
    # A path that is put together, such as `./data/${name}.json`.
    return node.type in STRINGS and literal(node) is None and "/" in node_text(node)
