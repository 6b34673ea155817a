"""Which files of node:test can also run with the tested code in another process, read from their text.

Only what surely behaves the same there is run so: pure imports, no doubles, no clock, no chance, nothing that asks for
the process, its files or its own place. When in doubt a file is left out; what its tests need besides is seen when they
run.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import TYPED, arguments, is_source, literal, node_text, parse, specifiers, walk
from nightshift.core.code.paths import is_test_path
from nightshift.verdict.languages.javascript.names import Names

if TYPE_CHECKING:
    from tree_sitter import Node

_PURE = frozenset({
    "assert", "assert/strict", "buffer", "events", "path", "path/posix", "path/win32", "punycode", "querystring",
    "string_decoder", "url",
})  # fmt: skip
_TEST_MODULE = "node:test"
_NAMES = frozenset({
    "process", "global", "globalThis", "console", "mock", "setTimeout", "setInterval", "setImmediate", "queueMicrotask",
    "performance", "fetch", "crypto", "structuredClone", "Proxy", "Reflect", "WeakRef", "FinalizationRegistry", "eval",
    "Function", "SharedArrayBuffer", "Atomics", "Worker", "WebAssembly", "__filename", "__dirname", "snapshot",
    "captureStackTrace", "prepareStackTrace", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors",
})  # fmt: skip
_MEMBERS = frozenset({"Math.random", "Date.now", "Symbol.species"})
_SHARED = frozenset({
    "Object", "Array", "String", "Number", "Boolean", "Symbol", "BigInt", "Map", "Set", "Date", "RegExp", "Promise",
    "Error",
})  # fmt: skip
_OF_RUNNER = frozenset({"test", "it", "describe", "suite", "before", "after", "beforeEach", "afterEach", "default"})
_OF_CONTEXT = frozenset({"name", "test", "diagnostic", "before", "after", "beforeEach", "afterEach"})
_OPTIONS = frozenset({"timeout", "concurrency", "plan", "signal", "only"})
_NAMING = frozenset({
    "identifier", "property_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern",
})  # fmt: skip
_IDLE = re.compile(r"await\s+(Promise\.resolve\(\s*\)|null\b|undefined\b|\d)")
_ENDINGS = ("", ".js", ".json", "/index.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a file stands: all paths of the tree with the tests over it, and how to read one that is no test."""

    present: Collection[str]
    tests: Collection[str]
    text_of: Callable[[str], str | None]


def is_eligible(path: str, text: str, root: Node, known: Names, place: Place) -> bool:
    """Tell whether the tests of a file mean the same where the tested code is in another process.

    Args:
        path: the file.
        text: what it says.
        root: its syntax tree.
        known: what its names stand for.
        place: where it stands.
    """
    if _IDLE.search(text) or any(not is_source(other) for other in place.tests):
        return False
    reader = _Reader(path, known, place)
    return all(map(reader.is_harmless, walk(root)))


def is_module(path: str, text: str, place: Place) -> bool:
    """Tell whether Node.js takes a file for an ES module and not for a CommonJS one."""
    if path.endswith((".mjs", ".mts", ".cjs", ".cts")):
        return path.endswith((".mjs", ".mts"))
    folder = posixpath.dirname(path)
    while True:
        package = place.text_of(posixpath.join(folder, "package.json"))
        if package is not None or not folder:
            break
        folder = posixpath.dirname(folder)
    try:
        kind = json.loads(package or "{}").get("type")
    except (ValueError, AttributeError):
        kind = None
    if kind in {"module", "commonjs"}:
        return bool(kind == "module")
    return any(node.type in {"import_statement", "export_statement"} for node in parse(path, text).named_children)


def helpers(path: str, text: str, place: Place) -> frozenset[str]:
    """The files among the tests that the tested code imports itself; their paths say that they are tests, no more."""
    seen, waiting = set[str](), [*_used(path, text, place)]
    while waiting:
        current = waiting.pop()
        if current not in seen and current not in place.tests:
            seen.add(current)
            waiting += _used(current, place.text_of(current) or "", place)
    return frozenset(found for found in seen if is_test_path(found))


def _used(path: str, text: str, place: Place) -> Iterator[str]:
    """The files of the tree that a file imports by relative names."""
    for name in specifiers(path, text) if is_source(path) else ():
        if found := _target(path, name, place):
            yield found


def _target(path: str, name: str, place: Place) -> str | None:
    if not name.startswith(("./", "../")):
        return None
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return next((wanted + ending for ending in _ENDINGS if wanted + ending in place.present), None)


class _Reader:
    def __init__(self, path: str, known: Names, place: Place) -> None:
        self._path, self._known, self._place = path, known, place

    def is_harmless(self, node: Node) -> bool:
        """Tell whether a node by itself speaks for leaving its file as it is."""
        match node.type:
            case "meta_property":
                return node_text(node) != "import.meta"
            case "import_statement" | "export_statement":
                source = node.child_by_field_name("source")
                return source is None or self._may_import(literal(source), node)
            case "call_expression" if node_text(node.child_by_field_name("function")) in {"import", "require"}:
                return self._may_import(literal(next(iter(arguments(node)), None)), node)
            case "member_expression":
                return self._may_use(
                    node_text(node.child_by_field_name("object")), node_text(node.child_by_field_name("property"))
                )
            case "new_expression":
                return node_text(node.child_by_field_name("constructor")) != "Date" or bool(arguments(node))
            case "pair":
                return node_text(node.child_by_field_name("key")) not in _OPTIONS
        return node.type not in _NAMING or self._may_name(node)

    def _may_import(self, name: str | None, node: Node) -> bool:
        if name is None:
            return False
        if name == _TEST_MODULE:
            wanted = (
                node_text(one.child_by_field_name("name")) for one in walk(node) if one.type == "import_specifier"
            )
            return all(one in _OF_RUNNER for one in wanted)
        if name.removeprefix("node:") == "util":
            clause = [child for child in node.named_children if child.type == "import_clause"]
            return [node_text(one).strip("{} ") for one in clause] == ["isDeepStrictEqual"]
        target = _target(self._path, name, self._place)
        ours = target is not None and is_source(target) and not is_test_path(target) and target not in self._place.tests
        return ours or name.removeprefix("node:") in _PURE

    def _may_use(self, owner: str, name: str) -> bool:
        if owner in self._known.contexts:
            return name in _OF_CONTEXT
        if owner in self._known.tests or owner in self._known.runners:
            return name in _OF_RUNNER | {"skip", "todo"}
        shared = name == "prototype" and owner in _SHARED
        return not shared and f"{owner}.{name}" not in _MEMBERS and owner != "require" and name != "stack"

    def _may_name(self, node: Node) -> bool:
        """No name of what is not there; the argument of a running test may only be asked for what the stand-in has."""
        name = node_text(node)
        if name in self._known.contexts and node.type == "identifier" and node.parent is not None:
            return node.parent.type in {
                "formal_parameters",
                "arrow_function",
                "member_expression",
                "required_parameter",
            }
        return name not in _NAMES


def runs_typed(path: str, numbers: tuple[int, int]) -> bool:
    """Tell whether a Node.js of this version can be handed the text of a file, which TypeScript needs help for."""
    return not path.endswith(TYPED) or (22, 13) <= numbers < (23, 0) or numbers >= (23, 2)
