"""Reads JavaScript and TypeScript: syntax trees and errors, the files that a file refers to, and its test framework.

The parser (tree-sitter) recovers from errors, so it always returns a tree, in which the errors are nodes. It knows only
the grammar: a name that is declared twice, or a misplaced `await`, is found only when the code runs.
"""

from __future__ import annotations

import functools
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from nightshift.core.text.encoding import encode

if TYPE_CHECKING:
    from tree_sitter import Language, Node


SCRIPTS = (".js", ".mjs", ".cjs", ".jsx")
TYPED = (".ts", ".mts", ".cts", ".tsx")
SOURCES = (*SCRIPTS, *TYPED)
"""Suffixes of files that Node.js runs, directly (only newer versions run TypeScript) or with the help of tools."""

STRINGS = frozenset({"string", "template_string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The reason why a text does not parse; `line` counts from 1."""

    line: int
    message: str


def is_source(path: str) -> bool:
    """Return True if a path is a JavaScript or TypeScript file."""
    return path.endswith(SOURCES)


def parse(path: str, text: str) -> Node:
    """Return the root of a text's syntax tree; positions are byte offsets in UTF-8.

    Args:
        path: The file's path, whose suffix selects the language.
        text: The source.
    """
    from tree_sitter import Parser  # noqa: PLC0415 (loaded when the first JavaScript task comes)

    # A new parser for each text: parsers are cheap, and two threads must not share one.
    with_tags = path.endswith((*SCRIPTS, ".tsx"))
    return Parser(_grammar(typed=path.endswith(TYPED), with_tags=with_tags)).parse(encode(text)).root_node


def fault(path: str, text: str) -> Fault | None:
    """Return the first syntax error of a text, or None."""
    return fault_in(parse(path, text), text)


def fault_in(root: Node, text: str) -> Fault | None:
    """Return the first error in a text's syntax tree, or None."""
    if not root.has_error:
        return None
    node = next((node for node in walk(root) if node.is_error or node.is_missing), root)
    if node.is_missing:
        return Fault(line=node.start_point.row + 1, message=f"missing {node.type}")
    near = encode(text)[node.start_byte : node.start_byte + 40]
    first = near.decode("utf-8", "replace").split("\n")[0].strip()
    return Fault(line=node.start_point.row + 1, message=f"unexpected {first!r}" if first else "unexpected end")


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all its descendants in source order; not recursive, because models write deeply nested code."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.children)


def node_text(node: Node | None) -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def literal(node: Node | None) -> str | None:
    """Return the value of a string literal; None for any other node and for a template with substitutions."""
    if node is None or node.type not in STRINGS:
        return None
    if any(child.type not in {"string_fragment", "escape_sequence"} for child in node.named_children):
        return None
    return "".join(_unescape(child) for child in node.named_children)


def arguments(call: Node) -> list[Node]:
    """Return the arguments of a call, without comments."""
    argument_list = call.child_by_field_name("arguments")
    return [child for child in argument_list.named_children if child.type != "comment"] if argument_list else []


def specifiers(path: str, text: str) -> list[str]:
    """List the module names that a text imports, re-exports or requires as string literals, in order."""
    names: dict[str, None] = {}
    for node in walk(parse(path, text)):
        source = node.child_by_field_name("source") if node.type in {"import_statement", "export_statement"} else None
        if node.type == "call_expression" and node_text(node.child_by_field_name("function")) in {"require", "import"}:
            source = next(iter(arguments(node)), None)
        if name := literal(source):
            names[name] = None
    return list(names)


def _unescape(node: Node) -> str:
    text = node_text(node)
    if node.type == "string_fragment":
        return text
    simple = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
    if text[1:2] in {"x", "u"}:
        number = int(text[2:].strip("{}"), 16)
        return chr(number) if number < 0x110000 else text
    return simple.get(text[1:], text[1:])


@functools.cache
def _grammar(*, typed: bool, with_tags: bool) -> Language:
    import tree_sitter_javascript  # noqa: PLC0415 (see `parse`)
    import tree_sitter_typescript  # noqa: PLC0415 (see `parse`)
    from tree_sitter import Language  # noqa: PLC0415 (see `parse`)

    if not typed:
        return Language(tree_sitter_javascript.language())
    return Language(
        tree_sitter_typescript.language_tsx() if with_tags else tree_sitter_typescript.language_typescript()
    )


# References to other files, for the import graph. Matching by name errs on the safe side: a module specifier counts as
# a use of every file that it may name, wherever that file is, and so does any other string that looks like a path. A
# file is called dynamic if it loads files whose names are computed, found in a directory listing or mapped by
# package.json, because its text does not show these files.

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


# The framework that runs a test: node:test, or the project's own vitest or jest. The imports of the test file decide. A
# file that imports no framework, which is common with jest, is run by the framework that `package.json` runs.

TextOf = Callable[[str], str | None]

_MODULES = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*(['"])(node:test|vitest|@jest/globals)\1"""
)
_GLOBALS = re.compile(r"\b(?:test|it|describe)\b(?:\.\w+)*\s*[(`]")
_GROUPS = ("devDependencies", "dependencies")
_OTHERS = re.compile(r"(?:^|[\s/])(mocha|ava|jasmine|tape|tap|uvu)(?=\s|$)")


class Framework(StrEnum):
    """Framework that runs the tests in a file."""

    NODE = "node:test"
    VITEST = "vitest"
    JEST = "jest"


_OF_MODULE = {"node:test": Framework.NODE, "vitest": Framework.VITEST, "@jest/globals": Framework.JEST}


def framework_of(path: str, text: str, text_of: TextOf) -> Framework:
    """Return the framework of a test file.

    Args:
        path: The path of the file.
        text: The content of the file.
        text_of: Returns the text of a file of the tree; None if there is no such file.
    """
    if match := _MODULES.search(text):
        return _OF_MODULE[match[2]]
    return choose_framework(path, text_of) if _GLOBALS.search(text) else Framework.NODE


def of_all(tests: Iterable[tuple[str, str]], text_of: TextOf) -> Framework:
    """Return the framework of the first of these test files (path and text); node:test if there are no files."""
    return next((framework_of(path, text, text_of) for path, text in tests), Framework.NODE)


def choose_framework(path: str, text_of: TextOf) -> Framework:
    """Return the framework of the package that contains a path, judged by its test script, settings or dependencies."""
    for folder in _above(path):
        text = text_of(posixpath.join(folder, "package.json"))
        if text is None:
            continue
        package = _read(text)
        script = str(_part(package, "scripts").get("test") or "")
        depends = {name for group in _GROUPS for name in _part(package, group)}
        for framework in (Framework.VITEST, Framework.JEST):
            if re.search(rf"\b{framework}\b", script):
                return framework
        if "--test" in script:
            return Framework.NODE
        if "jest" in package or ("jest" in depends and "vitest" not in depends):
            return Framework.JEST
        if "vitest" in depends:
            return Framework.VITEST
    return Framework.NODE


def scripts_of_other_runner(path: str, text: str, text_of: TextOf) -> tuple[tuple[str, str], ...]:
    """Return the scripts of a file's package if its test script names a runner that is none of `Framework`.

    Args:
        path: The path of a test file.
        text: The content of the file; one that imports a framework is run by that.
        text_of: Returns the text of a file of the tree; None if there is no such file.
    """
    if _MODULES.search(text) or choose_framework(path, text_of) is not Framework.NODE:
        return ()
    package = _read(text_of(posixpath.join(root_of(path, text_of), "package.json")) or "")
    scripts = {name: str(script) for name, script in _part(package, "scripts").items()}
    test = scripts.get("test", "")
    return tuple(scripts.items()) if _OTHERS.search(test) and "--test" not in test else ()


def root_of(path: str, text_of: TextOf) -> str:
    """Return the folder of the package that contains a file; empty for the root of the tree."""
    return next((folder for folder in _above(path) if text_of(posixpath.join(folder, "package.json")) is not None), "")


def _above(path: str) -> Iterable[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _read(text: str) -> dict[str, Any]:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _part(package: dict[str, Any], name: str) -> dict[str, Any]:
    part = package.get(name)
    return part if isinstance(part, dict) else {}
